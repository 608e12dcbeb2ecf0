"""Routes about what has a name: streams, queries and the rest."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from tradewind.web.answers import answer
from tradewind.web.asked import AtDesk, Limit, NameInPath, Oldest, Rows, Text
from tradewind.web.shapes import Anything, EntitiesShape, PushedShape, RowsShape, StreamsShape

router = APIRouter(tags=["catalogue"])


@router.get("/entities", summary="Everything that has a name", responses={200: {"model": EntitiesShape}})
def entities(desk: AtDesk) -> Response:
    return answer({"entities": desk.entities()})


@router.get("/describe/{name}", summary="What is known of one of them", responses={200: {"model": Anything}})
def describe(name: NameInPath, desk: AtDesk) -> Response:
    return answer(desk.describe(name))


@router.get("/streams", summary="The streams that are declared", responses={200: {"model": StreamsShape}})
def streams(desk: AtDesk) -> Response:
    return answer({"streams": desk.streams()})


@router.post("/streams/{name}/rows", summary="Give rows to a stream", responses={200: {"model": PushedShape}})
def push(name: NameInPath, asked: Rows, desk: AtDesk) -> Response:
    return answer({"pushed": desk.push(name, list(asked.rows))})


@router.post("/queries", summary="Add queries to what runs", responses={200: {"model": Anything}})
def add(asked: Text, desk: AtDesk) -> Response:
    return answer(desk.add(asked.text, asked.called))


@router.delete("/queries/{name}", summary="Take a query out of what runs", responses={200: {"model": Anything}})
def remove(name: NameInPath, desk: AtDesk) -> Response:
    return answer(desk.remove(name))


@router.get("/queries/{name}/rows", summary="The answer now", responses={200: {"model": RowsShape}})
def rows(name: NameInPath, desk: AtDesk, limit: Limit = 100, oldest: Oldest = False) -> Response:
    return answer(desk.rows(name, limit, oldest))
