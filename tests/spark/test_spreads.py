"""Variance and standard deviation of rows that come and are taken back, beside exact fractions."""

import math
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tradewind.algebra.aggregates import parse_aggregate
from tradewind.algebra.schema import parse_schema
from tradewind.algebra.types import DOUBLE
from tradewind.interpreter.aggregates import meaning
from tradewind.spark.aggregates.parts import Rows
from tradewind.spark.aggregates.spreads import SPREADS
from tradewind.spark.aggregates.states import state_of

pytestmark = pytest.mark.spark

SCHEMA = parse_schema("x DOUBLE, w BIGINT", None)
HUGE = 2.0**480
CALLS = {name: parse_aggregate(f"{name}(x)", SCHEMA) for name in SPREADS}

Batch = list[tuple[float, int]]


def by_spark(spark, batches: list[Batch]) -> dict[str, float | None]:
    """Each batch lifted by itself, all states merged, and the answers."""
    rows = [(number, x, w) for number, batch in enumerate(batches) for x, w in batch]
    frame = spark.createDataFrame(rows, "batch INT, x DOUBLE, w BIGINT")
    states = {name: state_of(call, DOUBLE, Rows(("x",), "w", None), lean=False) for name, call in CALLS.items()}
    lifts = [f"{part.lift} AS {name}{i}" for name, state in states.items() for i, part in enumerate(state.parts)]
    frame.createOrReplaceTempView("spread_rows")
    lifted = spark.sql(f"SELECT batch, {', '.join(lifts)} FROM spread_rows GROUP BY batch")
    merges = [f"{p.merge(f'{name}{i}')} AS {name}{i}" for name, s in states.items() for i, p in enumerate(s.parts)]
    lifted.createOrReplaceTempView("spread_states")
    merged = spark.sql(f"SELECT {', '.join(merges)} FROM spread_states")
    answers = [f"{s.finish(*(f'{name}{i}' for i in range(len(s.parts))))} AS {name}" for name, s in states.items()]
    found: dict[str, float | None] = merged.selectExpr(*answers).collect()[0].asDict()
    spark.catalog.dropTempView("spread_rows")
    spark.catalog.dropTempView("spread_states")
    return found


def by_interpreter(batches: list[Batch]) -> dict[str, float | None]:
    found = {}
    for name, call in CALLS.items():
        means = meaning(call, DOUBLE)
        state = None
        for x, weight in (row for batch in batches for row in batch):
            one = means.lift(x, 0, weight)
            state = one if state is None else means.merge(state, one)
        found[name] = means.empty if state is None else means.finish(state)
    return found


def bound(batches: list[Batch], name: str) -> tuple[Fraction, Fraction]:
    """How far off docs/aggregates.md lets a variance be: the exact variance, and the error."""
    left: dict[float, int] = {}
    for x, weight in (row for batch in batches for row in batch):
        left[x] = left.get(x, 0) + weight
    kinds = {abs(x) >= HUGE for x, weight in left.items() if weight}
    came = [x for batch in batches for x, _ in batch if (abs(x) >= HUGE) in kinds]
    rows = [Fraction(x) for x, weight in left.items() for _ in range(weight)]
    mean = sum(rows, Fraction(0)) / len(rows)
    divisor = len(rows) - 1 if name.endswith("samp") else len(rows)
    exact = sum(((x - mean) * (x - mean) for x in rows), Fraction(0)) / divisor
    return exact, len(came) * Fraction(2) ** -48 * Fraction(max(map(abs, came))) ** 2


def close(found: float | None, batches: list[Batch], name: str) -> bool:
    exact, error = bound(batches, name)
    low, high = max(Fraction(0), exact - error), exact + error
    if found is None:  # a variance of nearly nothing may come out below zero
        return low == 0
    if found == math.inf:
        return name.startswith("var") and high >= Fraction(2) ** 1023
    answer = Fraction(found) ** 2 if name.startswith("stddev") else Fraction(found)
    slack = Fraction(2) ** -49 * exact + Fraction(2) ** -1000
    return low - slack <= answer <= high + slack


def test_huge_values_that_are_taken_back_leave_nothing_behind(spark) -> None:
    batches = [[(1.0, 1), (1e300, 1), (-1.7e308, 1)], [(2.0, 1), (4.0, 1)], [(1e300, -1)], [(-1.7e308, -1)]]
    found = by_spark(spark, batches)
    assert found == pytest.approx(by_interpreter([[(1.0, 1), (2.0, 1), (4.0, 1)]]), rel=1e-14)


def test_the_deviation_of_huge_values_keeps_its_digits(spark) -> None:
    batches = [[(1e300, 1), (2e300, 1), (5e300, 1)], [(5e300, -1), (4e300, 1), (7.0, 1)], [(7.0, -1)]]
    found, exact = by_spark(spark, batches), by_interpreter(batches)
    assert exact["stddev_pop"] == pytest.approx(math.sqrt(14 / 9) * 1e300, rel=1e-14)
    assert exact["var_pop"] == math.inf
    assert found == pytest.approx(exact, rel=1e-13)


def test_values_on_both_sides_of_the_border_are_one_group(spark) -> None:
    batches = [[(HUGE, 1), (HUGE / 2, 1), (-HUGE, 1)], [(HUGE / 4, 1), (HUGE * 8, 1)], [(HUGE * 8, -1)]]
    assert by_spark(spark, batches) == pytest.approx(by_interpreter(batches), rel=1e-13)


NUMBERS = st.one_of(
    st.floats(-10, 10),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1e300, -1e300, 1.5e300, 1.7e308, HUGE, HUGE / 2, 1e9, 1.0, 0.1, 0.0]),
)


@st.composite
def histories(draw) -> list[Batch]:
    """Rows in batches, and some of them taken back later; at least two stay."""
    values = draw(st.lists(NUMBERS, min_size=2, max_size=8))
    gone = draw(st.lists(st.sampled_from(range(2, len(values))), unique=True)) if len(values) > 2 else []
    cut = draw(st.integers(1, len(values)))
    came = [(x, 1) for x in values]
    return [one for one in (came[:cut], came[cut:], [(values[place], -1) for place in gone]) if one]


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(histories())
def test_answers_are_as_near_as_the_documentation_says(spark, batches) -> None:
    found = by_spark(spark, batches)
    for name in SPREADS:
        assert close(found[name], batches, name), (name, found[name], bound(batches, name))
