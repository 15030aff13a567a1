"""Results in a notebook: the heart of them as HTML, and pictures on an Axes of the user's."""

from __future__ import annotations

from pathlib import Path

from lxml import html
from matplotlib.figure import Figure

import masktron
from masktron.errors import UsageError
from masktron.results import JobResult
from refusals import refused
from secret_files import found_in, secret_file


def test_the_heart_of_every_result_and_the_picture_that_says_most(tmp_path: Path) -> None:
    file = secret_file(tmp_path, 1)
    roles = {"GROUP": "untouched"}
    result = masktron.mask(file.data, file.rules, tmp_path / "out.csv", roles=roles)
    broken = tmp_path / "broken.csv"
    broken.write_text(file.data.read_text().replace("\n", "\n1", 1))
    told: dict[str, JobResult] = {
        "Every rule holds": result,
        "Not valid": masktron.validate(broken, file.rules),
        "3 of 3 rules understood": masktron.explain(file.rules, file.data, roles=roles),
        "Complies as far as it was checked": masktron.check(tmp_path / "out.csv", file.rules),
        "Rules are not judged here": masktron.assess(
            tmp_path / "out.csv", file.data, manifest=result.manifest, measures=("linkage", "information_loss")
        ),
        "mean": masktron.combine({"mean": ([10, 12, 14], [3, 4, 5])}),
    }
    for words, one in told.items():
        shown = one._repr_html_()
        assert words in html.fromstring(shown).text_content()
        assert not found_in(shown, file.secrets)
        assert "<script" not in shown
    for one in (result, told["Not valid"], told["3 of 3 rules understood"], told["Rules are not judged here"]):
        ax = Figure().add_subplot()
        assert one.plot(ax) is ax
        assert ax.has_data() or ax.patches
    with refused(UsageError, "nothing-to-plot"):
        masktron.validate(file.data, file.rules).plot()
    assert not hasattr(told["mean"], "plot")
