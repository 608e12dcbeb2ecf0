"""Metrics as text, by XFlow's grammar:

    system_cost   := f(node_cost, NODES) | f(query_cost, QUERIES)
    node_cost     := f(statistic, …) | f(operator_cost, OPERATORS)
    query_cost    := f(operator_cost, OPERATORS)
    operator_cost := f(statistic, UP OPERATORS) | f(statistic, DOWN OPERATORS) | statistic
    bound         := system_cost REL number | f(statistic, …) REL number | operator_cost REL (number | statistic)
    f             := MIN | MAX | SUM | AVERAGE              REL := <= | >=

Words may be written in small or capital letters. A text is read in two steps: calls and words first, whatever they
mean; then each call as what its place allows, so that an error can say what would have been right there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

from tradewind.errors import InputError, TradewindError, closest, unknown
from tradewind.frontends.metrics.calls import (
    COLLECTIONS,
    DOWN,
    NODES,
    OPERATORS,
    QUERIES,
    UP,
    Call,
    Reader,
    Token,
    is_word,
    place_of,
)
from tradewind.frontends.metrics.tree import (
    NODE_STATISTICS,
    OPERATOR_STATISTICS,
    Along,
    Bound,
    Direction,
    Fold,
    Metric,
    OfNode,
    OperatorCost,
    OverNodes,
    OverOperators,
    OverQueries,
    Relation,
    Statistic,
    SystemCost,
)


def parse_cost(text: str) -> SystemCost:
    """A cost of the whole system.

    >>> str(parse_cost("max(sum(cores, operators), nodes)"))
    'MAX(SUM(cores, OPERATORS), NODES)'
    """
    reader = Reader(text)
    call = reader.call()
    reader.finish()
    return _Meaning(text).system(call)


def parse_bound(text: str) -> Bound:
    """A bound on a cost of the system, of every site, or of every operator.

    >>> str(parse_bound("MIN(capacity, UP OPERATORS) >= bytes_in"))
    'MIN(capacity, UP OPERATORS) >= bytes_in'
    """
    reader = Reader(text)
    left = reader.argument()
    relation = reader.relation()
    right = reader.take("a number or a statistic")
    reader.finish()
    return _Meaning(text).bound(left, relation, right)


def read_metric(declared: object) -> Metric:
    """A metric as a deployment file declares it: a text, or a mapping of `cost` and `where`."""
    if isinstance(declared, str):
        return Metric(parse_cost(declared))
    if not isinstance(declared, Mapping):
        raise InputError(
            "a metric is a text or a mapping.",
            hint="write {cost: TEXT, where: [BOUND, …]}.",
            candidates=("cost", "where"),
        )
    for key in declared:
        if key not in ("cost", "where"):
            raise unknown("key", str(key), ("cost", "where"))
    cost, bounds = declared.get("cost"), declared.get("where", [])
    if not isinstance(cost, str):
        raise InputError("a metric needs a cost, as text.", hint='for example "MAX(SUM(load, OPERATORS), NODES)".')
    if isinstance(bounds, str):
        bounds = [bounds]
    if not isinstance(bounds, Sequence) or not all(isinstance(one, str) for one in bounds):
        raise InputError("the bounds of a metric are a list of texts.", where="where")
    found = []
    for number, one in enumerate(bounds, 1):
        try:
            found.append(parse_bound(one))
        except TradewindError as error:
            raise error.at(f"where, bound {number}") from None
    try:
        return Metric(parse_cost(cost), tuple(found))
    except TradewindError as error:
        raise error.at("cost") from None


class _Meaning:
    """Calls and words as what their place in the grammar allows."""

    def __init__(self, text: str) -> None:
        self._text = text

    def _refuse(self, what: str, position: int, hint: str, candidates: Sequence[str] = ()) -> InputError:
        return InputError(what, where=place_of(self._text, position), hint=hint, candidates=candidates)

    def system(self, call: Call) -> SystemCost:
        if call.over not in (NODES, QUERIES):
            hint = f"write {call.fold}(…, {NODES}) or {call.fold}(…, {QUERIES})."
            what = "a cost of the whole system folds over sites or queries."
            raise self._refuse(what, call.position, hint, (NODES, QUERIES))
        each = self._only(call)
        if not isinstance(each, Call):
            statistic = each.text.lower()
            hint = f"write {call.fold}(SUM({statistic}, {OPERATORS}), {call.over})."
            raise self._refuse("what is folded here must be a function.", each.position, hint, tuple(Fold))
        if call.over == QUERIES:
            return OverQueries(call.fold, self._over_operators(each))
        return OverNodes(call.fold, self._node(each) if each.over is None else self._over_operators(each))

    def _only(self, call: Call) -> Call | Token:
        if len(call.arguments) > 1:
            second = call.arguments[1]
            hint = f"only the statistics of a site are listed, as in SUM(cores, load); {call.over} takes one cost."
            raise self._refuse("one cost is folded at a time.", second.position, hint)
        return call.arguments[0]

    def _over_operators(self, call: Call) -> OverOperators:
        if call.over != OPERATORS:
            what = f"the cost of a query or site folds over {OPERATORS}."
            raise self._refuse(what, call.position, f"write {call.fold}(…, {OPERATORS}).", (OPERATORS,))
        return OverOperators(call.fold, self._operator(self._only(call)))

    def _node(self, call: Call) -> OfNode:
        return OfNode(call.fold, tuple(self._statistic(one, NODE_STATISTICS, "site") for one in call.arguments))

    def _operator(self, part: Call | Token) -> OperatorCost:
        if isinstance(part, Token):
            return Statistic(self._statistic(part, OPERATOR_STATISTICS, "operator"))
        if part.over not in (UP, DOWN):
            what = f"the cost of an operator folds over {UP} or {DOWN}."
            raise self._refuse(what, part.position, "or give a statistic alone.", (UP, DOWN))
        statistic = Statistic(self._statistic(self._only(part), OPERATOR_STATISTICS, "operator"))
        return Along(part.fold, statistic, Direction.UP if part.over == UP else Direction.DOWN)

    def _statistic(self, part: Call | Token, known: Mapping[str, str], whose: str) -> str:
        if isinstance(part, Call):
            hint = f"one of {', '.join(known)}."
            raise self._refuse(
                f"a statistic of the {whose} is expected, not a function.", part.position, hint, tuple(known)
            )
        name = part.text.lower()
        if name not in known:
            place = place_of(self._text, part.position)
            if closest(part.text, COLLECTIONS) and not closest(part.text, known):
                raise unknown("collection", part.text, COLLECTIONS, place)
            raise unknown(f"statistic of the {whose}", part.text, known, place)
        return name

    def bound(self, left: Call | Token, relation: Relation, right: Token) -> Bound:
        if isinstance(left, Token) or left.over in (UP, DOWN):
            operator = self._operator(left)
            if not is_word(right):
                return Bound(operator, relation, self._number(right))
            return Bound(operator, relation, Statistic(self._statistic(right, OPERATOR_STATISTICS, "operator")))
        number = self._number(right)
        if left.over is None:
            return Bound(self._node(left), relation, number)
        if left.over == OPERATORS:
            fold = "MAX" if relation is Relation.AT_MOST else "MIN"
            hint = f"write {fold}({left.fold}(…, {OPERATORS}), {NODES}) or the same over {QUERIES}."
            raise self._refuse("the operators of a site, or of a query?", left.position, hint, (NODES, QUERIES))
        return Bound(self.system(left), relation, number)

    def _number(self, token: Token) -> float:
        try:
            found = float(token.text)
        except ValueError:
            found = float("nan")
        if not isfinite(found):
            hint = (
                "only a bound on an operator's cost may name a statistic instead." if is_word(token) else "such as 5."
            )
            raise self._refuse(f"a number is expected, not {token.text!r}.", token.position, hint)
        return found


OBJECTIVES = {
    "latency": Metric(parse_cost("AVERAGE(MAX(response_ms, OPERATORS), QUERIES)")),
    "load": Metric(parse_cost("MAX(SUM(load, OPERATORS), NODES)")),
}
"""The objectives of the deployment file that are no sums of prices."""
