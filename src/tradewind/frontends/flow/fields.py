"""The kinds of values that keys in a file may have: names, lengths of time, texts of expressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
)

from tradewind.algebra.durations import parse_duration
from tradewind.errors import InputError
from tradewind.frontends.flow.findings import shown

NAME = r"^[A-Za-z_][A-Za-z0-9_.-]{0,62}$"
BOX_NAME = r"^[A-Za-z_][A-Za-z0-9_-]{0,62}$"
"""As other names, without the dot: `box.route` names a way out of a split."""
_LONGEST = 36_525 * 86_400_000_000
_DURATION_HINT = "write a number and a unit: '10 seconds', '5 minutes', '250 ms' or '5s'."


class Strict(BaseModel):
    """A mapping in a file: only known keys, and values of exactly the declared type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)
    main: ClassVar[str | None] = None
    """The key that is meant where a bare text stands in the place of the mapping."""
    instead: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """Keys that people expect here: the one that is meant, and how it is written."""

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_empty(cls, value: Any, info: ValidationInfo) -> Any:
        if value is None and info.field_name is not None:
            field = cls.model_fields[info.field_name]
            hint = "write a value behind it" + ("." if field.is_required() else ", or leave the key out.")
            raise InputError(f"{field.alias or info.field_name!r} is empty.", hint=hint)
        return value


def _one_or_many(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def keyed(value: Any, what: str, *, once: bool = False) -> Any:
    """A list of names as a mapping with nothing behind each; a mapping as it is."""
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, list | tuple):
        raise InputError(f"a list or a mapping is wanted here, not {shown(value)}.", hint="[NAME, NAME].")
    found: dict[str, None] = {}
    for name in value:
        if not isinstance(name, str):
            raise InputError(f"{what} is a text, not {shown(name)}.")
        if once and name in found:
            raise InputError(f"{name!r} stands here twice.", hint="keep one of them.")
        found[name] = None
    return found


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
