"""Rulebooks, read and analysed: `schema` has their values, `schematron` reads them, the rest says what they ask.

An analysis is a function of a rulebook, made once (`analysis`); `expressions` has the trees of what is written in it.

elementpath loads xmlschema for two functions that validate what `analyze-string()` and `json-to-xml()` return. That
is a tenth of the time in which a small file is validated, and parsing calls neither: so xmlschema is loaded when one
of the two is called.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

_VALIDATORS = "elementpath.validators"


class _Deferred(ModuleType):
    """Stands for `elementpath.validators` until something of it is needed."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_loaded(), name)


def _loaded() -> ModuleType:
    if isinstance(sys.modules.get(_VALIDATORS), _Deferred):
        del sys.modules[_VALIDATORS]
    return import_module(_VALIDATORS)


def _defer() -> None:
    if _VALIDATORS in sys.modules:
        return
    module = _Deferred(_VALIDATORS)
    for name in ("validate_analyzed_string", "validate_json_to_xml"):
        setattr(module, name, _calling(name))
    sys.modules[_VALIDATORS] = module


def _calling(name: str) -> Any:
    def validate(root: Any) -> None:
        getattr(_loaded(), name)(root)

    return validate


_defer()
