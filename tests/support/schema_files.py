"""Results as JSON against their schemas."""

from __future__ import annotations

import functools
import json

import jsonschema
from referencing import Registry, Resource

from paths import SCHEMAS


def conforms(content: object, name: str) -> None:
    """Refuse plain data that are none of the result of a command."""
    _validator(name).validate(content)


@functools.cache
def _validator(name: str) -> jsonschema.Draft202012Validator:
    """Check a schema itself, which takes longer than all that is held against it."""
    schemas = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in SCHEMAS.glob("*.schema.json")}
    resources = [(schema["$id"], Resource.from_contents(schema)) for schema in schemas.values()]
    schema = schemas[f"{name}.schema.json"]
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema, registry=Registry().with_resources(resources))
