"""The headers that every answer carries, so that a browser does nothing with it but show it."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send

from tradewind.web.page import FILES

_NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
# The page may load its own script and style, and ask this interface; it makes no markup from text.
_PAGE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_ALWAYS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def with_headers(send: Send, path: str) -> Send:
    """A `send` that puts the headers on whatever is answered."""
    policy = _PAGE if path in FILES else _NOTHING

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _ALWAYS.items():
                headers[name] = value
            headers["Content-Security-Policy"] = policy
        await send(message)

    return sent
