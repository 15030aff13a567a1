"""Kinds of rules that data suggest: one list, which results, schema and documents have as well."""

from __future__ import annotations

import re
from typing import get_args

from masktron.proposals.candidate import KINDS, KindName
from masktron.results.suggest import Proposal
from paths import ROOT

NAMES = [kind.name for kind in KINDS]


def test_the_type_has_these_kinds_and_no_others() -> None:
    assert sorted(get_args(KindName.__value__)) == sorted(NAMES) and len(set(NAMES)) == len(NAMES)


def test_documents_name_every_kind() -> None:
    rows = [line for line in (ROOT / "docs" / "suggesting.md").read_text().splitlines() if line.startswith("| `")]
    documented = [name for row in rows for name in re.findall(r"`([a-z-]+)`", row.split("|")[1])]
    assert sorted(documented) == sorted(NAMES)
    described = (Proposal.__doc__ or "").partition("kind : str")[2].partition("form : str")[0]
    assert sorted(re.findall(r"``([a-z-]+)``", described)) == sorted(NAMES)


def test_what_follows_from_others_may_also_have_others_follow() -> None:
    assert all(kind.premise for kind in KINDS if kind.related)
