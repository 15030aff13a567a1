"""Conformance cases: files of XML that carry data, rulebook and what is to be found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lxml import etree

from differential.case import BINDINGS, ISO, Version
from differential.told import ERROR, FAILS, NOT_FIRED, Told


@dataclass(frozen=True, slots=True)
class Expected:
    """What is to be said of one check.

    Attributes
    ----------
    check : str
    fired, failed, errors : int
        Numbers of nodes.
    fails, wrong, silent : tuple of int
        Records, from 1, that fail, that have an error, and in which the check does not fire; it holds in the others.
    message : str, optional
        The message of the first finding.
    """

    check: str
    fired: int
    failed: int
    errors: int
    fails: tuple[int, ...]
    wrong: tuple[int, ...]
    silent: tuple[int, ...]
    message: str | None = None

    @classmethod
    def of(cls, check: str, told: Told) -> Expected:
        """Expect what was told."""
        where = {m: tuple(i + 1 for i, c in enumerate(told.marks) if c == m) for m in (FAILS, ERROR, NOT_FIRED)}
        return cls(check, told.fired, told.failed, told.errors, where[FAILS], where[ERROR], where[NOT_FIRED])

    def matches(self, told: Told) -> bool:
        """Tell whether that was told."""
        return Expected.of(self.check, told) == Expected(
            self.check, self.fired, self.failed, self.errors, self.fails, self.wrong, self.silent
        )


@dataclass(frozen=True, slots=True)
class Refused:
    """An error that reading the rulebook has to end in.

    Attributes
    ----------
    code : str
    names : tuple of str
        References that it has, among others.
    at : str
        The file that it names, with a line.
    """

    code: str
    names: tuple[str, ...]
    at: str


@dataclass(frozen=True, slots=True)
class Conformance:
    """A case, for one version of XPath.

    Attributes
    ----------
    covers : tuple of str
        The elements and attributes of Schematron that it is about.
    files : mapping of str to str
        What the rulebook includes, by name.
    phase : str or None
    svrl, notes : tuple of str
        XPath that has to be true of the report, and parts of notes that have to be given.
    refused : Refused or None
        In the place of all expectations.
    """

    name: str
    version: Version
    says: str
    schema: str
    data: bytes
    expected: tuple[Expected, ...]
    excused: tuple[str, ...] = ()
    """Tiers that depart from it, as ``docs/engines.md`` says."""
    covers: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    phase: str | None = None
    svrl: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    refused: Refused | None = None

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write data and rulebook; return their paths."""
        data, rules = folder / "data.xml", folder / "rules.sch"
        data.write_bytes(self.data)
        rules.write_text(self.schema, encoding="utf-8")
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        return data, rules


def read(path: Path) -> list[Conformance]:
    """Read a case; one for each version that it has an expectation for.

    The data are either XML as it stands, or text (in CDATA) where its very characters matter; in that text,
    ``[CR]`` is a carriage return and ``]]&gt;`` the end of a CDATA section.
    """
    root = etree.parse(str(path), etree.XMLParser(strip_cdata=False, remove_comments=False)).getroot()
    data, schema = _inside(root, "data"), root.find(f"{{{ISO}}}schema")
    assert schema is not None
    says = " ".join((root.findtext("says") or "").split())
    as_it_stands = schema.get("queryBinding")
    files = {str(e.get("name")): etree.tostring(e[0], encoding="unicode", with_tail=False) for e in root.iter("file")}
    cases = []
    for expect in root.iter("expect", "refused"):
        versions = expect.get("versions")
        for version in BINDINGS:
            if version not in (versions or "1.0").split():
                continue
            schema.set("queryBinding", BINDINGS[version] if versions else str(as_it_stands))
            names = tuple(str(expect.get("names")).split("; "))
            error = Refused(str(expect.get("code")), names, str(expect.get("at")))
            refused = error if expect.tag == "refused" else None
            cases.append(
                Conformance(
                    path.stem,
                    version,
                    says,
                    etree.tostring(schema, encoding="unicode", with_tail=False),
                    data,
                    tuple(_expected(check) for check in expect.iterfind("check")),
                    tuple(str(expect.get("not") or "").split()),
                    tuple(str(root.get("covers") or "").split()),
                    files,
                    expect.get("phase"),
                    tuple(str(e.get("test")) for e in expect.iterfind("svrl")),
                    tuple(str(e.get("text")) for e in expect.iterfind("note")),
                    refused,
                )
            )
    return cases


def _inside(root: etree._Element, tag: str) -> bytes:
    found = root.find(tag)
    assert found is not None
    codec = found.get("encoding", "UTF-8")
    if len(found):
        return etree.tostring(found[0], encoding="UTF-8", with_tail=False)
    text = str(found.text or "").strip("\n").replace("[CR]", "\r").replace("]]&gt;", "]]>")
    mark = b"\xef\xbb\xbf" if found.get("mark") else b""
    return mark + text.encode(codec)


def _expected(check: etree._Element) -> Expected:
    def numbers(name: str) -> tuple[int, ...]:
        return tuple(int(n) for n in (check.get(name) or "").split())

    def one(name: str, default: int) -> int:
        return int(str(check.get(name) or default))

    failed, wrong, silent = numbers("fails"), numbers("errors"), numbers("silent")
    return Expected(
        str(check.get("id")),
        int(str(check.get("fired"))),
        one("failed", len(failed)),
        one("wrong", len(wrong)),
        failed,
        wrong,
        silent,
        check.get("message"),
    )
