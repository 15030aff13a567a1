"""What doctor says of formats is what happens to who reads and writes them, with and without each package."""

from __future__ import annotations

from pathlib import Path

import pytest

import masktron
from masktron.errors import UsageError
from masktron.extras import OPTIONAL_PACKAGES
from masktron.jobs import doctor
from masktron.jobs.convert import run_convert
from masktron.progress import no_progress
from masktron.report.rendering import render
from masktron.report.tables.doctor import tables
from masktron.results import DoctorResult
from masktron.sources.known_formats import format_names, installed_apart
from missing_packages import blocked
from ods_files import write_ods
from schema_files import conforms
from statistical_files import write_sas7bdat

OF_FORMATS = ("zstandard", "pyreadstat", "fastexcel", "xlsxwriter", "duckdb")
"""Packages without which some file is not read or written; that of a server is looked at in `test_postgresql`."""
SCREEN = 30
RULES = (
    '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">'
    '<assert id="more" test="b &gt; a"/></rule></pattern></schema>'
)


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A file of each format, by its name as doctor has it."""
    folder = tmp_path_factory.mktemp("formats")
    (folder / "data.csv").write_text("a,b\n1,2\n3,4\n")
    found = {}
    for one in installed_apart():
        if one.suffixes:
            found[one.name] = folder / f"data{one.suffixes[0]}"
            if one.name == "sas7bdat":
                write_sas7bdat(found[one.name], {"a": [1.0, 3.0], "b": [2.0, 4.0]}, {}, {})
            elif one.name == "ods":
                write_ods(found[one.name], [["a", "b"], [1, 2], [3, 4]])
            elif one.name != "csv":
                run_convert(folder / "data.csv", found[one.name])
    return found


@pytest.fixture
def probed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines are not asked, which takes seconds and says nothing of formats."""
    monkeypatch.setattr(doctor, "_saxon", lambda: doctor.EngineProbe("SaxonC-HE 0", works=True))


def looked_at() -> DoctorResult:
    return doctor.run_doctor(progress=no_progress)


@pytest.mark.few(1)
@pytest.mark.usefixtures("probed")
@pytest.mark.parametrize("lacking", [None, *OF_FORMATS])
def test_what_is_said_of_a_format_happens(
    lacking: str | None, samples: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if lacking is not None:
        blocked(monkeypatch, lacking)
    rules = tmp_path / "rules.sch"
    rules.write_text(RULES)
    result = looked_at()
    assert {one.name for one in result.formats} == {*samples, "postgresql"}
    assert {one.package for one in result.unusable} == ({lacking} if lacking else set())
    remedies = {one.package: one.install for one in result.unusable}
    concerned = 0
    for one in result.formats:
        if not one.suffixes:
            continue
        assert (lacking in one.lacks) if one.lacks else one.reads
        concerned += bool(one.lacks)
        refusals = []
        for can, made in ((one.reads, None), (one.writes, tmp_path / f"made-{one.name}{one.suffixes[0]}")):
            try:
                if made is not None:
                    run_convert(samples["csv"], made)
                done = masktron.validate(made or samples[one.name], rules).records == 2  # it reads a file twice
            except UsageError as refusal:
                done = False
                refusals.append(refusal.hint)
            assert done is can, (one, made)
        if one.lacks:
            assert remedies[one.lacks[0]] in refusals, one
    assert (concerned > 0) is (lacking is not None)


def test_every_format_is_probed() -> None:
    assert {*format_names()} <= {one.name for one in installed_apart()}
    ends = [end for one in installed_apart() for end in one.suffixes]
    assert len(ends) == len(set(ends))
    listed = {name for one in installed_apart() for name in (*one.packages, *one.to_write)}
    features = {name for name, one in OPTIONAL_PACKAGES.items() if one.extra in doctor.FEATURES.values()}
    assert listed | features == {*OPTIONAL_PACKAGES}
    assert not listed & features


@pytest.mark.usefixtures("probed")
def test_all_of_it_fits_a_screen_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = looked_at()
    assert not whole.unusable
    assert all(one.works for one in whole.features)
    said = render(tables(whole), width=100)
    assert "cannot" not in said
    blocked(monkeypatch, *OPTIONAL_PACKAGES)
    monkeypatch.setattr(doctor, "FAMILIES", tuple(doctor.FAMILIES))
    monkeypatch.setattr("masktron.kernels.warm.KernelFamily.is_ready", lambda _: False)
    bare = looked_at()
    assert bare.works  # by what every installation has
    conforms(bare.as_dict(), "doctor")
    assert {one.name for one in bare.formats if one.reads} == {"xml", "csv", "parquet", "arrow", "sqlite"}
    assert not any(one.works for one in bare.features)
    for result in (whole, bare):
        text = render(tables(result), width=100)
        assert len(text.splitlines()) <= SCREEN, text
        assert max(map(len, text.splitlines())) <= 100
    said = " ".join(render(tables(bare), width=100).split())
    for package in OPTIONAL_PACKAGES.values():
        assert package.name in said
        assert f'pip install "masktron[{package.extra}]"' in said
    assert 'all of that pip install "masktron[zstd,spss,excel,report,sql,web,dask]"' in said


@pytest.mark.usefixtures("probed")
def test_an_engine_that_gives_another_answer_does_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_PROBE", doctor._PROBE.replace("= 3", "= 4"))
    result = looked_at()
    assert [one.works for one in result.engines] == [False, True]
    assert not result.works
