"""The secret of a release: where it comes from, where it stands, and that nothing else gives its numbers."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree

import masktron
from attacks import KEY, SEED, three_errors
from cli_runner import Runner, write_data, write_rules
from examples import parts
from masktron.config import Config
from masktron.errors import UsageError
from masktron.jobs import randomness
from masktron.release_secret import former_units, read_secret, secret_from, secret_of_seed
from masktron.settings_file import load_config
from masktron.streams import Streams
from refusals import refused

C = 0.15
"""Share of the noise, as `noise` has it by default."""


def survey(folder: Path, n: int = 60, *tests: str) -> tuple[Path, Path]:
    generator = np.random.default_rng(2)
    rows = [{"A": int(a), "B": int(b)} for a, b in generator.integers(1000, 99_999, size=(n, 2))]
    return write_data(folder / "d.xml", rows), write_rules(folder / "r.sch", *(tests or ("A >= 0",)))


def numbers(path: Path) -> np.ndarray[Any, np.dtype[np.float64]]:
    records = etree.parse(path).getroot().findall("Record")
    return np.array([[float(record.findtext(name, "nan")) for name in "AB"] for record in records])


def masked(folder: Path, **settings: Any) -> bytes:
    masktron.mask(folder / "d.xml", folder / "r.sch", folder / "m.xml", **settings)
    return (folder / "m.xml").read_bytes()


def noise(folder: Path, **settings: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """What a run added to each value, as far as the attacker is concerned: up to a shift."""
    c = settings.get("params", {}).get("c", C)
    masked(folder, method="noise", order="keep", **settings)
    return numbers(folder / "m.xml") * np.sqrt(1 + c) - numbers(folder / "d.xml")


def test_the_stream_is_chacha20_and_never_changes() -> None:
    """Zero key and counter of RFC 8439, appendix A.1, test vector 1; spawned generators are keyed, too."""
    from randomgen import ChaCha

    from masktron.streams import _Keyed

    words = ChaCha(_Keyed(bytes(32)), rounds=20).random_raw(8)
    assert words.astype("<u8").tobytes().hex().startswith("76b8e0ada0f13d90405d6ae55386bd28")
    one, two = (Streams(KEY, "bound").generator("draw", 3).spawn(2) for _ in range(2))
    assert [child.integers(2**60) for child in one] == [child.integers(2**60) for child in two]
    assert len({child.integers(2**60) for child in one}) == 2
    pinned = Streams(KEY, "bound").generator("draw", 3)
    drawn = [own.integers(2**63) for own in (pinned, *pinned.spawn(2))]
    assert drawn == [0x1DEF3D94A15F1531, 0x473ED3D9D5FC735C, 0x5D4ED08C8CD6AA15]


@pytest.mark.parametrize(
    "other",
    [
        Streams(KEY, "bound", "").generator("draw", 1),
        Streams(KEY, "boun", "d").generator("draw", 1),
        Streams(KEY + b"\0", "bound").generator("draw", 1),
        Streams(KEY, "bound").generator("draw", 1, 0),
        Streams(KEY, "bound").generator("draw1"),
        Streams(KEY, "bound").generator("draw", 1).spawn(1)[0],
    ],
)
def test_streams_of_anything_else_are_others(other: np.random.Generator) -> None:
    own = Streams(KEY, "bound").generator("draw", 1).normal(size=2000)
    assert abs(np.corrcoef(own, other.normal(size=2000))[0, 1]) < 4 / np.sqrt(2000)


@pytest.mark.full
def test_two_releases_have_unrelated_noise_and_are_averaged(tmp_path: Path) -> None:
    """Keys, another share of noise, another rule: r is that of chance; two averaged have half the noise."""
    survey(tmp_path, 400)
    first = noise(tmp_path, secret=KEY)
    others = [noise(tmp_path, secret=KEY[::-1]), noise(tmp_path, secret=KEY, params={"c": 0.16}), noise(tmp_path)]
    write_rules(tmp_path / "r.sch", "A >= 1")
    others.append(noise(tmp_path, secret=KEY))
    for other in others:
        assert abs(np.corrcoef(first.ravel(), other.ravel())[0, 1]) < 4 / np.sqrt(first.size)
    halved = np.var((first + others[0]) / 2, axis=0) / np.var(first, axis=0)
    assert np.all(np.abs(halved - 0.5) < 0.1)


@pytest.mark.few(1)
@pytest.mark.parametrize("method", parts(["noise", "mdav", "cart", "hierarchical"], 2))
def test_the_same_key_gives_the_same_bytes(tmp_path: Path, method: str) -> None:
    """From a secret, its file or the manifest; for any workers, limits, folders and spellings of the settings."""
    survey(tmp_path)
    own = masked(tmp_path, method=method, secret=KEY)
    (tmp_path / "key").write_text(f"{KEY.hex().upper()}\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    survey(elsewhere)
    settings = {"workers": 1, "limits": {"linkage": 100}, "roles": {"A": "confidential"}, "max_observed_share": 2.0}
    assert masked(elsewhere, method=method, secret=str(tmp_path / "key"), **settings) == own
    assert masked(tmp_path, method=method, secret=tmp_path / "m.manifest.json") == own
    assert masked(tmp_path, method=method) != own


def test_without_a_key_there_is_a_new_one_in_each_manifest(tmp_path: Path) -> None:
    survey(tmp_path)
    keys = set()
    for _ in range(3):
        masked(tmp_path)
        keys.add(json.loads((tmp_path / "m.manifest.json").read_text())["secret"])
    assert len(keys) == 3
    assert {len(key) for key in keys} == {64}


def test_the_key_stands_in_the_manifest_alone(tmp_path: Path, run: Runner) -> None:
    data, rules = survey(tmp_path)
    key = tmp_path / "release.key"
    key.write_text(KEY.hex())
    out, manifest = tmp_path / "m.xml", tmp_path / "m.manifest.json"
    said = run("mask", data, "--rules", rules, "--out", out, "--secret", key, "--method", "noise", "--json", "-")
    assert said.code == 0, said.err
    checked = run("check", out, "--rules", rules, "--manifest", manifest, "--original", data, "--json", "-")
    assessed = run("assess", out, "--original", data, "--manifest", manifest, "--json", "-")
    assert (checked.code, assessed.code) == (0, 0)
    result = masktron.mask(data, rules, tmp_path / "n.xml", method="noise", secret=KEY, manifest=tmp_path / "n.json")
    told = [said.out, said.err, checked.out, checked.err, assessed.out, assessed.err, out.read_text()]
    told += [repr(result), json.dumps(result.as_dict()), str(Config(secret=KEY)), str(Streams(KEY, "bound"))]
    text = "\n".join(told).lower()
    numbers_ = (str(int.from_bytes(KEY, "big")), str(int.from_bytes(KEY, "little")), str([*KEY])[1:-1])
    spelled = (KEY.hex(), repr(KEY)[2:-1], base64.b64encode(KEY).decode(), *numbers_)
    assert not [one for one in spelled if one.lower()[:20] in text]
    holding = {path.name for path in tmp_path.iterdir() if KEY.hex() in path.read_text()}
    assert holding == {"m.manifest.json", "n.json", "release.key"}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("", "bad-secret"),
        ("c0ffee5ec2e7" * 2, "bad-secret"),
        ("00" * 32, "bad-secret"),
        ("xyz" * 30, "bad-secret"),
        (KEY.hex()[1:], "bad-secret"),
        ('{"secret": null}', "setting-not-usable"),
        ('{"key": null}', "setting-not-usable"),  # of a manifest of an earlier version
        ('{"order": null}', "bad-secret"),
        ('{"secret": 5}', "bad-secret"),
        ('{"secret"', "bad-secret"),
    ],
)
def test_what_is_no_key_is_refused_and_not_shown(tmp_path: Path, content: str, code: str) -> None:
    path = tmp_path / "release.key"
    path.write_text(content)
    with refused(UsageError, code, where=path) as caught:
        read_secret(path)
    assert len(content) < 9 or content[:8] not in str(caught.value)


@pytest.mark.parametrize(("size", "units"), [("600", 600), ("null", "whole")])
def test_a_run_that_had_no_key_is_repeated_with_its_units(tmp_path: Path, size: str, units: int | str) -> None:
    path = tmp_path / "m.manifest.json"
    path.write_text(f'{{"secret": null, "config": {{"unit_records": {size}}}}}')
    with refused(UsageError, "setting-not-usable"):
        read_secret(path)


def test_keys_in_python(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(KEY.hex())
    assert Config(secret=KEY) == Config(secret=tmp_path / "key")  # type: ignore[arg-type]
    for wrong, code in ((5, "bad-secret"), (b"short", "bad-secret"), (tmp_path / "nothing", "cannot-read")):
        with refused(UsageError, code):
            Config(secret=wrong)  # type: ignore[arg-type]
    with refused(UsageError, "given-twice", one="seed", other="secret"):
        Config(seed=SEED, secret=KEY)
    assert "7" not in repr(replace(Config(k=5), seed=777))


@pytest.mark.parametrize("name", ["seed", "secret"])
def test_a_file_of_settings_holds_no_secret(tmp_path: Path, name: str) -> None:
    path = tmp_path / "masktron.toml"
    path.write_text(f"{name} = 1\n")
    with refused(UsageError, "secret-in-settings", setting=name):
        load_config(path)


@pytest.mark.few(4)
@pytest.mark.parametrize("seed", [2**127 - 1, 2**127, 2**127 + 1])
@pytest.mark.parametrize("options", [["--method", "noise"], ["--method", "noise", "--keep-order"], ["--shuffle"], []])
def test_short_seeds_are_refused_where_they_protect(
    tmp_path: Path, run: Runner, options: list[str], seed: int
) -> None:
    data, rules = survey(tmp_path)
    said = run("mask", data, "--rules", rules, "--out", tmp_path / "m.xml", "--seed", seed, *options)
    said.refuses(2, "weak-seed")
    assert not (tmp_path / "m.xml").exists()


@pytest.mark.parametrize("given", [KEY.hex(), KEY.hex().upper()])
def test_a_key_that_stands_in_the_place_of_its_file_is_not_repeated(tmp_path: Path, run: Runner, given: str) -> None:
    data, rules = survey(tmp_path)
    said = run("mask", data, "--rules", rules, "--out", tmp_path / "m.xml", "--secret", given)
    said.refuses(2, "bad-secret")
    assert given not in said.err


def test_k_binds_draws_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bound: list[Any] = []
    own = randomness._settings
    monkeypatch.setattr(randomness, "_settings", lambda *given: bound.append(own(*given)) or bound[-1])
    data, rules = survey(tmp_path)
    masktron.mask(data, rules, tmp_path / "m.xml", method="hybrid_micro", k=3, secret=KEY)
    assert bound[0]["k"] == 3
    assert "exact" in bound[0]["params"] and "k" not in bound[0]["params"]


def test_words_are_no_key(tmp_path: Path) -> None:
    (tmp_path / "release.key").write_text(b"MySecretKey12345".hex())
    with refused(UsageError, "bad-secret"):
        read_secret(tmp_path / "release.key")


def test_bytes_of_which_one_is_no_sign_are_a_key() -> None:
    for byte in (b"\x1f", b"\x7f"):
        assert secret_from(b"MySecretKey1234" + byte).endswith(byte)


def test_a_manifest_says_in_which_units_its_run_has_masked(tmp_path: Path) -> None:
    said = {KEY.hex(): None, "{}": None, '{"config": {}}': 0, '{"config": {"unit_records": 6}}': 6}
    for content, units in said.items():
        (tmp_path / "given").write_text(content)
        assert former_units(tmp_path / "given") == units


def test_a_given_key_says_what_it_repeats_and_what_not(tmp_path: Path) -> None:
    data, rules = survey(tmp_path)
    result = masktron.mask(data, rules, tmp_path / "m.xml", secret=KEY)
    assert any("another draw" in note for note in result.notes)


def test_a_seed_is_called_a_secret(tmp_path: Path, run: Runner) -> None:
    data, rules = survey(tmp_path)
    command = ("mask", data, "--rules", rules, "--out", tmp_path / "m.xml", "--seed")
    said = run(*command, SEED, "--method", "noise")
    assert said.code == 0, said.err
    assert "the seed is a secret" in said.out
    assert json.loads((tmp_path / "m.manifest.json").read_text())["secret"] == secret_of_seed(SEED).hex()
    again = masked(tmp_path, secret=tmp_path / "m.manifest.json", method="noise")
    assert run(*command, SEED, "--method", "noise").code == 0
    assert (tmp_path / "m.xml").read_bytes() == again


def test_a_seed_without_a_use_is_said_to_have_none(tmp_path: Path, run: Runner) -> None:
    data, rules = survey(tmp_path)
    said = run("mask", data, "--rules", rules, "--out", tmp_path / "m.xml", "--seed", 1, "--keep-order")
    assert said.code == 0, said.err
    assert "nothing is random in this run: the seed was not used" in said.out
    assert json.loads((tmp_path / "m.manifest.json").read_text())["secret"] is None


def test_the_order_is_no_function_of_what_an_attacker_has(tmp_path: Path) -> None:
    """With numpy's generators, seed and number of records alone gave back the place of every record."""
    survey(tmp_path, 300)
    masked(tmp_path, secret=KEY)
    manifest = json.loads((tmp_path / "m.manifest.json").read_text())
    order, n = np.array(manifest["order"]), 300
    assert sorted(order.tolist()) == list(range(n))
    tried = [
        np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,))).permutation(n) for seed in range(100)
    ]
    tried += [np.random.default_rng(seed).permutation(n) for seed in range(100)]
    tried += [Streams(secret_of_seed(seed)).generator("order").permutation(n) for seed in range(100)]
    returned = 100 * max(float(np.mean(one == order)) for one in (*tried, np.arange(n)))
    assert returned < 100 / n + three_errors(100 / n, n) + 1  # the largest of 301 by chance


def test_the_order_of_a_release_is_in_its_result_and_in_no_output(tmp_path: Path) -> None:
    data, rules = survey(tmp_path)
    result = masktron.mask(data, rules, tmp_path / "m.xml", k=2, order="random")
    assert result.order is not None
    assert result.order.tolist() == json.loads((tmp_path / "m.manifest.json").read_text())["order"]
    assert "order" not in result.as_dict()
    assert masktron.mask(data, rules, tmp_path / "m.xml", order="keep").order is None


@pytest.mark.parametrize(
    "changed",
    [
        '"key": "00112233445566778899aabbccddeeff", "secret"',
        '"key": null, "secret"',
        '"secret": "00112233445566778899aabbccddeeff", "secret"',
    ],
)
def test_a_manifest_says_its_secret_once(tmp_path: Path, changed: str) -> None:
    data, rules = survey(tmp_path)
    masktron.mask(data, rules, tmp_path / "m.xml", k=2)
    manifest = tmp_path / "m.manifest.json"
    manifest.write_text(manifest.read_text().replace('"secret"', changed, 1))
    with refused(masktron.UsageError, "bad-secret"):
        masktron.mask(data, rules, tmp_path / "again.xml", k=2, secret=manifest)
    with refused(masktron.UsageError, "not-a-manifest"):
        masktron.rerun(manifest, data, tmp_path / "again.xml", rules=rules)
    assert not (tmp_path / "again.xml").exists()


def test_fields_and_labels_called_role_and_key_stay_what_they_are(tmp_path: Path) -> None:
    """Names of earlier versions are renamed in their places alone."""
    data, rules, out = tmp_path / "d.csv", write_rules(tmp_path / "r.sch", "A >= 0"), tmp_path / "m.csv"
    rows = (f"{'role' if at % 2 else 'boss'},key,{at * 37 % 101}\n" for at in range(40))
    data.write_text("role,roles,A\n" + "".join(rows))
    (tmp_path / "role.csv").write_text("role;key\nboss;top\n")
    how = {"recode": {"role": f"{tmp_path / 'role.csv'}:1"}, "roles": {"roles": "quasi-identifier"}}
    masktron.mask(data, rules, out, k=3, **how)
    assert masktron.check(out, rules, original=data, manifest=tmp_path / "m.manifest.json").complies
