"""What is wrong with given data, by the path of keys that leads there; in words rather than in a validator's codes."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from tradewind.errors import InputError, TradewindError, closest

Path = tuple[str | int, ...]
_POSITION = re.compile(r" ?\(line (\d+), column (\d+)\)")
_NAME_RULE = "a letter or '_' first, then letters, digits, '_', '-' and '.', at most 63 in all"
_MOST = 500
"""So many complaints are put in words: nobody reads on, and guessing what was meant takes time."""
_ITEMS = {"flow": "box", "in": "input", "inputs": "input"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong at a path; `line` and `column`, if known, count from 1 inside the text that stands there."""

    path: Path
    what: str
    hint: str | None = None
    line: int | None = None
    column: int | None = None
    at_key: bool = False


class Misplaced(Exception):  # noqa: N818 - never leaves this package
    """An input error together with the keys, below the thing being built, that it is about."""

    def __init__(self, path: Path, error: InputError) -> None:
        super().__init__(path, error)
        self.path = path
        self.error = error


def finding(path: Path, error: TradewindError, text: str | None = None) -> Finding:
    """An error as a finding; in `text` the place is the one the error gives, or where the name it quotes stands."""
    what, position = error.what, _POSITION.search(error.what)
    if position and text is not None:
        line, column = int(position.group(1)), int(position.group(2))
        return Finding(path, _POSITION.sub("", what), error.hint, line, column)
    found = _quoted_in(text, what) if text else None
    return Finding(path, what, error.hint, *(found or (None, None)))


def _quoted_in(text: str, what: str) -> tuple[int, int] | None:
    """Where the first name that the sentence puts in quotes stands in the text."""
    for quoted in re.findall(r"'([^']{1,80})'", what):
        found = re.search(rf"(?<!\w){re.escape(quoted)}(?!\w)", text, re.IGNORECASE)
        if found:
            before = text[: found.start()]
            return before.count("\n") + 1, found.start() - before.rfind("\n")
    return None


def from_validation(
    error: ValidationError, model: type[BaseModel], base: Path = (), unsure: Callable[[Path], bool] | None = None
) -> list[Finding]:
    """All of a validator's complaints, each with its path and a hint; none about values that one is `unsure` of."""
    meant: set[Path] = set()
    told: list[Mapping[str, Any]] = []
    for one in error.errors(include_url=False)[:_MOST]:
        loc: Path = tuple(one["loc"])
        if one["type"] == "extra_forbidden":
            right = (*loc[:-1], _meant(model, loc) or "")
            if _instead(model, loc) is None or right not in meant:
                told.append(one)
            meant.add(right)
        elif one["type"] == "missing" or unsure is None or not unsure(loc):
            told.append(one)
    # A key that is misspelt is also missing; to say so once is enough.
    told = [one for one in told if one["type"] != "missing" or tuple(one["loc"]) not in meant]
    return [_translated(one, model, base) for one in told]


def _meant(model: type[BaseModel], loc: Path) -> str | None:
    instead = _instead(model, loc)
    return instead[0] if instead else closest(str(loc[-1]), keys_at(model, loc[:-1]))


def _instead(model: type[BaseModel], loc: Path) -> tuple[str, str] | None:
    """What is written in the place of a key that people expect: the key that is meant, and how it is used."""
    known: Mapping[str, tuple[str, str]] = getattr(_type_at(model, loc[:-1]), "instead", {})
    return known.get(str(loc[-1]))


def meant_by(keys: Iterable[str], known: Sequence[str]) -> set[str]:
    """The known keys that the unknown ones among some keys were probably meant to be."""
    strange = [key for key in keys if key not in known]
    return {guess for key in strange[:50] if (guess := closest(key, known)) is not None}


def _translated(one: Mapping[str, Any], model: type[BaseModel], base: Path) -> Finding:
    loc: Path = tuple(one["loc"])
    at_key = loc[-1:] == ("[key]",)
    path = (*base, *(loc[:-1] if at_key else loc))
    cause = one.get("ctx", {}).get("error")
    if isinstance(cause, InputError):
        return Finding(path, cause.what, cause.hint)
    kind = one["type"]
    if kind == "missing":
        if loc and isinstance(loc[-1], int):
            return Finding(path[:-1], "an item is missing.")
        return Finding(path[:-1], f"{str(loc[-1])!r} is missing.", at_key=True)
    if kind == "extra_forbidden":
        known, guess, instead = keys_at(model, loc[:-1]), _meant(model, loc), _instead(model, loc)
        hint = (f"did you mean {guess!r}? " if guess else "") + f"The keys here are {', '.join(known)}."
        hint = instead[1] if instead else hint
        return Finding(path, f"unknown key {shown(loc[-1])}.", hint, at_key=True)
    if one["input"] is None and loc and isinstance(loc[-1], str) and not at_key:
        hint = f"write {loc[-1]}: {{}}." if _needs_nothing(_type_at(model, loc)) else "write a value behind it."
        return Finding(path, f"{loc[-1]!r} is empty.", hint)
    what, advice = _sentence(kind, one)
    if kind.startswith("model_"):
        advice = _as_mapping(loc, one["input"], getattr(_type_at(model, loc), "main", None))
    return Finding(path, what, advice, at_key=at_key)


def _needs_nothing(kind: Any) -> bool:
    is_model = isinstance(kind, type) and issubclass(kind, BaseModel)
    return is_model and not any(field.is_required() for field in kind.model_fields.values())


def _as_mapping(loc: Path, given: Any, main: str | None) -> str | None:
    """How a bare text is written as the mapping that it stands for."""
    if main is None or not loc or not isinstance(given, str) or not 0 < len(given) <= 60 or "\n" in given:
        return None
    return f"{loc[-1]}: {{{main}: {given}}}."


def _sentence(kind: str, one: Mapping[str, Any]) -> tuple[str, str | None]:
    given, context = shown(one["input"]), one.get("ctx", {})
    if kind == "string_pattern_mismatch":
        without = "." not in str(context.get("pattern"))
        rule = _NAME_RULE.replace(", '-' and '.',", " and '-',") if without else _NAME_RULE
        return f"{given} cannot be a name.", f"{rule}."
    if kind == "too_short" and context.get("min_length") == 1:
        return f"at least one {_ITEMS.get(str(one['loc'][-1]), 'item')} is wanted here.", None
    if kind == "string_too_short":
        return f"{_key(one['loc'])}is empty.", "write its text behind it, or below a '|' and indented."
    if kind == "literal_error":
        wanted = str(context.get("expected", ""))
        guess = closest(str(one["input"]), re.findall(r"'([^']*)'", wanted))
        return f"{given} is not one of {wanted}.", f"did you mean {guess!r}?" if guess else None
    return _unwanted(kind, one, given, context)


def _key(loc: Path) -> str:
    return f"{loc[-1]!r} " if loc and isinstance(loc[-1], str) else "the text "


def _unwanted(kind: str, one: Mapping[str, Any], given: str, context: Mapping[str, Any]) -> tuple[str, str | None]:
    wanted = _WANTED.get(kind, "")
    if kind.startswith(("greater_than", "less_than")):
        bound = next(iter(context.values()), "")
        word = "above" if kind == "greater_than" else "below" if kind == "less_than" else "of at least"
        word = "of at most" if kind == "less_than_equal" else word
        wanted = f"a number {word} {bound:g}" if isinstance(bound, int | float) else f"a number {word} {bound}"
    if kind in ("too_short", "too_long"):
        wanted = f"{context.get('min_length') or context.get('max_length')} items"
    if not wanted:
        return f"{one['msg'].rstrip('.')}: {given}.", None
    hint = "write true or false." if kind == "bool_type" else None
    return f"{wanted} is wanted here, not {given}.", hint


_MAPPING = "a mapping of keys to values"
_WANTED = {
    "string_type": "a text", "int_type": "a whole number", "int_from_float": "a whole number",
    "float_type": "a number", "finite_number": "a finite number", "bool_type": "true or false",
    "dict_type": _MAPPING, "model_type": _MAPPING, "model_attributes_type": _MAPPING,
    "tuple_type": "a list", "list_type": "a list",
    "string_too_long": "a shorter text",
}  # fmt: skip


def shown(value: Any) -> str:
    """A value as a sentence about it shows it: short, and its kind rather than its content when it is large."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def likely(name: str, known: Sequence[str]) -> list[str]:
    """The names worth comparing with a wrong one: all, or when there are very many those that begin alike."""
    if len(known) <= 300:
        return list(known)
    return [one for one in known if one[:1].lower() == name[:1].lower()][:300] or list(known[:12])


def keys_at(model: type[BaseModel], loc: Path) -> list[str]:
    """The keys that may stand in the mapping at a place below a model."""
    found = _type_at(model, loc)
    if isinstance(found, type) and issubclass(found, BaseModel):
        return [field.alias or name for name, field in found.model_fields.items()]
    return []


def _type_at(model: type[BaseModel], loc: Path) -> Any:
    found: Any = model
    for part in loc:
        found = _below(found, part)
    return found


def _below(kind: Any, part: str | int) -> Any:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        fields = {field.alias or name: field.annotation for name, field in kind.model_fields.items()}
        return _plain(fields.get(str(part)))
    arguments = [one for one in get_args(kind) if one is not Ellipsis]
    return _plain(arguments[-1]) if arguments else None


def _plain(kind: Any) -> Any:
    """A type without its annotations and without None."""
    if get_origin(kind) is Annotated:
        return _plain(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        return _plain(next(one for one in get_args(kind) if one is not type(None)))
    return kind
