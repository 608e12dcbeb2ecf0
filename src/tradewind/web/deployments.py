"""Routes about what runs: its state, what a file would change, and changing it."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from tradewind.web.answers import answer
from tradewind.web.asked import AtDesk, Move, NameInPath, Planned, Saved, Split, Text, Wanted, Whole
from tradewind.web.shapes import Anything, ProblemsShape, StatusShape

router = APIRouter(tags=["deployment"])


@router.get("/status", summary="What runs, and how it goes", responses={200: {"model": StatusShape}})
def status(desk: AtDesk) -> Response:
    return answer(desk.status())


@router.get("/stats", summary="What was measured", responses={200: {"model": Anything}})
def stats(desk: AtDesk) -> Response:
    return answer(desk.stats())


@router.post("/check", summary="All problems of a deployment file", responses={200: {"model": ProblemsShape}})
def check(asked: Text, desk: AtDesk) -> Response:
    return answer({"problems": desk.check(asked.text, asked.called)})


@router.post("/difference", summary="What applying a file would change", responses={200: {"model": Anything}})
def difference(asked: Planned, desk: AtDesk) -> Response:
    change = desk.difference(
        asked.text,
        asked.called,
        planner=asked.planner,
        until_done=asked.until_done,
        fresh=asked.fresh,
        savepoint=asked.savepoint,
    )
    return answer(change)


@router.post("/apply", summary="Make a deployment file what runs", responses={200: {"model": Anything}})
def apply(asked: Wanted, desk: AtDesk) -> Response:
    done = desk.apply(
        asked.text,
        asked.called,
        planner=asked.planner,
        expected_epoch=asked.expected_epoch,
        until_done=asked.until_done,
        fresh=asked.fresh,
        savepoint=asked.savepoint,
    )
    return answer(done)


@router.post("/stop", summary="End what runs", responses={200: {"model": Anything}})
def stop(desk: AtDesk) -> Response:
    return answer(desk.stop())


@router.post("/pause", summary="Let what runs stand still, with its state", responses={200: {"model": Anything}})
def pause(desk: AtDesk) -> Response:
    return answer(desk.pause())


@router.post("/resume", summary="Let what is paused go on", responses={200: {"model": Anything}})
def resume(desk: AtDesk) -> Response:
    return answer(desk.resume())


@router.get("/savepoints", summary="The savepoints that there are", responses={200: {"model": Anything}})
def savepoints(desk: AtDesk) -> Response:
    return answer({"savepoints": desk.savepoints()})


@router.post("/savepoints", summary="Begin to take a savepoint of what runs", responses={200: {"model": Anything}})
def savepoint(asked: Saved, desk: AtDesk) -> Response:
    return answer(desk.savepoint(asked.name))


@router.delete("/savepoints/{name}", summary="Remove a savepoint", responses={200: {"model": Anything}})
def remove_savepoint(name: NameInPath, desk: AtDesk) -> Response:
    return answer(desk.remove_savepoint(name))


@router.post("/move", summary="Run a query's delivery or a fragment elsewhere", responses={200: {"model": Anything}})
def move(asked: Move, desk: AtDesk) -> Response:
    return answer(desk.move(asked.what, asked.site))


@router.post("/move/cancel", summary="Undo the move that is under way", responses={200: {"model": Anything}})
def cancel_move(desk: AtDesk) -> Response:
    return answer(desk.cancel_move())


@router.post("/split", summary="Split a fragment over agents of its site", responses={200: {"model": Anything}})
def split(asked: Split, desk: AtDesk) -> Response:
    return answer(desk.split(asked.what, asked.over))


@router.post("/merge", summary="Make a split fragment one again", responses={200: {"model": Anything}})
def merge(asked: Whole, desk: AtDesk) -> Response:
    return answer(desk.merge(asked.what))
