"""A file that breaks its rules in many ways, and the reports on it."""

from __future__ import annotations

from pathlib import Path

from cli_runner import SCHEMATRON

RULES = f"""<schema xmlns="{SCHEMATRON}" queryBinding="xslt2">
<ns prefix="q" uri="urn:q"/>
<pattern id="sums"><rule context="Record[V3]">
  <assert id="whole" test="xs:integer(V1) &lt; 5">V1 is &lt;<value-of select="V1"/>&gt; &amp; {{0}} <name/></assert>
  <report id="two" test="V3 = '2'" role="warning" flag="f">two of <value-of select="V9"/></report>
  <assert id="add" test="number(A) + number(B) = number(T)"/></rule></pattern>
<pattern id="silent"><title>A title, with blanks</title>
  <rule context="None"><assert test="1">x</assert></rule></pattern>
<pattern><title>No name at all</title>
  <rule context="V9"><assert test=". != 'z'" role="info">z</assert></rule></pattern>
</schema>"""
DATA = """<?xml version="1.0" encoding="UTF-8"?>
<Data>
  <Record id="K1"><V1>5</V1><V3>1</V3><A>0.1</A><B>0.2</B><T>0.3</T></Record>
  <Record id="K&lt;&amp;2"><V1>x</V1><V3>2</V3><V9>a;"b"&#13;</V9></Record>
  <Record id="=1+1"><V1>1</V1></Record><Record id="K4"><V1>7</V1><V3>2</V3><V9>z</V9><V9>y</V9></Record>
</Data>
"""
COUNTS = {"whole": (3, 2, 1), "two": (3, 2, 0), "add": (3, 3, 0)}
"""Fired, failed and errors of the rules, by hand."""


def write_pair(folder: Path) -> tuple[Path, Path]:
    """Write data and rulebook."""
    data, rules = folder / "data.xml", folder / "rules.sch"
    data.write_text(DATA, encoding="utf-8")
    rules.write_text(RULES, encoding="utf-8")
    return data, rules
