"""DDI-Codebook 2.5 and 2.6: the description of variables (``dataDscr``) that archives use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from masktron.config import Kind
from masktron.errors import DocumentError
from masktron.problems.problem import Field, Place
from masktron.sources.metadata.description import Description
from masktron.sources.names import column_name
from masktron.sources.tables.column_names import xml_name
from masktron.sources.variables import Typed, Variable

NAMESPACES = ("ddi:codebook:2_5", "ddi:codebook:2_6")
_KINDS = {
    "nominal": Kind.NOMINAL,
    "ordinal": Kind.ORDINAL,
    "interval": Kind.NUMBER,
    "ratio": Kind.NUMBER,
    "percent": Kind.NUMBER,
}
_NATURES = {Kind.NOMINAL: "nominal", Kind.ORDINAL: "ordinal", Kind.NUMBER: "ratio"}


def read_ddi(root: etree._Element, where: str) -> Description:
    """Read the variables of a codebook.

    ``nature`` says the kind, ``wgt="wgt"`` the weight; categories have labels, and those with ``missing="Y"`` mean
    'missing', as do single values of ``invalrng``.

    Raises
    ------
    DocumentError
        It has no variables, one has no name, or a range of missing values, which only the file can spell out.
    """
    space = etree.QName(root).namespace or ""
    found = tuple(_variable(var, space, where) for var in root.iterfind(f".//{{{space}}}dataDscr/{{{space}}}var"))
    if not found:
        raise DocumentError.of("bad-description", where, detail="the codebook describes no variable (dataDscr/var)")
    title = root.findtext(f"{{{space}}}stdyDscr/{{{space}}}citation/{{{space}}}titlStmt/{{{space}}}titl") or ""
    return Description(found, " ".join(title.split()))


def _variable(var: etree._Element, space: str, where: str) -> Variable:
    column = var.get("name") or ""
    if not column:
        raise DocumentError.of(
            "bad-description", Place(where, int(str(var.sourceline))), detail="a variable has no name"
        )
    labels: dict[str, str] = {}
    missing: dict[str, str] = {}
    for category in var.iterfind(f"{{{space}}}catgry"):
        value = category.findtext(f"{{{space}}}catValu")
        if value is None:
            continue
        label = _text(category.find(f"{{{space}}}labl"))
        (missing if category.get("missing") == "Y" else labels)[value.strip()] = label
    for item in var.iterfind(f"{{{space}}}invalrng/*"):
        if item.tag != f"{{{space}}}item":
            raise DocumentError.of(
                "bad-description",
                Place(where, int(str(item.sourceline)), field=Field(column)),
                detail="a range of missing values has to be given as single items",
            )
        missing.setdefault(str(item.get("VALUE", "")).strip(), "")
    form = var.find(f"{{{space}}}varFormat")
    moments = form is not None and form.get("category") in ("date", "time")
    kind = None if moments else _KINDS.get(str(var.get("nature", "")))
    text = form is not None and form.get("type") == "character"
    return Variable(
        xml_name(column),
        column,
        label=_text(var.find(f"{{{space}}}labl")),
        labels=labels,
        missing=missing,
        kind=kind,
        order=tuple(labels) if kind is Kind.ORDINAL else (),
        weight=var.get("wgt") == "wgt",
        typed=Typed(text=text),
        listed=bool(labels),
    )


def _text(element: etree._Element | None) -> str:
    return "" if element is None else " ".join("".join(str(part) for part in element.itertext()).split())


def write_ddi(path: Path, description: Description) -> None:
    """Write a codebook in DDI-Codebook 2.5; codes that only records tell are left out."""
    space = NAMESPACES[0]
    root = etree.Element(f"{{{space}}}codeBook", nsmap={None: space})  # type: ignore[dict-item]
    study = etree.SubElement(root, f"{{{space}}}stdyDscr")
    citation = etree.SubElement(study, f"{{{space}}}citation")
    statement = etree.SubElement(citation, f"{{{space}}}titlStmt")
    etree.SubElement(statement, f"{{{space}}}titl").text = description.title or "Microdata"
    data = etree.SubElement(root, f"{{{space}}}dataDscr")
    for variable in description.variables:
        _append(data, variable, space)
    etree.ElementTree(root).write(str(path), encoding="UTF-8", xml_declaration=True, pretty_print=True)


def _append(data: etree._Element, variable: Variable, space: str) -> None:
    var = etree.SubElement(data, f"{{{space}}}var", name=column_name(variable.name))
    if variable.weight:
        var.set("wgt", "wgt")
    if variable.kind is not None:
        var.set("nature", _NATURES[variable.kind])
    if variable.label:
        etree.SubElement(var, f"{{{space}}}labl").text = variable.label
    for value, label, missing in _categories(variable):
        category = etree.SubElement(var, f"{{{space}}}catgry")
        if missing:
            category.set("missing", "Y")
        etree.SubElement(category, f"{{{space}}}catValu").text = value
        if label:
            etree.SubElement(category, f"{{{space}}}labl").text = label
    if variable.typed.text:
        etree.SubElement(var, f"{{{space}}}varFormat", type="character")


def _categories(variable: Variable) -> Iterator[tuple[str, str, bool]]:
    ordered = dict.fromkeys((*variable.declared_order, *variable.labels))
    yield from ((value, variable.labels.get(value, ""), False) for value in ordered if value not in variable.missing)
    yield from ((value, label, True) for value, label in variable.declared_missing.items())
