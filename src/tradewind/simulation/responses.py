"""How an operator's output answers to its inputs, as factors of their nominal rates.

A response gets, for some operators of one kind, the factor of each input (a row per input, a column per operator) and
each input's share of the nominal bytes (alike; a column's shares add up to one). It gives each operator's own factor:
of its output, and of its work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tradewind.network.network import Numbers

Response = Callable[[Numbers, Numbers], Numbers]


def mean(factors: Numbers, shares: Numbers) -> Numbers:
    """As much more as comes in more, by bytes: filters, maps, unions, merges of partial aggregates."""
    found: Numbers = np.einsum("ij,ij->j", factors, shares)
    return found


def product(factors: Numbers, shares: Numbers) -> Numbers:
    """A join: each row of an input meets all of the other's."""
    found: Numbers = factors.prod(axis=0)
    return found


def constant(factors: Numbers, shares: Numbers) -> Numbers:
    """The same, however much comes in: an aggregate whose groups are all there in every trigger."""
    return np.ones(factors.shape[1])


SHARES_ASIDE = (product, constant)
"""Those that do not look at shares, so that nominal rates may be missing."""

RESPONSES: Mapping[str, Response] = {"join": product}
"""What is not the mean, by the kind of step, or by its first word: kinds such as `filter cheap` name a condition."""


def response_of(kind: str, responses: Mapping[str, Response]) -> Response:
    """The response of a kind of step."""
    found = responses.get(kind)
    return found if found is not None else responses.get(kind.split(" ", 1)[0], mean)
