"""XML: each element of one name is a row; its attributes and the elements in it are columns.

An array is an element that is repeated, a struct one that has elements of its own. A document is read from its
beginning to where it stops being well-formed; the rest is one bad record. Entities are
never looked up.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.parsers import expat

from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DataType
from tradewind.spark.sources.nested import FaultError, Tree
from tradewind.spark.sources.parsing import Found, Reading, Rows, letters_of
from tradewind.spark.sources.records import SHOWN, UNREADABLE, Letter, Part, pieces, unreadable

_PIECE = 1 << 16
_MANY = 10_000


class _Element:
    """An element: its attributes, what is in it, and the text between."""

    __slots__ = ("attributes", "inner", "text")

    def __init__(self, attributes: dict[str, str]) -> None:
        self.attributes = attributes
        self.inner: dict[str, list[_Element]] | None = None
        self.text = ""


def parse(part: Part, reading: Reading) -> Iterator[Found]:
    """The rows of a file."""
    document = _Document(reading)
    reason = None
    empty = True
    try:
        for piece in pieces(part, _PIECE):
            document.take(piece)
            empty = False
            if len(document.objects) >= _MANY:
                yield document.found()
        if not empty:
            document.end()
    except expat.ExpatError as error:
        reason = f"broken XML: {error}; the rest of the file was not read"
    except FaultError as error:
        reason = f"{error}; the rest of the file was not read"
    except UNREADABLE as error:
        reason = unreadable(error)
    except (LookupError, ValueError) as error:  # it names an encoding that there is not, or one that expat cannot read
        reason = f"broken XML: {error}; the rest of the file was not read"
    found = document.found()
    if reason is not None:
        found = found._replace(letters=[*found.letters, Letter(document.number, reason, document.unread())])
    yield found


class _Document:
    """The rows of a document that comes piece by piece. Only what belongs to a row that is open is held."""

    def __init__(self, reading: Reading) -> None:
        self.objects: list[dict[str, Tree]] = []
        self.number = 0
        """Of the next row."""
        self._reading = reading
        self._tag = reading.options["rowTag"]
        self._longest = reading.options["max_record_bytes"]
        self._rows = Rows(reading)
        self._records: list[bytes] = []
        self._path: list[_Element] = []
        self._begun = 0
        self._held = b""
        self._held_from = 0
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = _refuse

    def take(self, piece: bytes) -> None:
        """One more piece of the document."""
        self._held += piece
        self._parser.Parse(piece)
        reached = self._held_from + len(self._held)
        kept = self._begun if self._path else reached
        if reached - kept > self._longest:
            raise FaultError(f"the record is longer than {self._longest} bytes")
        self._held, self._held_from = self._held[kept - self._held_from :], kept

    def end(self) -> None:
        """The document must be complete."""
        self._parser.Parse(b"", True)

    def found(self) -> Found:
        """The rows since the last time."""
        table = self._rows.of_trees(self.objects)
        numbers = range(self.number - len(self.objects), self.number)
        found = Found(table, letters_of(self._rows.faults, self._records, numbers), len(self.objects))
        self.objects, self._records, self._rows = [], [], Rows(self._reading)
        return found

    def unread(self) -> bytes:
        """The beginning of what could not be read."""
        start = self._begun if self._path else self._parser.ErrorByteIndex
        return self._held[max(start - self._held_from, 0) :][:SHOWN]

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        element = _Element(attributes)
        if self._path:
            outer = self._path[-1]
            if outer.inner is None:
                outer.inner = {}
            outer.inner.setdefault(name, []).append(element)
        elif name == self._tag:
            self._begun = self._parser.CurrentByteIndex
        else:
            return
        self._path.append(element)

    def _end(self, _: str) -> None:
        if not self._path:
            return
        element = self._path.pop()
        if self._path:
            return
        record = self._held[self._begun - self._held_from : self._parser.CurrentByteIndex - self._held_from]
        self._records.append(record[:SHOWN])
        self.number += 1
        try:
            if len(record) > self._longest:
                raise FaultError(f"the record is longer than {self._longest} bytes")
            self.objects.append(_fields(element, self._reading.schema))
        except FaultError as error:
            self._rows.faults[len(self.objects)] = str(error)
            self.objects.append({})

    def _text(self, text: str) -> None:
        if self._path:
            self._path[-1].text += text


def _refuse(*_: object) -> None:
    raise FaultError("a DOCTYPE is not allowed")


def _fields(element: _Element, schema: Schema) -> dict[str, Tree]:
    return {name: _tree(element, name, type_) for name, type_ in schema.columns}


def _tree(outer: _Element, name: str, type_: DataType) -> Tree:
    """The part of an element that a column or field names, as far as its type goes into it."""
    found = (outer.inner or {}).get(name, [])
    if type_.name == "ARRAY":
        return [_content(one, name, type_.element) for one in found] if found else None
    if len(found) > 1:
        raise FaultError(f"column {name}: {len(found)} elements, and it is no ARRAY")
    if not found:
        return _blank(outer.attributes.get(name), type_)
    return _content(found[0], name, type_)


def _content(element: _Element, name: str, type_: DataType) -> Tree:
    if type_.name == "STRUCT":
        return {inner: _tree(element, inner, part) for inner, part in type_.fields}
    if element.inner:
        raise FaultError(f"column {name}: elements where a {type_} is declared")
    return _blank(element.text, type_)


def _blank(text: str | None, type_: DataType) -> str | None:
    """A text; of other types than STRING an empty one is NULL."""
    return text if type_.name == "STRING" or (text is not None and text.strip()) else None
