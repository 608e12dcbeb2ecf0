"""What is refused before anybody at the desk hears of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tradewind.errors import InputError


class RefusedError(InputError):
    """A request that is not let in, with the status and the headers that say so."""

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        hint: str | None = None,
        candidates: Iterable[str] = (),
        status: int = 400,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(what, where=where, hint=hint, candidates=candidates)
        self.status = status
        self.headers = dict(headers or {})
