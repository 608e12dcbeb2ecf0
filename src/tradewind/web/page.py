"""The page: three files without any data, which come with the package."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files

from fastapi import APIRouter
from starlette.responses import Response

router = APIRouter(include_in_schema=False)
FILES = {
    "/": ("page.html", "text/html"),
    "/page.js": ("page.js", "text/javascript"),
    "/page.css": ("page.css", "text/css"),
}


def _shown(name: str, kind: str) -> Callable[[], Awaitable[Response]]:
    text = (files("tradewind.web") / "static" / name).read_bytes()

    async def show() -> Response:
        return Response(text, media_type=f"{kind}; charset=utf-8")

    return show


for _path, (_name, _kind) in FILES.items():
    router.add_api_route(_path, _shown(_name, _kind), methods=["GET"])
