"""The script that compares masktron with a compiled Schematron, on a rulebook of our own."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from cli_runner import SCHEMATRON
from paths import ROOT

SCRIPT = runpy.run_path(str(ROOT / "tools" / "compare_documents.py"))
RULES = f"""<schema xmlns="{SCHEMATRON}" queryBinding="xslt2"><pattern id="p"><rule context="line">
<assert id="n" test="number(n) gt 0">m</assert><report id="x" test="x">m</report></rule></pattern></schema>"""
COMPILED = """<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
 xmlns:svrl="http://purl.oclc.org/dsdl/svrl"><xsl:template match="/"><svrl:schematron-output>
<xsl:for-each select="//line"><xsl:if test="not(number(n) gt LEAST)"><svrl:failed-assert id="n"/></xsl:if>
<xsl:if test="x"><svrl:successful-report id="x"/></xsl:if></xsl:for-each>
</svrl:schematron-output></xsl:template></xsl:stylesheet>"""


@pytest.mark.parametrize(("least", "different"), [("0", 0), ("1", 1)])
def test_differences_are_told_by_document_and_rule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], least: str, different: int
) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a.xml").write_text("<o><line><n>1</n></line><line><n>0</n><x/></line></o>")
    (folder / "b.xml").write_text("<o><line><n>2</n></line></o>")
    (folder / "c.xml").write_text("<o>")
    (tmp_path / "book.sch").write_text(RULES)
    (tmp_path / "book.xsl").write_text(COMPILED.replace("LEAST", least))
    words = [str(folder), str(tmp_path / "book.sch")]
    assert SCRIPT["main"]([*words, "--xslt", str(tmp_path / "book.xsl")]) == different
    told = capsys.readouterr().out
    assert "1 not judged" in told
    assert f"{different} differences" in told
    assert ("a.xml: n: masktron 1, XSLT 2" in told) is bool(different)
    assert SCRIPT["main"](words) == 0
    assert "n: 1" in capsys.readouterr().out
