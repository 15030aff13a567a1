"""Parts of an expression on one line, as they are written but evenly spaced: for people, and for names of parts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import takewhile, zip_longest

from masktron.rulebook.expressions.lexer import Token, literal_value, tokenize
from masktron.rulebook.expressions.tree import Expression, Node, Path, Root

_SIGNS = frozenset({"=", "!=", "<", "<=", ">", ">=", "<<", ">>", "+", "-", "*", "|", "||", "!", "=>", ":="})
_CLOSING = frozenset({")", "]", "}", ".", "..", "*", "?"})


def quoted(text: str) -> str:
    """Write a string literal; one that holds both kinds of quotes is written for XPath 2."""
    if "'" not in text:
        return f"'{text}'"
    return f'"{text}"' if '"' not in text else "'" + text.replace("'", "''") + "'"


def quoted_in_any(text: str) -> str:
    """Write a string as XPath of every version reads it."""
    if "'" not in text or '"' not in text:
        return quoted(text)
    return "concat(" + ', "\'", '.join(f"'{piece}'" for piece in text.split("'")) + ")"


def as_written(node: Node, *, without: Collection[str] = ()) -> str:
    """Write part of a tree as it is written, on one line: without the parentheses around it, and evenly spaced.

    Parameters
    ----------
    node : Node
    without : collection of str
        Prefixes to leave out before names.
    """
    return _spaced(_lexemes(node), without)


def without_predicates(node: Expression) -> str:
    """Write a path as it is written, without the predicates of its steps."""
    if not isinstance(node, Path):
        return _spaced(list(takewhile(lambda lexeme: lexeme.text != "[", _lexemes(node))))
    first = "" if isinstance(node.first, Root) else without_predicates(node.first)
    return first + "".join(f"{'//' if hop.deep else '/'}{without_predicates(hop.to)}" for hop in node.hops)


def _lexemes(node: Node) -> Sequence[Token]:
    found: Sequence[Token] = tokenize(node.text)
    while len(found) > 2 and found[0].text == "(" and _closes_last(found):
        found = found[1:-1]
    return found


def _closes_last(lexemes: Sequence[Token]) -> bool:
    """Whether the first bracket is closed by the last one."""
    depth = 0
    for lexeme in lexemes[:-1]:
        depth += (lexeme.text == "(") - (lexeme.text == ")") if lexeme.kind == "symbol" else 0
        if not depth:
            return False
    return True


def _spaced(lexemes: Sequence[Token], without: Collection[str] = ()) -> str:
    """Put blanks around operators and words, and nowhere else: what follows an operand is an operator."""
    text, after_operand = "", False
    for lexeme, following in zip_longest(lexemes, lexemes[1:]):
        word = lexeme.text
        if lexeme.kind == "symbol":
            binary = after_operand and word in _SIGNS
            after_operand = word in _CLOSING and not binary
            text += f" {word} " if binary else ", " if word == "," else word
        elif lexeme.kind == "name" and (after_operand or (word in ("as", "of") and text.endswith(" "))):
            text, after_operand = f"{text.rstrip()} {word} ", False
        elif lexeme.kind == "name" and following and (following.kind == "variable" or _is_if(word, following)):
            text += f"{word} "
        else:
            text, after_operand = text + _operand(lexeme, without), True
    return text.strip()


def _is_if(word: str, following: Token) -> bool:
    return word == "if" and following.text == "("


def _operand(lexeme: Token, without: Collection[str]) -> str:
    if lexeme.kind == "literal":
        return quoted(literal_value(lexeme.text))
    prefix, _, local = lexeme.text.rpartition(":")
    name = local if prefix in without and local != "*" else lexeme.text
    return f"${name}" if lexeme.kind == "variable" else name
