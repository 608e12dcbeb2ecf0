"""The tables that a run of many sites draws on a terminal."""

from io import StringIO

from rich.console import Console

from tradewind.backbone.counting import Counted
from tradewind.cli.board import Board, Figures
from tradewind.spark.delivery import Totals


def test_rates_are_since_the_last_look_and_what_is_cut_or_missing_is_named() -> None:
    times = iter([10.0, 12.0])
    paper = StringIO()
    console = Console(file=paper, width=200, force_terminal=False)
    board = Board(console, clock=lambda: next(times))
    place, ends = ("sales", "north"), ("north", "hq")
    board.tables(Figures({place: 100}, {ends: Counted(bytes=1_000)}, {"best": Totals(0, 3)}))
    later = Figures(
        {place: 4_100, ("sales", "south"): 10},
        {ends: Counted(bytes=3_000, backlog_bytes=77), ("south", "hq"): Counted(cut_since=1.0)},
        {"best": Totals(12, 3)},
        {"best": 61.0},
        {"best": ("sales/south",)},
    )
    console.print(board.tables(later))
    said = " ".join(paper.getvalue().split())
    assert "sales at north 4,100 2,000" in said
    assert "north → hq 3,000 1,000 77" in said
    assert "south → hq 0 0 cut" in said
    assert "best 12 3 61 s sales/south" in said
