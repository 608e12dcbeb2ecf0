"""What may be asked: the shapes of requests, each with its bounds."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from tradewind.web.desk import Desk, Measured

_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.~-]{0,99}$"
# Anything that fits on one line: it is shown to people.
_LINE = r"^[^\x00-\x1f\x7f]{1,200}$"
_WEEK = 7 * 86_400.0

Name = Annotated[str, Field(pattern=_NAME, examples=["ams"])]
Host = Annotated[str, Field(pattern=r"^[A-Za-z0-9:._-]{1,253}$", examples=["ams.example.com"])]
Line = Annotated[str, Field(pattern=_LINE)]
NameInPath = Annotated[str, Path(pattern=_NAME, examples=["top"])]
Limit = Annotated[int, Query(ge=1, le=10_000, description="At most so many rows: the newest by their time.")]
Oldest = Annotated[bool, Query(description="The oldest rows instead of the newest.")]


def _desk(request: Request) -> Any:
    return request.app.state.desk


AtDesk = Annotated[Desk, Depends(_desk)]
OfWhomever = Annotated[Measured, Depends(_desk)]


class Asked(BaseModel):
    """A request's body: exactly the fields it says, of exactly their types."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Text(Asked):
    """A deployment file, or a part of one, and what to call it in problems."""

    text: Annotated[str, Field(max_length=1_000_000)]
    called: Line = "request"


class Planned(Text):
    """A deployment file that might run: by which planner, until all is read, and from a fresh start or a savepoint."""

    planner: Name | None = None
    until_done: bool = False
    fresh: bool = False
    savepoint: Name | None = None


class Wanted(Planned):
    """A deployment file that is to run, in place of what runs in the expected epoch."""

    expected_epoch: Annotated[int, Field(ge=0, lt=2**63)] | None = None


class Rows(Asked):
    """Rows for a stream: an object for each, by column."""

    rows: Annotated[list[dict[str, JsonValue]], Field(max_length=10_000)]


class Invitation(Asked):
    """A site that may join, for how long, and the names or addresses that others may dial it by."""

    site: Name
    seconds: Annotated[float, Field(gt=0, le=_WEEK, allow_inf_nan=False)] = 3600.0
    hosts: Annotated[list[Host], Field(max_length=20)] = []


class Joining(Asked):
    """A site that joins: its token, and the request for its certificate, as PEM."""

    token: Annotated[str, Field(min_length=1, max_length=4096, repr=False)]
    csr: Annotated[str, Field(min_length=1, max_length=16_384)]


class Whole(Asked):
    """What is split, and is to be one again: a query or a fragment."""

    what: Line


class Split(Whole):
    """What is to be split over agents of its site, and over how many; without that, over all that are free."""

    over: Annotated[int, Field(ge=2, le=32)] | None = None


class Saved(Asked):
    """What a savepoint is to be called."""

    name: Name


class Move(Asked):
    """What is to run elsewhere: a query's delivery or a fragment, and the site."""

    what: Line
    site: Name
