"""Which description a file is, and a file of microdata with what it says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lxml import etree

from masktron.errors import DocumentError, MasktronError, UsageError
from masktron.sources.metadata.ddi import NAMESPACES, read_ddi, write_ddi
from masktron.sources.metadata.description import Description
from masktron.sources.metadata.table_schema import read_table_schema, write_table_schema
from masktron.sources.variables import Variable
from masktron.sources.xml.parser import parse_tree

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
