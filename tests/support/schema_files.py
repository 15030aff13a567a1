"""Results as JSON against their schemas."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
from referencing import Registry, Resource

from paths import ROOT


def conforms(content: dict[str, Any], name: str) -> None:
    """Refuse plain data that are none of the result of a command."""
    schemas = {path.name: json.loads(path.read_text()) for path in (ROOT / "schemas").glob("*.schema.json")}
    resources = [(schema["$id"], Resource.from_contents(schema)) for schema in schemas.values()]
    jsonschema.Draft202012Validator(
        schemas[f"{name}.schema.json"], registry=Registry().with_resources(resources)
    ).validate(content)
