"""Top k: ORDER BY with LIMIT, QUALIFY row_number() … <= k, and row_number() AS rn with WHERE rn <= k around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from tradewind.errors import QueryError
from tradewind.frontends.sql.refusals import only, place, unsupported

Test = Callable[[exp.Expr], bool]
_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE, exp.EQ: exp.EQ,
}  # fmt: skip
_QUALIFY = "QUALIFY row_number() OVER (PARTITION BY … ORDER BY …) <= k"


@dataclass(frozen=True, slots=True)
class Ranking:
    """A wish for the first rows: in which order, in which groups (None: per window if there is one), ranked as what."""

    k: int
    by: tuple[tuple[exp.Expr, bool], ...]
    per: tuple[exp.Expr, ...] | None = None
    rank: str | None = None
    ordinals: bool = False
    """Whether a number in `by` means a column by its position."""

    also: tuple[exp.Expr, ...] = ()
    """Further conditions that the first rows must fulfil."""

    @property
    def nodes(self) -> tuple[exp.Expr, ...]:
        """All expressions it asks about."""
        return (*(node for node, _ in self.by), *(self.per or ()), *self.also)


def is_row_number(node: exp.Expr) -> bool:
    """Whether a node is row_number() OVER (…)."""
    return isinstance(node, exp.Window) and isinstance(node.this, exp.Anonymous) and _called(node) == "row_number"


def ranked_as(query: exp.Expr) -> str | None:
    """The lower-case name of row_number() in a SELECT that leaves it to the enclosing one to say how many it wants."""
    while isinstance(query, exp.Subquery) and not query.args.get("limit"):
        query = query.this
    if not isinstance(query, exp.Select) or query.args.get("qualify") or query.args.get("limit"):
        return None
    return next(
        (item.alias.lower() for item in query.expressions if isinstance(item, exp.Alias) and is_row_number(item.this)),
        None,
    )


def conjuncts_of(node: exp.Expr) -> list[exp.Expr]:
    """The conditions that are all asked at once, in order."""
    found: list[exp.Expr] = []
    stack = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, exp.And):
            stack += [one.expression, one.this]
        elif isinstance(one, exp.Paren) and isinstance(one.this, exp.And | exp.Paren):
            stack.append(one.this)
        else:
            found.append(one)
    return found


def rank_limit(condition: exp.Expr, is_rank: Test) -> int | None:
    """The k of `rank <= k`, `rank < k`, `rank = 1` or `rank BETWEEN 1 AND k`; None for any other condition."""
    condition = condition.unnest()
    if isinstance(condition, exp.Between) and is_rank(condition.this):
        low, high = _whole(condition.args["low"]), _whole(condition.args["high"])
        return high if low == 1 and not condition.args.get("symmetric") else None
    if type(condition) not in _MIRRORED:
        return None
    left, right, kind = condition.this, condition.expression, type(condition)
    if is_rank(right):
        left, right, kind = right, left, _MIRRORED[kind]
    limit = _whole(right)
    if limit is None or not is_rank(left):
        return None
    if kind is exp.EQ:
        return 1 if limit == 1 else None
    return limit if kind is exp.LTE else limit - 1 if kind is exp.LT else None


def qualified(select: exp.Select, limit: int | None) -> Ranking | None:
    """The top k that QUALIFY, or an enclosing WHERE with this limit, asks of a SELECT."""
    for item in select.expressions:
        if isinstance(item.unalias(), exp.Window):
            refuse_window(item.unalias())
    ranks = [item for item in select.expressions if is_row_number(item.unalias())]
    if any(not isinstance(item, exp.Alias) for item in ranks):
        raise QueryError("row_number() needs a name.", hint="row_number() OVER (…) AS rn.")
    if len(ranks) > 1:
        raise unsupported("a second row_number() in one SELECT", "rank in two steps, one sub-select inside the other.")
    name = ranks[0].alias if ranks else None
    window = ranks[0].this if ranks else None
    qualify = select.args.get("qualify")
    also: tuple[exp.Expr, ...] = ()
    if qualify is not None:
        limit, window, also = _of_qualify(qualify.this, name, window)
    if window is None:
        return None
    if limit is None:
        raise QueryError(
            "row_number() is used without a limit on it.",
            hint=f"{_QUALIFY}; or SELECT … FROM (…) WHERE {name or 'rn'} <= k.",
        )
    return _over(window, limit, name, also)


def _of_qualify(
    condition: exp.Expr, name: str | None, known: exp.Expr | None
) -> tuple[int, exp.Expr, tuple[exp.Expr, ...]]:
    """How many rows of which row_number() are asked for, and what else is asked of them."""
    for one in condition.find_all(exp.Window):
        refuse_window(one)

    def is_rank(node: exp.Expr) -> bool:
        named = (
            name is not None and isinstance(node, exp.Column) and not node.table and node.name.lower() == name.lower()
        )
        return named or is_row_number(node)

    pieces = [(rank_limit(one, is_rank), one) for one in conjuncts_of(condition)]
    limits = [limit for limit, _ in pieces if limit is not None]
    others = tuple(one for limit, one in pieces if limit is None)
    if not limits or any(one.find(exp.Window) for one in others):
        raise unsupported("another condition than a limit on row_number()", f"write {_QUALIFY}.")
    windows = [*condition.find_all(exp.Window), *((known,) if known is not None else ())]
    if any(window != windows[0] for window in windows):
        raise unsupported("a second row_number() in one SELECT", "rank in two steps, one sub-select inside the other.")
    return min(limits), windows[0], others


def refuse_window(node: exp.Expr) -> None:
    """An error for a window function that is not row_number()."""
    if is_row_number(node):
        return
    name = _called(node) or node.this.sql("spark")[:40]
    if name in ("rank", "dense_rank"):
        raise unsupported(
            f"{name}()", "use row_number(): ties are decided by the other columns, so exactly k rows stay."
        )
    raise unsupported(
        f"the window function {name!r} (OVER)", f"{_QUALIFY} gives the top k; GROUP BY window(ts, size, step) the rest."
    )


def _called(node: exp.Expr) -> str:
    inner = node.this
    return str(inner.this).lower() if isinstance(inner, exp.Anonymous) and isinstance(inner.this, str) else ""


def _over(window: exp.Expr, k: int, name: str | None, also: tuple[exp.Expr, ...]) -> Ranking:
    only(window, "this", "partition_by", "order", "over", "alias")
    if window.args.get("alias"):
        raise unsupported("a named WINDOW", "write the window in OVER (…) itself.")
    if window.this.expressions:
        raise QueryError("row_number() takes no arguments.")
    order = window.args.get("order")
    if order is None:
        raise QueryError("row_number() needs an order.", hint="OVER (PARTITION BY … ORDER BY …).")
    return Ranking(k, _order(order), tuple(window.args.get("partition_by") or ()), name, also=also)


def limited(query: exp.Expr) -> Ranking | None:
    """The top k that ORDER BY with LIMIT asks for: of each window when the rows have one, or else of all rows."""
    order, limit = query.args.get("order"), query.args.get("limit")
    if order is None and limit is None:
        return None
    with place("ORDER BY"):
        if limit is None:
            raise QueryError(
                "ORDER BY without LIMIT: a stream has no end, so it cannot be sorted as a whole.",
                hint="add LIMIT k for the first k, or use a box of kind order, which sorts with slack.",
            )
        by = _order(order) if order is not None else ()
    with place("LIMIT"):
        if order is None:
            raise QueryError(
                "LIMIT without ORDER BY: which rows would it be?", hint="add ORDER BY, or use a box of kind sample."
            )
        if not isinstance(limit, exp.Limit):
            raise unsupported("FETCH", "write LIMIT k.")
        only(limit, "expression")
        k = _whole(limit.expression)
        if k is None:
            raise QueryError(f"LIMIT takes a whole number, not {limit.expression.sql('spark')[:40]!r}.")
    return Ranking(k, by, ordinals=True)


def _order(order: exp.Expr) -> tuple[tuple[exp.Expr, bool], ...]:
    only(order, "expressions")
    found = []
    for one in order.expressions:
        descending = bool(one.args.get("desc"))
        only(one, "this", "desc", "nulls_first")
        if bool(one.args.get("nulls_first")) == descending:
            raise unsupported(
                "NULLS LAST in ascending and NULLS FIRST in descending order",
                "NULLs are the smallest values; order by coalesce(x, …) to move them.",
            )
        if isinstance(one.this, exp.Var):
            raise unsupported("ORDER BY ALL", "name the columns.")
        found.append((one.this, descending))
    return tuple(found)


def _whole(node: exp.Expr) -> int | None:
    text = node.name if isinstance(node, exp.Literal) and not node.is_string else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
