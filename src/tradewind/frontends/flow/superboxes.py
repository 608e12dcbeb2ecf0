"""Superboxes: a named flow with parameters, declared once under `boxes:` and used like any other box.

    boxes:
      change:                          # used as {box: change, in: water, with: {attribute: ph}}
        inputs: [measured]             # how the body calls what `in:` lists; [input] where not said
        parameters:
          attribute: null              # null: has to be given
          over: 1 hour                 # the value it has when none is given
        flow:
          moved:
            box: aggregate
            in: measured
            window: {size: "${over}", step: 1 minute}
            functions: {change: "delta(${attribute})"}
        output: moved                  # the last box where not said

`${name}` stands for the parameter's value inside expressions and other values, never in keys or in the names of boxes
that are read. The text that comes out is checked like any other, so a value can change what a box computes but not what
boxes may do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from tradewind.errors import GraphError, InputError, unknown
from tradewind.frontends.flow.box import ManyIn, at
from tradewind.frontends.flow.fields import Names, Strict, keyed
from tradewind.frontends.flow.findings import Misplaced, Path

Value = str | int | float | bool
_PARAMETER = re.compile(r"\$\{([^{}]{0,80})\}")
_NOT_SUBSTITUTED = ("box", "in", "at", "signal", "stream", "body", "starts")
_LONGEST = 20_000


def _value(value: Any) -> Any:
    if value is not None and not isinstance(value, str | int | float):
        raise InputError("a parameter's value is a text, a number, true or false.")
    return value


def _parameters(value: Any) -> Any:
    return keyed(value, "a parameter's name", once=True)


ParameterValue = Annotated[Any, BeforeValidator(_value)]


class SuperboxKeys(Strict):
    """The declaration of a superbox."""

    inputs: Names = ("input",)
    parameters: Annotated[dict[str, ParameterValue], BeforeValidator(_parameters)] = Field(default_factory=dict)
    flow: dict[str, Any] = Field(min_length=1)
    output: str | None = None

    @property
    def result(self) -> str:
        """The box of the body whose rows come out."""
        return self.output if self.output is not None else next(reversed(self.flow))


class SuperboxUse(ManyIn):
    """A use of a declared superbox: what its inputs are, and the values of its parameters."""

    values: dict[str, ParameterValue] = Field(default_factory=dict, alias="with")
    reads: ClassVar[tuple[str, ...]] = ("inputs",)

    def arguments(self, declared: SuperboxKeys) -> dict[str, Value]:
        """A value for every parameter, or an error about what is missing or unknown."""
        if len(self.inputs) != len(declared.inputs):
            what = f"{self.box!r} reads {len(declared.inputs)} inputs, not {len(self.inputs)}."
            raise Misplaced(("in",), GraphError(what, hint=f"in: [{', '.join(declared.inputs)}]."))
        with at("with"):
            return self._values(declared)

    def _values(self, declared: SuperboxKeys) -> dict[str, Value]:
        for name in self.values:
            if name not in declared.parameters:
                raise unknown("parameter", name, declared.parameters)
        found = {**declared.parameters, **self.values}
        missing = [name for name, value in found.items() if value is None]
        if missing:
            raise GraphError(
                f"the parameter {missing[0]!r} of {self.box!r} has no value.", hint=f"with: {{{missing[0]}: …}}."
            )
        return found


def filled(box: Mapping[str, Any], arguments: Mapping[str, Value]) -> dict[str, Any]:
    """A box with `${name}` replaced in its texts, though never in what says which box it is and what it reads."""
    return {key: value if key in _NOT_SUBSTITUTED else _substitute(value, arguments) for key, value in box.items()}


def asked_in(box: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """The parameters that `filled` would replace in a box, each with the path where it stands."""
    waiting: list[tuple[Path, Any]] = [((key,), value) for key, value in box.items() if key not in _NOT_SUBSTITUTED]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting.extend(((*path, key), inner) for key, inner in value.items())
        elif isinstance(value, list | tuple):
            waiting.extend(((*path, number), inner) for number, inner in enumerate(value))
        elif isinstance(value, str):
            yield from ((path, name) for name in _PARAMETER.findall(value))


def _substitute(value: Any, arguments: Mapping[str, Value]) -> Any:
    """The value with the parameters in its texts replaced; a text that is nothing else becomes the argument itself."""
    if isinstance(value, dict):
        return {key: _substitute(inner, arguments) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_substitute(inner, arguments) for inner in value]
    if not isinstance(value, str) or "${" not in value:
        return value
    whole = _PARAMETER.fullmatch(value)
    if whole:
        return _argument(whole.group(1), arguments)
    text = _PARAMETER.sub(lambda found: str(_argument(found.group(1), arguments)), value)
    if len(text) > _LONGEST:
        raise GraphError(f"the text is {len(text)} characters long once its parameters are filled in.")
    return text


def _argument(name: str, arguments: Mapping[str, Value]) -> Value:
    if name not in arguments:
        raise unknown("parameter", name, arguments)
    return arguments[name]
