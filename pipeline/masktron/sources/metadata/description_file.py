"""Descriptions of variables in files of their own: Table Schema and DDI."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from lxml import etree

from masktron.config import Kind
from masktron.errors import DocumentError, MasktronError, UsageError
from masktron.problems.problem import Field, Place
from masktron.sources.record_layout import column_name
from masktron.sources.tables.column_names import xml_name
from masktron.sources.variables import Typed, Variable
from masktron.sources.xml.parser import parse_tree


@dataclass(frozen=True, slots=True)
class Description:
    """Variables of a file, and its title.

    Attributes
    ----------
    variables : tuple of Variable
        In the order of the description; fields of the file may be missing in it, and others may be there.
    title : str
    """

    variables: tuple[Variable, ...]
    title: str = ""


_TYPES = ("integer", "number", "string", "boolean", "date", "datetime", "time", "year", "yearmonth", "any")
_STORED = (
    (pa.types.is_integer, "integer"),
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_date, "date"),
    (pa.types.is_floating, "number"),
    (pa.types.is_decimal, "number"),
)


def read_table_schema(document: Any, where: str) -> Description:
    """Read the fields of a schema, or of the only resource of a data package.

    ``categories`` (or ``constraints.enum``) make a field nominal, or ordinal with ``categoriesOrdered``; ``number``
    is a quantity. Whether an integer is a quantity or a code, a schema does not say. ``missingValues`` of the schema
    or of a field mean 'missing', but for the empty text, which is a missing value in any case.

    Raises
    ------
    DocumentError
        It is no schema; says where.
    """
    title = ""
    if isinstance(document, Mapping) and "resources" in document:
        resources = document["resources"]
        if not isinstance(resources, list) or len(resources) != 1 or not isinstance(resources[0], Mapping):
            raise DocumentError.of("bad-description", where, detail="a data package has to have one resource")
        title = str(document.get("title") or resources[0].get("title") or "")
        document = resources[0].get("schema")
    fields = document.get("fields") if isinstance(document, Mapping) else None
    if not isinstance(fields, list) or not all(isinstance(one, Mapping) for one in fields):
        raise DocumentError.of("bad-description", where, detail="it is no object with a list of fields")
    everywhere = _missing(document.get("missingValues", []), where)
    return Description(tuple(_variable(one, everywhere, where) for one in fields), title)


def _variable(field: Mapping[str, Any], everywhere: Mapping[str, str], where: str) -> Variable:
    column = field.get("name")
    if not isinstance(column, str) or not column:
        raise DocumentError.of("bad-description", where, detail="a field has no name")
    kind_of = field.get("type", "any")
    if kind_of not in _TYPES:
        raise DocumentError.of(
            "bad-description", Place(where, field=Field(column)), detail="a value of its type is no single value"
        )
    labels = _labels(field, column, where)
    missing = dict(everywhere if "missingValues" not in field else _missing(field["missingValues"], where))
    kind = Kind.NUMBER if kind_of == "number" and not labels else None
    if labels or kind_of == "boolean":
        kind = Kind.ORDINAL if field.get("categoriesOrdered") and labels else Kind.NOMINAL
    return Variable(
        xml_name(column),
        column,
        label=str(field.get("title") or field.get("description") or ""),
        labels={value: label for value, label in labels.items() if label},
        missing=missing,
        kind=kind,
        order=tuple(labels) if kind is Kind.ORDINAL else (),
        typed=Typed(text=kind_of == "string"),
        listed=bool(labels),
    )


def _labels(field: Mapping[str, Any], column: str, where: str) -> dict[str, str]:
    constraints = field.get("constraints", {})
    listed = field.get("categories", constraints.get("enum", []) if isinstance(constraints, Mapping) else [])
    if not isinstance(listed, list):
        raise DocumentError.of(
            "bad-description", Place(where, field=Field(column)), detail="its categories are no list"
        )
    found = {}
    for one in listed:
        value, label = (one.get("value"), one.get("label", "")) if isinstance(one, Mapping) else (one, "")
        found[_lexeme(value)] = str(label)
    return found


def _missing(listed: Any, where: str) -> dict[str, str]:
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise DocumentError.of("bad-description", where, detail="missingValues is no list")
    found = {}
    for one in listed:
        value, label = (one.get("value"), one.get("label", "")) if isinstance(one, Mapping) else (one, "")
        if _lexeme(value).strip():
            found[_lexeme(value)] = str(label)
    return found


def _lexeme(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


def write_table_schema(path: Path, description: Description) -> None:
    """Write a Table Schema, version 2; codes that only records tell are left out."""
    fields = [_field(variable) for variable in description.variables]
    schema = {"$schema": "https://datapackage.org/profiles/2.0/tableschema.json", "fields": fields}
    path.write_text(f"{json.dumps(schema, indent=2, ensure_ascii=False)}\n", encoding="utf-8")


def _field(variable: Variable) -> dict[str, Any]:
    field: dict[str, Any] = {"name": column_name(variable.name), "type": _type_of(variable)}
    if variable.label:
        field["title"] = variable.label
    listed = dict.fromkeys((*variable.declared_order, *variable.labels))
    values = [value for value in listed if value not in variable.missing]
    if values and variable.kind in (Kind.NOMINAL, Kind.ORDINAL):
        field["categories"] = [
            {"value": value, "label": variable.labels[value]} if variable.labels.get(value) else value
            for value in values
        ]
        field["categoriesOrdered"] = variable.kind is Kind.ORDINAL
    if missing := variable.declared_missing:
        codes = [{"value": code, "label": label} if label else code for code, label in missing.items()]
        field["missingValues"] = ["", *codes]
    return field


def _type_of(variable: Variable) -> str:
    if variable.typed.text:
        return "string"
    if variable.stored is not None:
        for test, name in _STORED:
            if test(variable.stored):
                return name
    return "number" if variable.kind is Kind.NUMBER else "any"


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
    found = tuple(
        _variable_of_ddi(var, space, where) for var in root.iterfind(f".//{{{space}}}dataDscr/{{{space}}}var")
    )
    if not found:
        raise DocumentError.of("bad-description", where, detail="the codebook describes no variable (dataDscr/var)")
    title = root.findtext(f"{{{space}}}stdyDscr/{{{space}}}citation/{{{space}}}titlStmt/{{{space}}}titl") or ""
    return Description(found, " ".join(title.split()))


def _variable_of_ddi(var: etree._Element, space: str, where: str) -> Variable:
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


WRITERS = {"ddi": write_ddi, "tableschema": write_table_schema}
"""Functions that write a description, by what the user calls it."""


def read_description(path: Path) -> Description:
    """Read a description of variables: XML is DDI-Codebook, JSON is Table Schema or a data package.

    Raises
    ------
    DocumentError
        It cannot be read, or is neither.
    """
    try:
        head = path.read_bytes()[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
        if head[:1] == b"{":
            return read_table_schema(json.loads(path.read_text(encoding="utf-8-sig")), str(path))
    except MasktronError:
        raise
    except OSError as error:
        raise DocumentError.of("cannot-read", path, reason=error.strerror, file="file") from error
    except (ValueError, RecursionError) as error:
        raise DocumentError.of("bad-description", path, detail=f"it is not valid JSON: {error}") from error
    root = parse_tree(path, DocumentError).getroot()
    if etree.QName(root).namespace not in NAMESPACES or etree.QName(root).localname != "codeBook":
        raise DocumentError.of("bad-description", path, detail="its root element is another one")
    return read_ddi(root, str(path))


def described_variables(
    own: Sequence[Variable], fields: Sequence[str], description: Description, where: str
) -> tuple[Variable, ...]:
    """Return the variables of a file with what a description says of them; it wins where both say something.

    Parameters
    ----------
    own : sequence of Variable
        What the file says; nothing for a format that says nothing.
    fields : sequence of str
        Names of all fields of the file.
    description : Description
    where : str
        The file of the description, for messages.

    Raises
    ------
    UsageError
        It describes no field of the file.
    """
    said = {variable.name: variable for variable in description.variables}
    if not set(fields) & said.keys():
        raise UsageError.of("bad-description", where, detail="it describes no field of the file")
    known = {variable.name: variable for variable in own}
    return tuple(
        _joined(known.get(name, Variable(name, name)), said[name]) if name in said else known[name]
        for name in fields
        if name in said or name in known
    )


def _joined(own: Variable, said: Variable) -> Variable:
    # an order that lacks what only cells tell, as `masktron metadata` writes it, is that of the file
    same = tuple(value for value in own.order if value in set(said.order)) == said.order
    return replace(
        own,
        label=said.label or own.label,
        labels={**own.labels, **said.labels},
        missing={**own.missing, **said.missing},
        kind=said.kind or own.kind,
        order=own.order if same else said.order,
        weight=said.weight or own.weight,
        typed=replace(own.typed, text=said.typed.text or own.typed.text),
        observed=own.observed.difference(said.labels, said.missing, said.order),
        listed=said.listed or own.listed,
    )
