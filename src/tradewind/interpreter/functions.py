"""What each allow-listed function does with values, by its name.

Strict functions never see NULL; the evaluator answers for them. It also does `and`, `or`, `if`, `coalesce` and `in`,
which do not look at all their arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tradewind.interpreter import functions_choice, functions_number, functions_text, functions_time
from tradewind.interpreter.hashing import xxhash64
from tradewind.interpreter.values import Value


@dataclass(frozen=True, slots=True)
class Implementation:
    """A function on values; when `typed`, the argument types and the result's come before the values."""

    apply: Callable[..., Value]
    typed: bool


_PLAIN = functions_choice.PLAIN | functions_number.PLAIN | functions_text.PLAIN | functions_time.PLAIN
_TYPED = functions_choice.TYPED | functions_number.TYPED | {"xxhash64": xxhash64}

IMPLEMENTATIONS: dict[str, Implementation] = {
    **{name: Implementation(apply, typed=False) for name, apply in _PLAIN.items()},
    **{name: Implementation(apply, typed=True) for name, apply in _TYPED.items()},
}
"""All functions but those that the evaluator does itself, and `named_struct`, whose values come in field order."""
