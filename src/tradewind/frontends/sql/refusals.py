"""What is said about SQL that Tradewind does not answer: its name, and the nearest thing that it does answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from sqlglot import exp

from tradewind.algebra.expressions.functions import REASONS
from tradewind.algebra.expressions.parse import forbidden_function
from tradewind.errors import ForbiddenError, InputError, QueryError, unknown

_NAME_COLUMNS = "name the columns one by one."
_TOP = "ORDER BY … LIMIT k gives the first k; a box of kind order sorts with bounded memory."

_PARTS: dict[str, tuple[str, str]] = {
    "hint": ("a hint (/*+ … */)", "the planner decides; set wishes on the query instead."),
    "into": ("SELECT INTO", "`deliver:` says where the answer goes."),
    "laterals": ("LATERAL VIEW", "a row cannot become several; element_at(array, position) reads one element."),
    "sort": ("SORT BY", _TOP),
    "distribute": ("DISTRIBUTE BY", "the planner decides where rows go."),
    "cluster": ("CLUSTER BY", "the planner decides where rows go."),
    "offset": (
        "OFFSET",
        "number the rows with row_number() OVER (…) AS rn in a sub-select, keep rn <= k, and filter rn.",
    ),
    "sample": ("TABLESAMPLE", "a box of kind sample draws a share of the rows."),
    "pivots": ("PIVOT", "write one aggregate per value: sum(x) FILTER (WHERE kind = 'a') AS a."),
    "kind": ("SELECT AS STRUCT or VALUE", "named_struct('a', a, 'b', b) makes a struct."),
    "windows": ("a named WINDOW", "write the window in OVER (…) itself."),
    "connect": ("CONNECT BY", "recursion has no end on a stream; join a fixed number of times."),
    "match": ("MATCH_RECOGNIZE", "join the stream with itself within time bounds."),
    "locks": ("FOR UPDATE", "an update box changes a table."),
    "version": ("time travel (VERSION or TIMESTAMP AS OF)", "a connection point keeps a stream's history."),
    "recursive": ("WITH RECURSIVE", "recursion has no end on a stream; join a fixed number of times."),
    "joins": ("a join in parentheses", "put it in a sub-select: (SELECT … FROM a JOIN b ON …) AS ab."),
    "method": (
        "NATURAL, ASOF or POSITIONAL JOIN",
        "name the columns: JOIN … USING (a, b); a time bound in ON for ASOF.",
    ),
    "rollup": ("ROLLUP", "write one query per grouping and UNION ALL them."),
    "cube": ("CUBE", "write one query per grouping and UNION ALL them."),
    "grouping_sets": ("GROUPING SETS", "write one query per grouping and UNION ALL them."),
    "all": ("GROUP BY ALL", "name the columns to group by."),
    "totals": ("WITH TOTALS", "write one query per grouping and UNION ALL them."),
    "except_": ("* EXCEPT", _NAME_COLUMNS),
    "replace": ("* REPLACE", _NAME_COLUMNS),
    "rename": ("* RENAME", _NAME_COLUMNS),
    "on": ("DISTINCT ON", "QUALIFY row_number() OVER (PARTITION BY … ORDER BY …) = 1 keeps one row per group."),
    "by_name": ("UNION BY NAME", "select the columns in the same order on both sides."),
    "spec": ("a frame (ROWS or RANGE BETWEEN)", "group by window(ts, size, step) for sliding aggregates."),
    "search": ("SEARCH in WITH", "leave it out."),
    "materialized": ("MATERIALIZED", "leave it out; what is used twice is shared."),
}


_WINDOWS = {
    "tumble": "GROUP BY window(ts, '1 minute'), and select window.start and window.end.",
    "hop": "GROUP BY window(ts, '10 minutes', '1 minute') (size, step), and select window.start and window.end.",
    "session": "GROUP BY session_window(ts, '30 seconds'), and select session_window.start and session_window.end.",
}
_FOREIGN = {f"{name}{part}": hint for name, hint in _WINDOWS.items() for part in ("", "_start", "_end")} | {
    "struct": "named_struct('a', a, 'b', b) makes a struct."
}
_BARE = ("current_", "session_user", "localtime")
"""How functions start that SQL lets be called without parentheses."""


def foreign_function(name: str) -> ForbiddenError | None:
    """An error for a function of other systems that has a counterpart here."""
    hint = _FOREIGN.get(name.lower())
    return ForbiddenError(f"the function {name!r} is not on the allow-list.", hint=hint) if hint else None


def unknown_column(path: Sequence[str], labels: Sequence[str], called: Iterable[tuple[str, str]]) -> InputError:
    """An error for a dotted name that is no column; `called` pairs relations with the other names they got in FROM."""
    name = path[0].lower()
    aliases = [alias for relation, alias in called if relation.lower() == name]
    if len(path) > 1 and aliases:
        better = [".".join((alias, *path[1:])) for alias in aliases]
        return QueryError(
            f"{path[0]!r} is called {' and '.join(aliases)} here.",
            hint=f"write {' or '.join(better)}.",
            candidates=better,
        )
    if name in ("window_start", "window_end"):
        return QueryError(
            f"unknown column {path[0]!r}.",
            hint=f"write {name.replace('_', '.')}, with GROUP BY window(ts, '1 minute').",
            candidates=labels,
        )
    if len(path) == 1 and name in REASONS and name.startswith(_BARE):
        return forbidden_function(path[0])
    return unknown("column", ".".join(path), labels)


def unsupported(what: str, hint: str) -> QueryError:
    """An error that names what cannot be answered and what comes nearest."""
    return QueryError(f"{what} is not supported.", hint=hint)


def only(node: exp.Expr, *allowed: str) -> None:
    """Refuse a piece of SQL that has other parts than these, by the name a user knows."""
    for part, value in node.args.items():
        if value and part not in allowed:
            name, hint = _PARTS.get(part, (part.strip("_").replace("_", " ").upper(), "leave it out."))
            raise unsupported(name, hint)


@contextmanager
def place(where: str) -> Iterator[None]:
    """Errors inside say that they arose here."""
    try:
        yield
    except InputError as error:
        raise error.at(where) from None


def line_of(node: exp.Expr) -> str:
    """`, line n` when the first name of the piece is known to stand below the first line."""
    lines = [part.meta["line"] for part in node.find_all(exp.Identifier) if isinstance(part.meta.get("line"), int)]
    return f", line {min(lines)}" if lines and min(lines) > 1 else ""
