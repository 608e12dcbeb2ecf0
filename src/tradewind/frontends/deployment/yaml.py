"""Reads YAML into plain data with the line and column of every key and value, under bounds that no text can evade.

It is the JSON-like part of YAML 1.2: mappings, lists, texts, numbers, true, false, null. `on`, `yes` and `12:30` are
texts. Anchors, aliases, merge keys and tags are refused: they are what makes YAML dangerous (a few lines that expand to
gigabytes, objects of the program's own classes), and a name under `boxes:` does what an anchor would. A key is the text
that was written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from tradewind.frontends.deployment.syntax import complaint_of
from tradewind.frontends.flow.findings import Path

MAX_BYTES = 5_000_000
MAX_NODES = 50_000
MAX_DEPTH = 40
MAX_DIGITS = 30
MAX_COMPLAINTS = 100
MAX_ANCHORS = 3
"""So many anchors and aliases are complained about; where there is one, there are hundreds."""
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,4})?")
_SPECIAL: dict[str, float] = {".inf": float("inf"), "+.inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan")}
_WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "true": True, "false": False}
_QUOTED = ("'", '"', "|", ">")
_PLAIN_TAGS = (None, "!", "tag:yaml.org,2002:str")
# The C parser is some twenty times as fast; a build of PyYAML without it is still right.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a key (or item) and its value stand, from line 1 and column 1.

    In a text below a '|', line n stands n lines under the value's place, `indent` columns in; a text on one line begins
    `indent` columns behind it. In other texts, lines were joined and only the beginning can be told (`indent` is None).
    """

    line: int
    column: int
    value_line: int
    value_column: int
    block: bool = False
    indent: int | None = None

    def inside(self, line: int, column: int) -> tuple[int, int]:
        """Where in the file a line and column of the value's text are."""
        if self.indent is None:
            return self.value_line, self.value_column
        if self.block:
            return self.value_line + line, self.indent + column
        return self.value_line, self.value_column + self.indent + column - 1


@dataclass(frozen=True, slots=True)
class Complaint:
    """Something wrong with the text itself."""

    line: int
    column: int
    what: str
    hint: str | None = None


@dataclass(slots=True)
class Document:
    """Plain data, where each of its parts stands, and what is wrong with its text."""

    data: Any = None
    places: dict[Path, Place] = field(default_factory=dict)
    complaints: list[Complaint] = field(default_factory=list)
    refused: set[Path] = field(default_factory=set)
    """Where something was refused, so that the data does not hold what was meant."""


class _TooMuch(Exception):  # noqa: N818 - never leaves this module
    """The text goes beyond a bound; nothing more is read."""


def read_yaml(text: str) -> Document:
    """The data of a text, and all that is wrong with it; after an error of syntax there is no data."""
    document = Document()
    if len(text) > MAX_BYTES:
        document.complaints.append(Complaint(1, 1, TOO_LARGE, "split it into several deployments."))
        return document
    found = _CONTROL.search(text)
    if found:
        line, column = _position(text, found.start())
        what = f"the character U+{ord(found.group()):04X} may not stand in a file of text."
        document.complaints.append(Complaint(line, column, what, "is this a YAML file, in UTF-8?"))
        return document
    reader = _Reader(text, document)
    try:
        reader.read()
    except _TooMuch as reason:
        reader.complain(reader.event, str(reason))
        document.data = None
    except yaml.MarkedYAMLError as error:
        document.complaints.append(Complaint(*complaint_of(error, text)))
        document.data = None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        document.complaints.append(Complaint(1, 1, f"not YAML: {str(error).splitlines()[0][:200]}."))
        document.data = None
    return document


TOO_LARGE = f"the file is larger than {MAX_BYTES // 1_000_000} MB."
"""How much larger is not known: no more than that is read."""


def _position(text: str, offset: int) -> tuple[int, int]:
    before = text[:offset]
    return before.count("\n") + 1, offset - before.rfind("\n")


class _Reader:
    """Walks the parser's events once; what it keeps is bounded in depth and number."""

    def __init__(self, text: str, document: Document) -> None:
        self.lines = text.split("\n")
        self.document = document
        self.loader: Any = _LOADER(text)
        self.event: Any = None
        self.nodes = 0
        self.anchors = 0

    def read(self) -> None:
        self._next()  # the stream's start
        if isinstance(self._next(), yaml.StreamEndEvent):
            hint = "a deployment needs at least `sites:` and `streams:`."
            self.document.complaints.append(Complaint(1, 1, "the file is empty.", hint))
            return
        self.document.data = self._value((), self._next(), None, 0)
        self._next()  # the document's end
        if not isinstance(self._next(), yaml.StreamEndEvent):
            self.complain(
                self.event, "a second document begins here.", "a deployment is one document: remove the '---'."
            )

    def complain(self, event: Any, what: str, hint: str | None = None) -> None:
        if len(self.document.complaints) < MAX_COMPLAINTS:
            mark = event.start_mark
            self.document.complaints.append(Complaint(mark.line + 1, mark.column + 1, what, hint))

    def _next(self) -> Any:
        self.event = self.loader.get_event()
        return self.event

    def _value(self, path: Path, event: Any, key: Any, depth: int) -> Any:
        """The value that begins with an event; `key` is the event of the key before it."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise _TooMuch(f"the file holds more than {MAX_NODES} values.")
        if depth > MAX_DEPTH:
            raise _TooMuch(f"values are nested more than {MAX_DEPTH} deep.")
        self.document.places[path] = self._place(event, key)
        if self._refuse_extras(event):
            self.document.refused.add(path)
        if isinstance(event, yaml.AliasEvent):
            return None
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(path, event)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Any] = []
            while not isinstance(item := self._next(), yaml.SequenceEndEvent):
                items.append(self._value((*path, len(items)), item, None, depth + 1))
            return items
        return self._mapping(path, depth)

    def _mapping(self, path: Path, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        lines: dict[str, int] = {}
        while not isinstance(key := self._next(), yaml.MappingEndEvent):
            name = self._key(key, depth)
            if name is None:
                if getattr(key, "value", None) == "<<":
                    self.document.refused.add((*path, "<<"))
                self._value((*path, "?"), self._next(), key, depth + 1)
                continue
            if name in found:
                self.complain(
                    key, f"the key {name[:80]!r} stands here twice; first on line {lines[name]}.", "keep one of them."
                )
                self._value((*path, name, "again"), self._next(), key, depth + 1)
                continue
            lines[name] = key.start_mark.line + 1
            found[name] = self._value((*path, name), self._next(), key, depth + 1)
        return found

    def _key(self, event: Any, depth: int) -> str | None:
        self._refuse_extras(event)
        if isinstance(event, yaml.AliasEvent):
            return None
        if not isinstance(event, yaml.ScalarEvent):
            self.complain(event, "a key is a text, not a list or a mapping.")
            self._value(("?",), event, None, depth + 1)
            return None
        if event.value == "<<" and event.style not in _QUOTED:
            self.complain(
                event,
                "merge keys (<<) are not read here.",
                "write the keys out, or name the shared part under `boxes:`.",
            )
            return None
        if event.value == "" or len(event.value) > 200 or _CONTROL.search(event.value):
            self.complain(event, "a key is a text of 1 to 200 plain characters.")
            return None
        return str(event.value)

    def _refuse_extras(self, event: Any) -> bool:
        tied = isinstance(event, yaml.AliasEvent) or bool(getattr(event, "anchor", None))
        self.anchors += tied
        if tied and self.anchors <= MAX_ANCHORS:
            sign = "*" if isinstance(event, yaml.AliasEvent) else "&"
            self.complain(
                event, f"anchors and aliases are not read here: {sign}{event.anchor[:60]}.", "write the value out."
            )
        tag = getattr(event, "tag", None)
        if tag not in _PLAIN_TAGS:
            self.complain(
                event,
                f"tags are not read here: {tag[:80]}.",
                "remove it; values are texts, numbers, true, false or null.",
            )
        return tied or tag not in _PLAIN_TAGS

    def _scalar(self, path: Path, event: Any) -> Any:
        text: str = event.value
        if _CONTROL.search(text):
            self.complain(event, "the text holds a control character.", "write plain text.")
            self.document.refused.add(path)
            return ""
        if event.style in ("|", ">"):
            return text.rstrip("\n")  # the end of its last line is not part of what is said
        if event.style in _QUOTED or event.tag is not None:
            return text
        if text.lower() in _WORDS:
            return _WORDS[text.lower()]
        if text.lower() in _SPECIAL:
            return _SPECIAL[text.lower()]
        if not _FLOAT.fullmatch(text):
            return text
        if len(text) > MAX_DIGITS:
            self.complain(event, f"the number {text[:20]}... has {len(text)} digits.", f"at most {MAX_DIGITS}.")
            self.document.refused.add(path)
            return 1
        return int(text) if _INT.fullmatch(text) else float(text)

    def _place(self, event: Any, key: Any) -> Place:
        mark = event.start_mark
        first = (key or event).start_mark
        line, column = first.line + 1, first.column + 1
        block = getattr(event, "style", None) == "|"
        return Place(line, column, mark.line + 1, mark.column + 1, block, self._indent(event))

    def _indent(self, event: Any) -> int | None:
        """How far in the lines of a text begin."""
        mark = event.start_mark
        if not isinstance(event, yaml.ScalarEvent):
            return None
        if event.style != "|":
            ended: Any = event.end_mark
            return int(event.style in ("'", '"')) if ended.line == mark.line else None
        for number, line in enumerate(event.value.split("\n"), start=mark.line + 1):
            if line.strip() and number < len(self.lines):
                return self.lines[number].find(line.strip()) - line.find(line.strip())
        return None
