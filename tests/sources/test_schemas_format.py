"""The XSD and the RELAX NG grammar of the plain format accept the same files, and refuse the same."""

from __future__ import annotations

import pandas as pd
import pytest
from lxml import etree

from masktron import convert
from paths import SCHEMAS

GOOD = [
    "<Data/>",
    "<Data><Record/></Data>",
    "<Data><Record><V1>1</V1><V2/></Record><Record><V2>-0.5</V2></Record></Data>",
    '<Data year="2024"><Record id="1"><V1>1<!-- c -->2</V1></Record></Data>',
    '<Data><Record><n:V1 xmlns:n="urn:x">1</n:V1></Record></Data>',
]
BAD = [
    "<Dataset/>",
    "<Data>5</Data>",
    "<Data><Row/></Data>",
    "<Data><Record>5</Record></Data>",
    "<Data><Record><V1>1</V1>5</Record></Data>",
    "<Data><Record><V1>1<V2>2</V2></V1></Record></Data>",
    '<Data><Record><n:V1 xmlns:n="urn:x"><n:V2/></n:V1></Record></Data>',
    "<Data><Record><V1><Record/></V1></Record></Data>",
    "<Data><Records><Record/></Records></Data>",
    '<Data xmlns="urn:x"><Record/></Data>',
]


def _xsd() -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(SCHEMAS / "masktron-records.xsd"))


def _rng() -> etree.RelaxNG:
    return etree.RelaxNG(etree.parse(SCHEMAS / "masktron-records.rng"))


@pytest.mark.parametrize("schema", [_xsd, _rng])
@pytest.mark.parametrize("text", GOOD)
def test_accepts(schema, text):
    assert schema().validate(etree.fromstring(text))


@pytest.mark.parametrize("schema", [_xsd, _rng])
@pytest.mark.parametrize("text", BAD)
def test_refuses(schema, text):
    assert not schema().validate(etree.fromstring(text))


@pytest.mark.parametrize("schema", [_xsd, _rng])
def test_accepts_what_a_data_frame_is_written_as(schema, tmp_path):
    path = tmp_path / "data.xml"
    convert(pd.DataFrame({"@id": ["a", "b"], "V1": [1.5, None], "V2": ["x", " "]}), path)
    assert schema().validate(etree.parse(path))
