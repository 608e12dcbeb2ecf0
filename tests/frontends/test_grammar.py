"""Metrics as text: what is read is printed back, and what is wrong is said where it stands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.errors import InputError, UnknownNameError
from tradewind.frontends.metrics.grammar import parse_bound, parse_cost, read_metric
from tradewind.frontends.metrics.tree import (
    NODE_STATISTICS,
    OPERATOR_STATISTICS,
    Along,
    Bound,
    Direction,
    Fold,
    Metric,
    OfNode,
    OverNodes,
    OverOperators,
    OverQueries,
    Relation,
    Statistic,
)

folds = st.sampled_from(Fold)
statistics = st.sampled_from(sorted(OPERATOR_STATISTICS)).map(Statistic)
operator_costs = statistics | st.builds(Along, folds, statistics, st.sampled_from(Direction))
over_operators = st.builds(OverOperators, folds, operator_costs)
of_node = st.builds(
    OfNode, folds, st.lists(st.sampled_from(sorted(NODE_STATISTICS)), min_size=1, max_size=3).map(tuple)
)
systems = st.builds(OverNodes, folds, of_node | over_operators) | st.builds(OverQueries, folds, over_operators)
numbers = st.floats(allow_nan=False, allow_infinity=False)
relations = st.sampled_from(Relation)
bounds = st.builds(Bound, systems | of_node, relations, numbers) | st.builds(
    Bound, operator_costs, relations, numbers | statistics
)


@given(systems)
def test_costs_are_printed_as_they_are_read(cost: OverNodes | OverQueries) -> None:
    assert parse_cost(str(cost)) == cost
    assert parse_cost(str(cost).lower().replace("(", " ( ").replace(",", " ,\n")) == cost


@given(bounds)
def test_bounds_are_printed_as_they_are_read(bound: Bound) -> None:
    assert parse_bound(str(bound)) == bound


@given(st.text(alphabet="MAXSUMmsUP OPERATORSNODES(),<=>0.5e-_'\"\n\\", max_size=40) | st.text(max_size=20))
def test_any_other_text_is_refused_with_a_place(text: str) -> None:
    for parse in (parse_cost, parse_bound):
        where = "character"  # as if refused with one, for a drawn text that happens to be right
        try:
            parse(text)
        except InputError as error:
            where = str(error.where)
        assert "character" in where


def test_the_tree_of_a_metric() -> None:
    cost = parse_cost("AVERAGE(MAX(SUM(ms, UP OPERATORS), OPERATORS), QUERIES)")
    upstream = Along(Fold.SUM, Statistic("ms"), Direction.UP)
    assert cost == OverQueries(Fold.AVERAGE, OverOperators(Fold.MAX, upstream))


@pytest.mark.parametrize(
    ("text", "character", "what"),
    [
        ("", 1, "a function is expected, not the end"),
        ("MAX(", 5, "a function or a statistic is expected, not the end"),
        ("MAX(SUM(cores, OPERATORS), NODES", 33, "')' is expected, not the end"),
        ("MAX(SUM(cores, OPERATORS), NODES))", 34, "the end is expected, not ')'"),
        ("MAX(SUM(cores; OPERATORS), NODES)", 14, "';' does not belong in a metric"),
        ("MAX(SUM(ms, OPERATORS), QUERIES) <= 4", 34, "the end is expected, not '<='"),
        ("MEDIAN(SUM(ms, OPERATORS), QUERIES)", 1, "unknown function 'MEDIAN'"),
        ("MAX(SUM(coers, OPERATORS), NODES)", 9, "unknown statistic of the operator 'coers'"),
        ("MAX(SUM(ms), NODES)", 9, "unknown statistic of the site 'ms'"),
        ("MAX(SUM(cores, OPERATRS), NODES)", 16, "unknown collection 'OPERATRS'"),
        ("MAX(cores, NODES)", 5, "must be a function"),
        ("SUM(cores, OPERATORS)", 1, "folds over sites or queries"),
        ("MAX(SUM(cores), QUERIES)", 5, "folds over OPERATORS"),
        ("MAX(SUM(SUM(ms, UP), OPERATORS), QUERIES)", 19, "'OPERATORS' is expected"),
        ("MAX(SUM(SUM(ms, NODES), OPERATORS), QUERIES)", 9, "folds over UP OPERATORS or DOWN OPERATORS"),
        ("MAX(SUM(cores, load, OPERATORS), NODES)", 16, "one cost is folded at a time"),
        ("MAX(MAX(MAX(MAX(ms))))", 13, "nested too deeply"),
        ("MAX(" * 100_000, 13, "nested too deeply"),
    ],
)
def test_what_is_wrong_with_a_cost(text: str, character: int, what: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_cost(text)
    assert what in caught.value.what
    assert str(caught.value.where).endswith(f"character {character}")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("MAX(SUM(cores, OPERATORS), NODES)", "'<=' or '>=' is expected, not the end"),
        ("cores < 3", "'<' does not belong"),
        ("cores <=", "a number or a statistic is expected"),
        ("3 >= cores", "a function or a statistic is expected, not '3'"),
        ("cores <= 3 4", "the end is expected, not '4'"),
        ("cores <= 1e999", "a number is expected, not '1e999'"),
        ("cores <= 1-2", "a number is expected, not '1-2'"),
        ("cores <= nan", "unknown statistic of the operator 'nan'"),
        ("SUM(cores) <= load", "a number is expected, not 'load'"),
        ("SUM(cores, OPERATORS) <= 5", "the operators of a site, or of a query?"),
    ],
)
def test_what_is_wrong_with_a_bound(text: str, what: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_bound(text)
    assert what in caught.value.what


def test_errors_name_what_would_have_been_right() -> None:
    with pytest.raises(UnknownNameError) as caught:
        parse_cost("MAX(SUM(coers, OPERATORS), NODES)")
    assert "did you mean 'cores'?" in str(caught.value.hint)
    assert set(caught.value.candidates) == OPERATOR_STATISTICS.keys()


def test_a_metric_is_a_text_or_a_mapping() -> None:
    text, bound = "MAX(SUM(load, OPERATORS), NODES)", "MAX(MAX(response_ms, OPERATORS), QUERIES) <= 200"
    assert read_metric(text) == Metric(parse_cost(text))
    assert read_metric({"cost": text}) == Metric(parse_cost(text))
    whole = Metric(parse_cost(text), (parse_bound(bound),))
    assert read_metric({"cost": text, "where": [bound]}) == whole
    assert read_metric({"cost": text, "where": bound}) == whole


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (5, "a metric is a text or a mapping"),
        ({"where": []}, "a metric needs a cost"),
        ({"cost": 3}, "a metric needs a cost"),
        ({"cost": "MAX(SUM(load, OPERATORS), NODES)", "were": []}, "did you mean 'where'?"),
        ({"cost": "MAX(SUM(load, OPERATORS), NODES)", "where": 5}, "a list of texts"),
        ({"cost": "MAX(SUM(load, OPERATORS), NODES)", "where": [5]}, "a list of texts"),
        ({"cost": "MAX(SUM(load, OPERATORS), NODES)", "where": None}, "a list of texts"),
        ({"cost": "MAX(load)", "where": []}, "cost: 'MAX(load)', character 1"),
        ({"cost": "MAX(SUM(load, OPERATORS), NODES)", "where": ["ms <= 3", "ms"]}, "where, bound 2: 'ms', character 3"),
    ],
)
def test_what_is_wrong_with_a_metric(declared: object, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_metric(declared)
    assert said in str(caught.value)
