"""From the text of a query to sqlglot's tree. What sqlglot lets pass and SQL does not is refused; slips are named."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from tradewind.algebra.expressions.dialect import Dialect
from tradewind.algebra.expressions.parse import MAX_LENGTH, parse_sql
from tradewind.errors import ExpressionError, ForbiddenError, InputError, QueryError, closest
from tradewind.frontends.sql.refusals import foreign_function, unsupported

_CLAUSES = frozenset(
    (
        TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.QUALIFY, TokenType.ORDER_BY,
        TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.JOIN, TokenType.INNER, TokenType.CROSS,
        TokenType.ON, TokenType.USING, TokenType.R_PAREN, TokenType.SEMICOLON,
    )
)  # fmt: skip
"""Words and signs before which a list or a clause must be complete."""

_CLAUSES_BEFORE = {
    TokenType.LIMIT: (TokenType.NUMBER,), TokenType.LEFT: (TokenType.JOIN, TokenType.OUTER),
    TokenType.RIGHT: (TokenType.JOIN, TokenType.OUTER), TokenType.FULL: (TokenType.JOIN, TokenType.OUTER),
}  # fmt: skip
"""Words that are names too, unless one of these follows."""

_LISTS = frozenset((TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.PARTITION_BY))
_STARTS = _LISTS | {
    TokenType.WHERE, TokenType.HAVING, TokenType.QUALIFY, TokenType.ON, TokenType.USING, TokenType.JOIN,
}  # fmt: skip
"""Words after which something must follow."""

_WORDS = {
    "FROM": "FROM", "WHERE": "WHERE", "GROUP": "GROUP BY", "ORDER": "ORDER BY", "HAVING": "HAVING", "LIMIT": "LIMIT",
    "QUALIFY": "QUALIFY", "JOIN": "JOIN", "UNION": "UNION", "LIKE": "LIKE", "BETWEEN": "BETWEEN", "SELECT": "SELECT",
}  # fmt: skip


def read_statement(text: str, declared: Iterable[str] = ()) -> exp.Expr:
    """The parsed text; `declared` names the user's own aggregates."""
    own = {name.lower() for name in declared}
    try:
        statement = parse_sql(text)
    except ForbiddenError:
        raise
    except ExpressionError as error:
        raise _understood(text, error, own) from None
    found = _incomplete(_tokens(text))
    if found is not None:
        raise found
    _check_names(statement, text)
    _check_calls(statement, own)
    return statement


def _tokens(text: str) -> list[Token]:
    if len(text) > MAX_LENGTH:
        return []
    try:
        return list(Dialect().tokenize(text))
    except SqlglotError:
        return []


def _understood(text: str, error: ExpressionError, own: set[str]) -> InputError:
    """What is wrong with a text that cannot be read, if that can be said better than by sqlglot."""
    if re.search(r"\b(TRANSFORM|MAP|REDUCE)\b.*\bUSING\s*['\"]", text, re.IGNORECASE | re.DOTALL):
        return unsupported("SELECT TRANSFORM (running a program)", "compute with expressions and aggregates.")
    if re.search(r"\bWINDOW\s+\w+\s+AS\s*\(", text, re.IGNORECASE):
        return unsupported("a named WINDOW", "write the window in OVER (…) itself.")
    tokens = _tokens(text)
    incomplete = _incomplete(tokens)
    if incomplete is not None:
        return QueryError(f"cannot read the query: {incomplete.what}", hint=incomplete.hint)
    for token, after in pairwise(tokens):
        if after.token_type == TokenType.PARAMETER and after.start == token.end + 1:
            return _time_travel("@ after a name")
        if after.token_type == TokenType.L_PAREN and token.text.lower() not in own:
            foreign = foreign_function(token.text)
            if foreign is not None:
                return foreign
    meant = _meant(error.what, tokens)
    return error if meant is None else ExpressionError(error.what, hint=f"did you mean {meant}?")


def _incomplete(tokens: Sequence[Token]) -> QueryError | None:
    """An error for a comma before or after which something is missing, or a clause without content."""
    for index, token in enumerate(tokens):
        kind = token.token_type
        if index and tokens[index - 1].token_type in (TokenType.DOT, TokenType.ALIAS):
            continue  # a name, whatever the word
        after = tokens[index + 1] if index + 1 < len(tokens) else None
        ends = after is None or _is_clause(tokens, index + 1)
        at = f"(line {token.line}, column {token.col})"
        if kind == TokenType.COMMA and (ends or (after is not None and after.token_type == TokenType.COMMA)):
            before = f"before {after.text.upper()!r} " if after is not None else "at the end "
            return QueryError(f"a comma {before}{at}.", hint="leave it out, or write what should follow it.")
        if (
            after is not None
            and after.token_type == TokenType.COMMA
            and kind in (_LISTS | {TokenType.SELECT, TokenType.FROM, TokenType.L_PAREN})
        ):
            return QueryError(f"a comma after {token.text.upper()!r} {at}.", hint="leave it out.")
        if kind in _STARTS and ends:
            return QueryError(f"nothing follows {token.text.upper()} {at}.", hint="complete it, or leave it out.")
    return None


def _is_clause(tokens: Sequence[Token], index: int) -> bool:
    kind = tokens[index].token_type
    if kind in _CLAUSES_BEFORE:
        return index + 1 < len(tokens) and tokens[index + 1].token_type in _CLAUSES_BEFORE[kind]
    return kind in _CLAUSES


def _meant(reason: str, tokens: Sequence[Token]) -> str | None:
    """The keyword that was meant by the first word, or by a word near the place where reading stopped."""
    if not tokens:
        return None
    if tokens[0].token_type == TokenType.VAR and (first := closest(tokens[0].text, ("SELECT", "WITH"))) is not None:
        return first
    stopped = re.search(r"\(line (\d+), column (\d+)\)\.$", reason)
    place = (int(stopped[1]), int(stopped[2])) if stopped else None
    index = next((i for i, token in enumerate(tokens) if (token.line, token.col) == place), 0)
    for token in reversed(tokens[max(index - 1, 0) : index + 1]):
        word = closest(token.text, _WORDS) if token.token_type == TokenType.VAR else None
        if word is not None:
            return _WORDS[word]
    return None


def _check_names(statement: exp.Expr, text: str) -> None:
    """Refuse texts, parameters and versions where a name has to stand."""
    for name in statement.find_all(exp.Identifier):
        start = name.meta.get("start")
        if name.args.get("quoted") and isinstance(start, int) and text[start : start + 1] != "`":
            raise _no_name(text[start : name.meta["end"] + 1], name.name)
    for alias in statement.find_all(exp.TableAlias, exp.Alias):
        named = alias.args.get("alias" if isinstance(alias, exp.Alias) else "this")
        if isinstance(named, exp.Parameter) and isinstance(alias, exp.TableAlias):
            raise _time_travel(named.sql()[:40])
        if named is not None and not isinstance(named, exp.Identifier):
            raise _no_name(named.sql(), named.name)
    for join in statement.find_all(exp.Join):
        for one in join.args.get("using") or ():
            if not isinstance(one, exp.Identifier):
                raise _no_name(one.sql(), one.name)
    for column in statement.find_all(exp.Column):
        if column.args.get("table") and not isinstance(column.this, exp.Identifier | exp.Star):
            raise _no_name(column.this.sql(), column.name)


def _time_travel(written: str) -> QueryError:
    return unsupported(f"time travel ({written})", "a connection point keeps a stream's history.")


def _no_name(written: str, name: str) -> QueryError:
    return QueryError(
        f"{written[:40]} stands where a name has to stand.",
        hint=f"quotes make a text; write `{name[:40]}` in backquotes, or without any.",
    )


def _check_calls(statement: exp.Expr, own: set[str]) -> None:
    """Name what is to be written instead of functions and predicates of other systems."""
    for call in statement.find_all(exp.Anonymous):
        foreign = foreign_function(str(call.this)) if str(call.this).lower() not in own else None
        if foreign is not None:
            raise foreign
    for one in statement.find_all(exp.Any, exp.All):
        if not isinstance(one.this.unnest(), exp.Query):
            word, by = ("ANY", "OR") if isinstance(one, exp.Any) else ("ALL", "AND")
            raise unsupported(f"{word} of a list", f"write the comparisons one by one: k LIKE 'a' {by} k LIKE 'b'.")
