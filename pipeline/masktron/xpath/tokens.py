"""XPath text to the token tree of elementpath, which is the only parser."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from elementpath import ElementPathError
from elementpath.tdop import Parser
from elementpath.xpath31 import XPath31Parser

from masktron.errors import RulebookError

_LITERAL_OR_DOLLAR = re.compile(r"""("[^"]*"|'[^']*')|\$\s+(?=[^\W\d])""")
_XSLT_FUNCTIONS = (("document", (1, 2)), ("current", 0), ("key", (2, 3)))


class RuleParser(XPath31Parser):
    """The grammar of XPath 3.1, which contains that of the earlier versions, with the functions that XSLT adds.

    Nothing is evaluated: the static evaluation of elementpath follows its own semantics, not those of the engines
    that decide.
    """

    def parse(self, source: str) -> Any:
        """Return the root token."""
        if self.tokenizer is None:
            self.tokenizer = self.create_tokenizer(self.symbol_table)
        return Parser.parse(self, source)


for _name, _arity in _XSLT_FUNCTIONS:
    RuleParser.function(_name, nargs=_arity)


def repair(source: str) -> str:
    """Take out the blank of ``$ name``, as printed in the edit paper; string literals stay as they are."""
    return _LITERAL_OR_DOLLAR.sub(lambda match: match.group(1) or "$", source)


def parse(source: str, namespaces: Mapping[str, str] | None = None) -> Any:
    """Parse an XPath expression.

    Raises
    ------
    RulebookError
        The expression is not XPath, or names an unknown function or prefix.
    """
    try:
        return RuleParser(namespaces=dict(namespaces or {}), strict=True).parse(repair(source))
    except ElementPathError as error:
        raise RulebookError.of("xpath-error", expression=repr(source.strip()), reason=str(error)) from error
    except RecursionError as error:
        shown = repr(f"{source.strip()[:60]} ...")
        raise RulebookError.of("xpath-error", expression=shown, reason="it is nested too deeply") from error
