"""Table Schema of Frictionless Data, alone or in a data package."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from masktron.config import Kind
from masktron.errors import DocumentError
from masktron.problems.problem import Field, Place
from masktron.sources.metadata.description import Description
from masktron.sources.names import column_name
from masktron.sources.tables.column_names import xml_name
from masktron.sources.variables import Typed, Variable

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
