"""Named tables: in whatever order rows come and whatever fails, they are what the interpreter says, exactly once."""

from __future__ import annotations

import math
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shorthand import SECOND, stream
from tests.spark.postgres_server import PROGRAMS, NoServerError, server
from tests.spark.table_twins import agrees, answer, contents, deltas
from tradewind.algebra.expressions.tree import Column
from tradewind.algebra.expressions.typing import parse_expression
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Map
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.schema import Schema, parse_schema
from tradewind.algebra.tables import Table
from tradewind.algebra.times import HIGHEST, LOWEST
from tradewind.errors import GraphError, InputError, InternalError, UnknownNameError
from tradewind.interpreter.run import Weighted
from tradewind.spark.tables import turn
from tradewind.spark.tables.arrow import delta_table, deltas_in
from tradewind.spark.tables.sqlite import SQLiteTable
from tradewind.spark.tables.store import Tables

ROOT = Path(__file__).parents[2]
PAYMENTS = stream("payments", "ts TIMESTAMP, card STRING, amount BIGINT", "ts", revisions=True)
LOOKS = stream("looks", "at TIMESTAMP, who STRING", "at", revisions=True)
TOTALS = Table("totals", parse_schema("card STRING, total BIGINT"), ("card",))
OPENED = Update(PAYMENTS, TOTALS, "INSERT INTO totals VALUES (:card, :amount)", (("ts", Column("ts")),))
ADDED = Update(
    PAYMENTS, TOTALS, "UPDATE totals SET total = total + :amount WHERE card = :card", (("ts", Column("ts")),)
)
LOOKED = Read(LOOKS, TOTALS, "SELECT total FROM totals WHERE card = :who", keep=True)
BOXES = (OPENED, ADDED, LOOKED)


@pytest.fixture(scope="module")
def postgres():
    """The URL of a server, if one can be started."""
    if not PROGRAMS:
        pytest.skip("there is no PostgreSQL server under /usr/lib/postgresql")
    with ExitStack() as stack:
        try:
            found = stack.enter_context(server())
        except NoServerError as error:
            pytest.skip(f"no PostgreSQL server can be started: {error}")
        yield found


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of either kind."""
    if request.param == "sqlite":
        return str(tmp_path / "tables.db")
    found = request.getfixturevalue("postgres")
    _empty(found)
    return str(found)


def _empty(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")


def given_to(node: Read | Update, *rows: tuple | Weighted) -> dict[Operator, pa.Table]:
    return {node: deltas(node.input.schema, rows)}


def values_of(table: pa.Table, node: Operator) -> list[tuple[tuple, int]]:
    return sorted(((row.values, weight) for row, weight in deltas_in(table, node.schema)), key=repr)


# --- Against the interpreter ----------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=150)
@given(seed=st.integers(0, 2**32))
def test_random_boxes_do_in_sqlite_what_the_interpreter_says(seed: int, tmp_path_factory) -> None:
    agrees(str(tmp_path_factory.mktemp("random") / "tables.db"), seed)


@pytest.mark.slow
@settings(max_examples=50)
@given(seed=st.integers(0, 2**32))
def test_random_boxes_do_in_postgresql_what_the_interpreter_says(seed: int, postgres: str) -> None:
    _empty(postgres)
    agrees(postgres, seed)


def test_the_random_boxes_find_something_and_revise_it(tmp_path: Path) -> None:
    tried = [agrees(str(tmp_path / f"{seed}.db"), seed) for seed in range(20)]
    assert sum(found > 0 for found, _ in tried) >= 15
    assert sum(revised > 0 for _, revised in tried) >= 8


# --- Order, late rows, weights --------------------------------------------------------------------------------


def test_a_late_update_corrects_the_table_and_the_answers(url: str) -> None:
    with closing(Tables(url, BOXES)) as tables:
        tables.advance(0, given_to(OPENED, (1, "x", 100)) | given_to(ADDED, (10, "x", 5)), None)
        found = tables.advance(1, given_to(LOOKED, (5, "x"), (10, "x"), (11, "y")), None)
        assert values_of(found[LOOKED], LOOKED) == [((10, "x", 105), 1), ((11, "y", None), 1), ((5, "x", 100), 1)]
        found = tables.advance(2, given_to(ADDED, (5, "x", 7)), None)
        assert values_of(found[LOOKED], LOOKED) == [
            ((10, "x", 105), -1), ((10, "x", 112), 1), ((5, "x", 100), -1), ((5, "x", 107), 1),
        ]  # fmt: skip
        assert contents(tables, TOTALS) == {("x", 112): 1}
        found = tables.advance(3, given_to(OPENED, Weighted((1, "x", 100), -1)), None)
        assert contents(tables, TOTALS) == {}
        assert values_of(found[LOOKED], LOOKED) == [
            ((10, "x", 112), -1), ((10, "x", None), 1), ((5, "x", 107), -1), ((5, "x", None), 1),
        ]  # fmt: skip


def test_answers_are_settled_when_their_row_is_and_its_time_has_passed(url: str) -> None:
    rows = delta_table([(5, "x"), (5, "y"), (5, "z")], [3, 9, math.inf], [1, 1, 1], LOOKS.schema)
    with closing(Tables(url, BOXES)) as tables:
        found = answer(tables.advance(0, {LOOKED: rows}, None)[LOOKED], LOOKED)
    assert {row.values[1]: row.due for row in found} == {"x": 5, "y": 9, "z": math.inf}


def test_rows_that_are_owed_do_nothing_until_they_have_come(url: str) -> None:
    with closing(Tables(url, BOXES)) as tables:
        tables.advance(0, given_to(OPENED, (1, "x", 0)) | given_to(ADDED, Weighted((2, "x", 5), -2)), None)
        assert contents(tables, TOTALS) == {("x", 0): 1}
        tables.advance(1, given_to(ADDED, Weighted((2, "x", 5), 2)), None)
        assert contents(tables, TOTALS) == {("x", 0): 1}
        tables.advance(2, given_to(ADDED, Weighted((2, "x", 5), 3)), None)
        assert contents(tables, TOTALS) == {("x", 15): 1}


def test_rows_in_order_undo_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "SIZE", 10)
    path = tmp_path / "tables.db"
    with closing(Tables(str(path), BOXES)) as tables:
        tables.advance(0, given_to(OPENED, *((n, f"c{n}", 0) for n in range(25))), None)
        before = _query(path, "SELECT id, earliest, latest, steps FROM tradewind_segments ORDER BY id")
        assert before == [(1, 0, 9, 10), (2, 10, 19, 10), (3, 20, 24, 5)]
        tables.advance(1, given_to(ADDED, *((25 + n, "c1", 1) for n in range(10))), None)
        after = _query(path, "SELECT id, earliest, latest, steps FROM tradewind_segments ORDER BY id")
        assert after == [*before, (4, 25, 34, 10)]
        tables.advance(2, given_to(LOOKED, (12, "c1")), None)
        assert _query(path, "SELECT count(*), sum(steps) FROM tradewind_segments WHERE id IN (1, 3, 4)") == [(3, 25)]
        assert contents(tables, TOTALS)["c1", 10] == 1


def test_what_is_frozen_for_all_boxes_is_forgotten(url: str) -> None:
    nothing: dict[Operator, pa.Table] = dict.fromkeys(BOXES, pa.table({}))
    with closing(Tables(url, BOXES)) as tables:
        tables.advance(0, given_to(OPENED, (1, "x", 1), (2, "y", 2)), None)
        tables.advance(1, nothing | given_to(ADDED, (3, "x", 10)), 3)
        tables.advance(2, nothing | given_to(ADDED, (3, "y", 10)), 4)
        assert contents(tables, TOTALS) == {("x", 11): 1, ("y", 12): 1}
        assert len(everything_in(url)["tradewind_segments"]) == 0
        with pytest.raises(InternalError, match="is frozen"):
            tables.advance(3, given_to(ADDED, (3, "x", 1)), None)
        tables.advance(3, given_to(ADDED, (4, "x", 1)), 5)
        # The others may still get rows of the time 4.
        tables.advance(4, given_to(OPENED, (4, "x", 100)), 5)
        assert contents(tables, TOTALS) == {("x", 101): 1, ("y", 12): 1}
        tables.advance(5, given_to(LOOKED, (4, "x")), 5)
        assert len(everything_in(url)["tradewind_segments"]) == 0


def test_rows_that_are_settled_after_their_time_are_waited_for(tmp_path: Path) -> None:
    lagging = Read(
        Map(LOOKS, (("at", parse_expression("at - INTERVAL '5' SECONDS", LOOKS.schema)),)),
        TOTALS,
        "SELECT total FROM totals",
    )
    with closing(Tables(str(tmp_path / "tables.db"), [OPENED, lagging])) as tables:
        tables.advance(0, given_to(OPENED, (SECOND, "x", 1), (8 * SECOND, "x", 2)) | given_to(lagging), 7 * SECOND)
        found = tables.advance(1, given_to(lagging, (2 * SECOND,)), None)[lagging]
        assert values_of(found, lagging) == [((2 * SECOND, 1), 1)]


def test_what_is_supposed_is_undone(url: str) -> None:
    with closing(Tables(url, BOXES)) as tables:
        tables.advance(0, given_to(OPENED, (1, "x", 1)), None)
        before = everything_in(url)
        with tables.supposing():
            tables.advance(1, given_to(ADDED, (2, "x", 5)), 9)
            found = tables.advance(1, given_to(LOOKED, (3, "x")), 9)
            assert values_of(found[LOOKED], LOOKED) == [((3, "x", 6), 1)]
        assert everything_in(url) == before
        tables.advance(1, given_to(ADDED, (1, "x", 1)) | given_to(LOOKED), None)
        assert contents(tables, TOTALS) == {("x", 2): 1}


def test_boxes_may_be_handed_in_one_after_the_other(url: str) -> None:
    """What is read in one table may decide what is done to another, in the same batch."""
    with closing(Tables(url, BOXES)) as tables:
        first = tables.advance(0, given_to(OPENED, (1, "x", 1)) | given_to(ADDED, (2, "x", 1)), None)
        second = tables.advance(0, given_to(LOOKED, (1, "x"), (2, "x")), None)
        assert values_of(first[LOOKED], LOOKED) == []
        assert values_of(second[LOOKED], LOOKED) == [((1, "x", 1), 1), ((2, "x", 2), 1)]
        again = tables.advance(0, given_to(LOOKED, (1, "x"), (2, "x")), None)
        assert answer(again[LOOKED], LOOKED) == answer(second[LOOKED], LOOKED)
        assert answer(tables.advance(0, {}, None)[LOOKED], LOOKED) == answer(second[LOOKED], LOOKED)


# --- Keys and values ------------------------------------------------------------------------------------------


def test_a_table_without_a_key_is_a_bag(url: str) -> None:
    table = Table("log", parse_schema("card STRING, `_row` BIGINT"))
    put = Update(PAYMENTS, table, "INSERT INTO log VALUES (:card, :amount)", (("ts", Column("ts")),))
    drop = Update(PAYMENTS, table, "DELETE FROM log WHERE _row < :amount", (("ts", Column("ts")),))
    with closing(Tables(url, (put, drop))) as tables:
        tables.advance(0, given_to(put, (1, "x", 1), (2, "x", 1), (3, "y", 2), Weighted((4, "z", 3), 2)), None)
        assert contents(tables, table) == {("x", 1): 2, ("y", 2): 1, ("z", 3): 2}
        tables.advance(1, given_to(drop, (2, "", 2)) | given_to(put, (2, "w", 0)), None)
        assert contents(tables, table) == {("w", 0): 1, ("x", 1): 1, ("y", 2): 1, ("z", 3): 2}


def test_conditions_and_orders_are_the_interpreters(url: str) -> None:
    """A cast that does not fit gives NULL, which the database would compare otherwise; the first order comes first."""
    report = (("ts", Column("ts")),)
    drop = Update(PAYMENTS, TOTALS, "DELETE FROM totals WHERE CAST(total AS TINYINT) < :amount", report)
    first = Read(LOOKS, TOTALS, "SELECT card, total FROM totals ORDER BY total DESC, card DESC LIMIT 2")
    with closing(Tables(url, (OPENED, drop, first))) as tables:
        rows = [(1, "a", -1000), (1, "b", 3), (1, "c", 9), (1, "d", 1000), (1, "e", 1000), (1, "f", 9), (1, "g", 1000)]
        tables.advance(0, given_to(OPENED, *rows) | given_to(drop, (2, "", 5)), None)
        assert {card for card, _ in contents(tables, TOTALS)} == set("acdefg")
        found = tables.advance(1, given_to(first, (3, "")), None)[first]
        assert values_of(found, first) == [((3, "", "e", 1000), 1), ((3, "", "g", 1000), 1)]


def test_null_and_nan_are_keys_like_others(url: str) -> None:
    numbers = stream("numbers", "ts TIMESTAMP, x DOUBLE, n BIGINT", "ts")
    table = Table("marks", parse_schema("x DOUBLE, n BIGINT"), ("x",))
    put = Update(numbers, table, "INSERT INTO marks VALUES (:x, :n)", (("ts", Column("ts")),))
    add = Update(numbers, table, "UPDATE marks SET n = n + :n WHERE x = :x", (("ts", Column("ts")),))
    odd = (None, math.nan, math.inf, -0.0)
    with closing(Tables(url, (put, add))) as tables:
        tables.advance(0, given_to(put, *((1, x, 1) for x in odd)), None)
        tables.advance(1, given_to(put, *((2, x, 2) for x in odd)) | given_to(add, *((3, x, 5) for x in odd)), None)
        assert contents(tables, table) == {(None, 2): 1, (math.nan, 7): 1, (math.inf, 7): 1, (0.0, 7): 1}


def test_an_update_may_give_two_rows_one_key(url: str) -> None:
    merge = Update(PAYMENTS, TOTALS, "UPDATE totals SET card = 'all'", (("ts", Column("ts")),))
    with closing(Tables(url, BOXES)) as tables:
        tables.advance(0, given_to(OPENED, (1, "x", 1), (2, "y", 2)), None)
    with closing(Tables(url, (*BOXES, merge))) as tables:
        tables.advance(1, given_to(merge, (3, "", 0)), None)
        assert contents(tables, TOTALS) == {("all", 1): 1, ("all", 2): 1}
        tables.advance(2, given_to(OPENED, (4, "all", 9)), None)
        assert contents(tables, TOTALS) == {("all", 9): 1}


def test_texts_of_all_kinds_come_back(url: str) -> None:
    texts = [chr(n) for n in range(0x110000) if n % 97 == 0 and not 0xD800 <= n < 0xE000]
    texts += ["\1\1", "\1\2", "\0\1\2\0", "a\0b", "", " ", "'", '"', "\\", "%s", "e\u0301", "nothing"]
    with closing(Tables(url, BOXES)) as tables:
        tables.advance(0, given_to(OPENED, *((1, text, n) for n, text in enumerate(texts[:-1]))), None)
        assert contents(tables, TOTALS) == {(text, n): 1 for n, text in enumerate(texts[:-1])}
        found = tables.advance(1, given_to(LOOKED, *((2, text) for text in texts)), None)[LOOKED]
        answers = {row.values[1:] for row in answer(found, LOOKED)}
        assert answers == {(texts[-1], None), *((text, n) for n, text in enumerate(texts[:-1]))}


def test_only_sqlite_takes_keys_of_any_length(tmp_path: Path, postgres: str) -> None:
    long = (1, "".join(chr(n) for n in range(1, 9000)), 5)
    with closing(Tables(str(tmp_path / "tables.db"), BOXES)) as tables:
        tables.advance(0, given_to(OPENED, long), None)
        assert contents(tables, TOTALS) == {long[1:]: 1}
    _empty(postgres)
    with closing(Tables(postgres, BOXES)) as tables:
        with pytest.raises(InputError, match="a key of table 'totals' is too long"):
            tables.advance(0, given_to(OPENED, long), None)
        tables.advance(0, given_to(OPENED, (1, "short", 5)), None)
        assert contents(tables, TOTALS) == {("short", 5): 1}


EVERYTHING = stream(
    "everything",
    "ts TIMESTAMP, ok BOOLEAN, i TINYINT, j SMALLINT, k INT, l BIGINT, f FLOAT, x DOUBLE, s STRING, b BINARY, d DATE,"
    " m DECIMAL(38,2)",
    "ts",
)
KEPT = Table("kept", Schema(EVERYTHING.schema.columns), ("l",))
KEEP = Update(
    EVERYTHING,
    KEPT,
    f"INSERT INTO kept VALUES ({', '.join(f':{name}' for name in EVERYTHING.schema.names)})",
    (("ts", Column("ts")),),
)
HIGH = (HIGHEST, True, 127, 2**15 - 1, 2**31 - 1, 2**63 - 1, math.nan, math.inf, "\U0010ffff", b"\xff", 2932896)
LOW = (LOWEST, False, -128, -(2**15), -(2**31), -(2**63), -math.inf, 5e-324, "", b"", -719162)
EXTREMES = ((*HIGH, Decimal("9" * 36 + ".99")), (*LOW, Decimal("-0.01")), (0, *(None,) * 11))


def test_extreme_values_come_back(url: str) -> None:
    with closing(Tables(url, [KEEP])) as tables:
        tables.advance(0, given_to(KEEP, *EXTREMES), None)
        assert contents(tables, KEPT) == Counter(EXTREMES)


def test_values_in_a_sqlite_file_are_as_documented(tmp_path: Path) -> None:
    path = tmp_path / "tables.db"
    with closing(Tables(f"sqlite:///{path}", [KEEP])) as tables:
        tables.advance(0, given_to(KEEP, *EXTREMES), None)
    (row,) = _query(path, "SELECT * FROM kept WHERE l > 0")
    assert row == (HIGHEST, 1, *HIGH[2:6], "NaN", *HIGH[7:], "9" * 36 + ".99")
    assert _query(path, "SELECT count(*) FROM kept WHERE f > 1e308") == [(1,)]
    columns = [name for _, name, *_ in _query(path, "PRAGMA table_info(kept)")]
    assert columns == list(EVERYTHING.schema.names)


def test_rows_are_found_by_an_index(tmp_path: Path) -> None:
    table = Table("pairs", parse_schema("a STRING, b BIGINT, n BIGINT"), ("a", "b"))
    put = Update(PAYMENTS, table, "INSERT INTO pairs VALUES (:card, :amount, 1L)", (("ts", Column("ts")),))
    drop = Update(PAYMENTS, table, "DELETE FROM pairs WHERE :amount = n AND b < 5L", (("ts", Column("ts")),))
    with closing(Tables(str(tmp_path / "tables.db"), [put, drop])) as tables:
        stored = SQLiteTable(tables._database, table)  # type: ignore[arg-type]
        by_key = tables._database.run(f"EXPLAIN QUERY PLAN {stored.asking(2)}", ["x", 1, "y", 2])
        assert "SEARCH kept USING INDEX" in by_key[-1][3]
        assert "(a=? AND b=?)" in by_key[-1][3]
        within = tables._database.run("EXPLAIN QUERY PLAN SELECT * FROM pairs WHERE n = 1 AND b < 5")
        assert "(n=? AND b<?)" in within[-1][3]


# --- Exactly once ---------------------------------------------------------------------------------------------


def _query(path: Path, text: str, values: Iterable[Any] = ()) -> list[tuple]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(text, list(values)).fetchall()


def everything_in(url: str) -> Mapping[str, list[tuple]]:
    """All tables of a database, our own notes included."""
    if "://" not in url:
        names = [name for (name,) in _query(Path(url), "SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: sorted(_query(Path(url), f'SELECT * FROM "{name}"'), key=repr) for name in names}
    with psycopg.connect(url) as connection:
        asked = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
        names = [name for (name,) in connection.execute(asked)]
        return {name: sorted(connection.execute(f'SELECT * FROM "{name}"'.encode()), key=repr) for name in names}


def test_a_batch_that_is_done_twice_counts_once(url: str) -> None:
    first = given_to(OPENED, (1, "x", 1)) | given_to(LOOKED, (2, "x"))
    second = given_to(ADDED, (1, "x", 5), (3, "x", 5)) | given_to(LOOKED, (4, "x"))
    with closing(Tables(url, BOXES)) as tables:
        tables.advance(0, first, None)
        found = tables.advance(1, second, None)
        before = everything_in(url)
        again = tables.advance(1, second, None)
        assert answer(again[LOOKED], LOOKED) == answer(found[LOOKED], LOOKED)
        assert values_of(found[LOOKED], LOOKED) == [((2, "x", 1), -1), ((2, "x", 6), 1), ((4, "x", 11), 1)]
        with pytest.raises(InputError, match="batch 1 has been committed already"):
            tables.advance(0, first, None)
        with pytest.raises(InternalError, match="repeated with rows of boxes"):
            tables.advance(1, second | given_to(OPENED, (9, "y", 1)), None)
        assert everything_in(url) == before
    with closing(Tables(url, BOXES)) as tables:
        again = tables.advance(1, second, None)
        assert answer(again[LOOKED], LOOKED) == answer(found[LOOKED], LOOKED)
        assert everything_in(url) == before


def test_a_batch_that_fails_changes_nothing(url: str) -> None:
    with closing(Tables(url, BOXES)) as tables:
        tables.advance(0, given_to(OPENED, (1, "x", 1)) | given_to(ADDED) | given_to(LOOKED), 2)
        before = everything_in(url)
        with pytest.raises(InternalError, match="is frozen"):
            tables.advance(1, given_to(OPENED, (3, "y", 1)) | given_to(ADDED, (1, "x", 1)), None)
        assert everything_in(url) == before


def _child(call: str) -> subprocess.Popen[str]:
    program = f"from tests.spark.test_tables import *\n{call}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)


def dies_at_commit(url: str) -> None:
    """What a child process does: it is killed when all is written and nothing committed."""
    tables = Tables(url, BOXES)
    tables.advance(0, given_to(OPENED, (1, "x", 1)), None)
    tables._database.commit = lambda: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
    tables.advance(1, given_to(OPENED, *((2, f"c{n}", n) for n in range(5000))), None)


@pytest.mark.faults
def test_a_process_killed_in_the_middle_leaves_the_table_as_it_was(url: str) -> None:
    with _child(f"dies_at_commit({url!r})") as child:
        assert child.wait(120) == -signal.SIGKILL
    with closing(Tables(url, BOXES)) as tables:
        assert contents(tables, TOTALS) == {("x", 1): 1}
        tables.advance(1, given_to(OPENED, (2, "y", 2)), None)
        assert contents(tables, TOTALS) == {("x", 1): 1, ("y", 2): 1}


def batch_of(number: int) -> dict[Operator, pa.Table]:
    """Rows in and out of order, the same for the same number."""
    chance = random.Random(number)
    rows = [(number * 100 + chance.randrange(-150, 100), f"c{chance.randrange(50)}", n) for n in range(60)]
    looks = [(time + 7, card) for time, card, _ in rows[:10]]
    return given_to(OPENED, *rows[:30]) | given_to(ADDED, *rows[30:]) | given_to(LOOKED, *looks)


def goes_on(url: str, start: int) -> None:
    """What a child process does until it is killed: batch after batch, telling what is done."""
    tables = Tables(url, BOXES)
    for number in range(start, 10_000):
        tables.advance(number, batch_of(number), None)
        print(number, flush=True)


@pytest.mark.faults
def test_processes_killed_at_any_time_lose_and_double_nothing(url: str, tmp_path: Path) -> None:
    chance = random.Random(3)
    done = -1
    for _ in range(4):
        with _child(f"goes_on({url!r}, {done + 1})") as child:
            assert child.stdout is not None
            for _ in range(chance.randrange(1, 4)):
                done = int(child.stdout.readline())
            child.kill()
            done = max([done, *map(int, child.stdout.read().split())])
    with closing(Tables(url, BOXES)) as tables, closing(Tables(str(tmp_path / "whole.db"), BOXES)) as whole:
        # The last child may have committed a batch that it could not tell of: then this repeats it.
        found = tables.advance(done + 1, batch_of(done + 1), None)
        wanted = [whole.advance(number, batch_of(number), None) for number in range(done + 2)]
        assert answer(found[LOOKED], LOOKED) == answer(wanted[-1][LOOKED], LOOKED)
        assert contents(tables, TOTALS) == contents(whole, TOTALS)


def test_others_can_read_while_a_batch_is_written(url: str) -> None:
    with closing(Tables(url, BOXES)) as tables:
        tables.advance(0, given_to(OPENED, (1, "x", 1)), None)
        with tables.supposing():
            tables.advance(1, given_to(OPENED, (2, "y", 2)), None)
            assert contents(tables, TOTALS) == {("x", 1): 1, ("y", 2): 1}
            with _child(f"print(everything_in({url!r})['totals'])") as child:
                assert child.communicate(timeout=120)[0] == "[('x', 1)]\n"


# --- What is refused ------------------------------------------------------------------------------------------


def test_a_database_that_does_not_fit_is_refused(url: str) -> None:
    with closing(Tables(url, BOXES)) as tables:
        tables.advance(0, given_to(OPENED, (1, "x", 1)), None)
    with pytest.raises(GraphError, match="rows of 1 boxes that are not there any more"):
        Tables(url, [ADDED])
    other = Table("totals", parse_schema("card STRING, total INT"), ("card",))
    wrong = Update(PAYMENTS, other, "DELETE FROM totals", (("ts", Column("ts")),))
    with pytest.raises(GraphError, match="has other columns there"):
        Tables(url, [wrong])
    with pytest.raises(GraphError, match="in one box and"):
        Tables(url, [OPENED, wrong])
    with closing(Tables(url, BOXES)) as tables:
        tables._database.run("CREATE TABLE mine (a BIGINT)")
    mine = Update(PAYMENTS, Table("mine", parse_schema("a BIGINT")), "DELETE FROM mine", (("ts", Column("ts")),))
    with pytest.raises(InputError, match="was not made by Tradewind"):
        Tables(url, [mine])


@pytest.mark.parametrize("name", ["tradewind_calls", "sqlite_x", "PG_class"])
def test_names_of_the_database_are_refused(url: str, name: str) -> None:
    box = Update(PAYMENTS, Table(name, parse_schema("a INT")), f"DELETE FROM {name}", (("ts", Column("ts")),))
    with pytest.raises(InputError, match="no table may be named"):
        Tables(url, [box])


def test_rows_that_somebody_else_took_away_are_missed(url: str) -> None:
    with closing(Tables(url, BOXES)) as tables:
        tables.advance(0, given_to(OPENED, (1, "x", 1)), None)
        tables._database.run("DELETE FROM totals")
        with pytest.raises(InputError, match="is not there any more"):
            tables.advance(1, given_to(OPENED, (0, "x", 1)), None)


def test_places_that_are_no_database_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be kept in 'mysql'"):
        Tables("mysql://host/db", BOXES)
    with pytest.raises(InputError, match="cannot be used as a database"):
        Tables(str(tmp_path), BOXES)
    (tmp_path / "text.db").write_text("This is no database. " * 100, encoding="utf-8")
    with pytest.raises(InputError, match="cannot be used as a database"):
        Tables(str(tmp_path / "text.db"), BOXES)
    with pytest.raises(InputError, match="cannot be reached") as refused:
        Tables("postgresql://me:secret@127.0.0.1:1/db", BOXES)
    assert "secret" not in str(refused.value)
    with closing(Tables(str(tmp_path / "new" / "folder" / "tables.db"), BOXES)) as tables:
        assert contents(tables, TOTALS) == {}
        with pytest.raises(UnknownNameError, match="did you mean 'totals'"):
            tables.rows("total")
        with pytest.raises(InternalError, match="none of the tables' boxes"):
            tables.advance(0, {PAYMENTS: deltas(PAYMENTS.schema, [])}, None)


def test_neither_spark_nor_postgresql_is_loaded_unasked() -> None:
    program = "import sys, tradewind.spark.tables.store; print({'pyspark', 'psycopg', 'sqlite3'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "{'sqlite3'}\n"
