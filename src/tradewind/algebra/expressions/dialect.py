"""Spark's SQL as our parser reads it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from sqlglot.dialects.dialect import DialectType
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

_FRAMES = 8_000
"""What reading a text of the greatest depth may need of Python's stack; by default Python stops at 1,000."""


class Dialect(Spark):
    """Spark's dialect, in which `window` is a function's name and every function stays as it was written."""

    def tokenize(self, sql: str, dialect: DialectType = None) -> list[Token]:
        """Tokens, in which numbers keep their suffix: sqlglot takes `1.5BD` for `1.5::DECIMAL`, another number."""
        tokens: list[Token] = []
        for token in super().tokenize(sql, dialect):
            before = tokens[-1] if tokens else None
            if before is None or before.token_type != TokenType.NUMBER or before.start != token.start:
                tokens.append(token)
            elif token.token_type != TokenType.DCOLON:
                before.text += token.text
        return tokens

    class Tokenizer(Spark.Tokenizer):
        # Since version 4, a doubled quote in a text is a quote.
        STRING_ESCAPES: ClassVar = [*Spark.Tokenizer.STRING_ESCAPES, "'", '"']
        KEYWORDS: ClassVar = {word: kind for word, kind in Spark.Tokenizer.KEYWORDS.items() if kind != TokenType.WINDOW}

    class Parser(SparkParser):
        FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = {
            name: parser for name, parser in SparkParser.FUNCTION_PARSERS.items() if name in ("CAST", "TRY_CAST")
        }
        NO_PAREN_FUNCTION_PARSERS: ClassVar = {
            name: parser for name, parser in SparkParser.NO_PAREN_FUNCTION_PARSERS.items() if name == "CASE"
        }
        NO_PAREN_FUNCTIONS: ClassVar = {}

        def _warn_unsupported(self) -> None:
            """Commands are refused with an error; sqlglot's own warning about them would only repeat the text."""


KEYWORDS = frozenset(word.lower() for word in Dialect.Tokenizer.KEYWORDS if re.fullmatch("[A-Za-z_]+", word))
"""Words that mean something to the parser: as names, they stand in back-quotes."""


@contextmanager
def deep_stack() -> Iterator[None]:
    """Room for nested texts on Python's stack, for as long as one is read."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
