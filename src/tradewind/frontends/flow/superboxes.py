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
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from tradewind.errors import GraphError, InputError, unknown
from tradewind.frontends.flow.box import ManyIn
from tradewind.frontends.flow.fields import BoxName, Names, Strict

Value = str | int | float | bool
_PARAMETER = re.compile(r"\$\{([^{}]{0,80})\}")
_NOT_SUBSTITUTED = ("box", "in", "at", "signal", "stream", "body", "starts")
_LONGEST = 20_000


def _value(value: Any) -> Any:
    if value is not None and not isinstance(value, str | int | float):
        raise InputError("a parameter's value is a text, a number, true or false.")
    return value


def _parameters(value: Any) -> Any:
    return dict.fromkeys(value) if isinstance(value, list | tuple) and all(isinstance(v, str) for v in value) else value


ParameterValue = Annotated[Any, BeforeValidator(_value)]


class SuperboxKeys(Strict):
    """The declaration of a superbox."""

    inputs: Names = ("input",)
    parameters: Annotated[dict[BoxName, ParameterValue], BeforeValidator(_parameters)] = Field(default_factory=dict)
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
        """A value for every parameter, or an error about one that is missing or unknown."""
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


def substitute(value: Any, arguments: Mapping[str, Value]) -> Any:
    """The value with `${name}` replaced in its texts; a text that is nothing else becomes the argument itself."""
    if isinstance(value, dict):
        return {k: inner if k in _NOT_SUBSTITUTED else substitute(inner, arguments) for k, inner in value.items()}
    if isinstance(value, list | tuple):
        return [substitute(inner, arguments) for inner in value]
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
