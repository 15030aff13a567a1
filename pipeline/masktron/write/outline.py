"""What stands outside the root element."""

from __future__ import annotations

from xml.parsers import expat

from masktron.read.encoding import Encoding


class Outline:
    """Expat handlers that collect document type and processing instructions around the root.

    Attributes
    ----------
    before, after : list of str
        As they are written.
    """

    def __init__(self) -> None:
        self.before: list[str] = []
        self.after: list[str] = []
        self._depth = 0
        self._current: list[str] | None = self.before

    def attach(self, parser: expat.XMLParserType) -> None:
        """Listen to a parser."""
        guard = parser.StartDoctypeDeclHandler

        def doctype(name: str, system_id: str | None, public_id: str | None, internal: bool) -> None:
            if guard is not None:
                guard(name, system_id, public_id, internal)
            self.before.append(f"<!DOCTYPE {name}>")

        parser.StartDoctypeDeclHandler = doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.ProcessingInstructionHandler = lambda target, text: self._add(f"<?{target} {text}".rstrip() + "?>")

    def opening(self, encoding: Encoding) -> str:
        """Return all that is written before the root."""
        mark = "\ufeff" if encoding.bom else ""
        declaration = [encoding.declaration] if encoding.declaration else []
        return mark + "".join(item + "\n" for item in (*declaration, *self.before))

    @property
    def closing(self) -> str:
        """All that is written behind the root."""
        return "".join(item + "\n" for item in ("", *self.after))

    def _start(self, _name: str, _attributes: object) -> None:
        self._depth += 1
        self._current = None

    def _end(self, _name: str) -> None:
        self._depth -= 1
        if not self._depth:
            self._current = self.after

    def _add(self, item: str) -> None:
        if self._current is not None:
            self._current.append(item)
