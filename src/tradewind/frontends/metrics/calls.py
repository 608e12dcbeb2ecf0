"""Texts of metrics as calls and words, whatever they mean: tokens, and a reader that goes down into the brackets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tradewind.errors import InputError, unknown
from tradewind.frontends.metrics.tree import Direction, Fold, Relation

OPERATORS, NODES, QUERIES = "OPERATORS", "NODES", "QUERIES"
UP, DOWN = "UP OPERATORS", "DOWN OPERATORS"
COLLECTIONS = (NODES, QUERIES, OPERATORS, UP, DOWN)
_DEEPEST = 3
_END = "the end"


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a number or a sign, and where it begins."""

    text: str
    position: int


@dataclass(frozen=True, slots=True)
class Call:
    """A call before it is known what it means: its arguments, and the collection that it folds over, if any."""

    fold: Fold
    arguments: tuple[Call | Token, ...]
    over: str | None
    position: int


def place_of(text: str, position: int) -> str:
    return f"{text!r}, character {position + 1}"


def _tokens(text: str) -> Iterator[Token]:
    """Words and numbers, brackets and commas, <= and >=."""
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        start = at
        if text[at].isalpha() or text[at] == "_":
            while at < len(text) and (text[at].isalnum() or text[at] == "_"):
                at += 1
        elif text[at].isdigit() or text[at] in "+-.":
            # An exponent's sign is part of its number.
            while at < len(text) and (text[at].isalnum() or text[at] in "+-."):
                at += 1
        else:
            at += 2 if text[at : at + 2] in ("<=", ">=") else 1
            if text[start:at] not in ("(", ")", ",", "<=", ">="):
                raise InputError(
                    f"{text[start:at]!r} does not belong in a metric.",
                    where=place_of(text, start),
                    hint="there are words, numbers, brackets, commas, <= and >=.",
                    candidates=("(", ")", ",", "<=", ">="),
                )
        yield Token(text[start:at], start)


class Reader:
    """Recursive descent over the tokens of one text, down to calls and words."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = [*_tokens(text), Token(_END, len(text))]
        self._next = 0

    @property
    def _ahead(self) -> Token:
        return self._tokens[self._next]

    def _wrong(self, expected: str, candidates: Sequence[str] = (), hint: str | None = None) -> InputError:
        found = self._ahead
        shown = _END if found.text == _END else repr(found.text)
        place = place_of(self.text, found.position)
        return InputError(f"{expected} is expected, not {shown}.", where=place, hint=hint, candidates=candidates)

    def take(self, expected: str) -> Token:
        """The next token, whatever it is."""
        found = self._ahead
        if found.text == _END:
            raise self._wrong(expected)
        self._next += 1
        return found

    def _symbol(self, symbol: str) -> None:
        if self._ahead.text != symbol:
            raise self._wrong(repr(symbol), (symbol,))
        self._next += 1

    def finish(self) -> None:
        """Nothing may follow."""
        if self._ahead.text in ("<=", ">="):
            raise self._wrong(_END, hint="a cost has no bound; bounds are listed under `where`.")
        if self._ahead.text != _END:
            raise self._wrong(_END)

    def relation(self) -> Relation:
        """<= or >=."""
        if self._ahead.text not in ("<=", ">="):
            raise self._wrong("'<=' or '>='", ("<=", ">="))
        return Relation(self.take("'<=' or '>='").text)

    def argument(self, depth: int = 1) -> Call | Token:
        """A call, or a word."""
        follows = self._tokens[self._next + 1].text if self._ahead.text != _END else _END
        if follows == "(":
            return self.call(depth)
        if not is_word(self._ahead):
            raise self._wrong("a function or a statistic", tuple(Fold))
        return self.take("a function or a statistic")

    def call(self, depth: int = 1) -> Call:
        """f(argument, …) with a collection as its last argument, or without one."""
        folds = ", ".join(Fold)
        if not is_word(self._ahead):
            raise self._wrong("a function", tuple(Fold), hint=f"a cost begins with one of {folds}.")
        name = self.take("a function")
        if name.text.upper() not in Fold.__members__:
            raise unknown("function", name.text, Fold.__members__, place_of(self.text, name.position))
        if depth > _DEEPEST:
            place = place_of(self.text, name.position)
            raise InputError(
                "functions are nested too deeply.", where=place, hint=f"at most {_DEEPEST} fit the grammar."
            )
        self._symbol("(")
        arguments = [self.argument(depth + 1)]
        over = None
        while self._ahead.text == "," and over is None:
            self._symbol(",")
            over = self._collection()
            if over is None:
                arguments.append(self.argument(depth + 1))
        self._symbol(")")
        return Call(Fold(name.text.upper()), tuple(arguments), over, name.position)

    def _collection(self) -> str | None:
        word = self._ahead.text.upper()
        if word in (NODES, QUERIES, OPERATORS):
            self._next += 1
            return word
        if word in tuple(Direction):
            self._next += 1
            if self._ahead.text.upper() != OPERATORS:
                raise self._wrong(repr(OPERATORS), (OPERATORS,), hint=f"write {word} {OPERATORS}.")
            self._next += 1
            return f"{word} {OPERATORS}"
        return None


def is_word(token: Token) -> bool:
    return token.text != _END and (token.text[0].isalpha() or token.text[0] == "_")
