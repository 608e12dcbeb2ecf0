"""The kinds of values that keys in a file may have: names, lengths of time, texts of expressions."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from tradewind.algebra.durations import parse_duration
from tradewind.errors import InputError

NAME = r"^[A-Za-z_][A-Za-z0-9_.-]{0,62}$"
BOX_NAME = r"^[A-Za-z_][A-Za-z0-9_-]{0,62}$"
"""As other names, without the dot: `box.route` names a way out of a split."""
_LONGEST = 36_525 * 86_400_000_000
_DURATION_HINT = "write a number and a unit: '10 seconds', '5 minutes', '250 ms' or '5s'."


class Strict(BaseModel):
    """A mapping in a file: only known keys, and values of exactly the declared type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


def _one_or_many(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _as_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return repr(value) if isinstance(value, int | float) else value


def read_duration(value: Any) -> int:
    """Microseconds of a length of time; a bare number is refused, as its unit would be a guess."""
    if isinstance(value, bool) or not isinstance(value, str):
        raise InputError("a length of time is wanted here.", hint=_DURATION_HINT)
    micros = parse_duration(value)
    if abs(micros) > _LONGEST:
        raise InputError(f"{value[:60]!r} is longer than a hundred years.")
    return micros


def _scalar(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError("a number or a length of time is wanted here.")
    return value


def _not_negative(micros: int) -> int:
    if micros < 0:
        raise InputError("a length of time cannot be negative here.")
    return micros


def _positive(micros: int) -> int:
    if micros <= 0:
        raise InputError("a length of time must be longer than nothing here.")
    return micros


Name = Annotated[str, StringConstraints(pattern=NAME)]
BoxName = Annotated[str, StringConstraints(pattern=BOX_NAME)]
Names = Annotated[tuple[str, ...], Field(strict=False), BeforeValidator(_one_or_many)]
"""One name or a list of names."""
Text = Annotated[str, BeforeValidator(_as_text)]
"""An expression; plain numbers and true or false are expressions too."""
Duration = Annotated[int, BeforeValidator(read_duration), AfterValidator(_not_negative)]
"""A length of time, as microseconds."""
Distance = Annotated[Any, BeforeValidator(_scalar)]
"""A number, or a length of time that is not read yet: which one fits depends on the column that it is measured on."""
PositiveDuration = Annotated[int, BeforeValidator(read_duration), AfterValidator(_positive)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
PositiveAmount = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
