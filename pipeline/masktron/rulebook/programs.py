"""Functions and keys that a rulebook declares, as stylesheets have them."""

from __future__ import annotations

from collections.abc import Callable
from xml.sax.saxutils import escape, quoteattr

from masktron.rulebook.schema import Instruction, Let, Origin

_XPATH = ("select", "test", "match", "use")


def visible(program: Instruction, lets: tuple[Let, ...]) -> tuple[Let, ...]:
    """Return the variables of the schema that a function does not hide by one of its own."""
    hidden = {one.value("name") for one in program.walk() if one.name in ("param", "variable")}
    return tuple(one for one in lets if one.name not in hidden)


def written(program: Instruction, expression: Callable[[str, Origin], str], before: str = "", mode: str = "") -> str:
    """Return a function or a key for a stylesheet.

    Parameters
    ----------
    program : Instruction
    expression : callable
        Returns an expression as the stylesheet has it; of a variable of the function ``b.NAME``.
    before : str
        Variables that stand behind the parameters of a function.
    mode : str
        An attribute of the stylesheet's.
    """

    def told(one: Instruction) -> str:
        attributes = []
        for name, value in one.attributes:
            own = f"b.{value}" if name == "name" and one.name in ("param", "variable") else value
            shown = expression(value, one.origin) if name in _XPATH else own
            attributes.append(f" {name}={quoteattr(shown)}")
        parts = [told(child) for child in one.children]
        first = sum(child.name == "param" for child in one.children)
        inside = "".join([*parts[:first], before if one is program else "", *parts[first:], escape(one.text)])
        return f"<m-xsl:{one.name}{''.join(attributes)}{mode if one is program else ''}>{inside}</m-xsl:{one.name}>"

    return told(program)
