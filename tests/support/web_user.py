"""A user of masktron web who has the screen alone: clicks, types, waits for words, and downloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def _not_at_all(page: str) -> None:
    del page


@dataclass
class WebUser:
    """Goes the way through the pages in a browser.

    Attributes
    ----------
    page : playwright.sync_api.Page
        Of a browser that has come in.
    address : str
        Of the server; another one after it was started again.
    seconds : float
        That a step may take.
    look : callable
        Looks at each page that is reached, by its name.
    """

    page: Any
    address: str
    seconds: float = 120.0
    look: Callable[[str], None] = _not_at_all

    def __post_init__(self) -> None:
        """Let each click and each word that is waited for take its time."""
        self.page.set_default_timeout(1000 * self.seconds)

    def press(self, button: str) -> None:
        """Press a button."""
        self.page.get_by_role("button", name=button, exact=True).click()

    def see(self, words: str) -> None:
        """Wait until words stand on the page."""
        self.page.get_by_text(words).first.wait_for()

    def go(self, step: str) -> None:
        """Click on a step of the way, and look at its page."""
        self.page.get_by_role("navigation", name="The way through").get_by_role("link", name=step).click()
        self.page.get_by_role("heading", level=1, name=step).wait_for()
        self.look(step)

    def make_project(self, name: str) -> None:
        """Make a project from the list of them."""
        self.page.goto(f"{self.address}/")
        self.look("Projects")
        self.page.get_by_label("Name", exact=True).fill(name)
        self.press("Make the project")
        self.page.get_by_role("heading", level=1, name=name).wait_for()
        self.look("Project")

    def open_sample(self) -> None:
        """Open the sample by its one click."""
        self.page.goto(f"{self.address}/")
        self.press("Open the sample")
        self.page.get_by_role("heading", level=1, name="Sample").wait_for()

    def upload(self, data: Path, told: str) -> None:
        """Upload microdata, and wait until they were read."""
        self.go("Data")
        self.page.get_by_label("A file of microdata").set_input_files(data)
        self.press("Upload")
        self.see(told)
        self.look("Data, read")

    def say_levels(self, key: str, fields: str, told: str) -> None:
        """Say which columns of a table are those of households, and wait until it was read so."""
        self.page.get_by_text("Households with their persons in one table").click()
        self.page.get_by_label("Column with the number of the household").fill(key)
        self.page.get_by_label("Columns of the household: the same on all its rows").fill(fields)
        self.look("Data, levels")
        self.press("Read it as records in records")
        self.see(told)
        self.look("Data, read by levels")

    def accept(self, *rules: str) -> None:
        """Have the data looked at, and accept rules that they suggest one at a time."""
        self.go("Rules")
        self.page.get_by_role("link", name="see what the data suggest").click()
        self.press("Look at the data")
        self.see("conditions were found")
        self.look("Suggested")
        for at, rule in enumerate(rules):
            if at:
                self.page.get_by_role("link", name="What the data suggest").click()
            self.page.get_by_label(f"Accept {rule}", exact=True).check()
            self.press("Add what is ticked to the rules")
            self.page.get_by_role("heading", level=2, name=rule, exact=True).wait_for()

    def upload_rules(self, rulebook: Path) -> None:
        """Upload a rulebook, and wait until its rules were read."""
        self.go("Rules")
        self.page.get_by_label("A Schematron file").set_input_files(rulebook)
        self.press("Upload")
        self.see("asked of every record")

    def type_rule(self, name: str, context: str, test: str, told: str) -> None:
        """Type a rule into the editor, see what its check says, and save it."""
        self.page.get_by_role("link", name="Add a rule").click()
        self.look("Editor")
        self.page.get_by_label("Asked of").fill(context)
        self.page.get_by_label("What is wrong where it fails").fill(f"{name} does not hold")
        self.page.get_by_label("Short name").fill(name)
        self.page.get_by_label("What has to hold").press_sequentially(test, delay=10)
        self.page.locator("#checked").get_by_text(told).wait_for()
        self.look("Editor, checked")
        self.press("Save")
        self.page.get_by_role("heading", level=2, name=name, exact=True).wait_for()
        self.see("asked of every record")
        self.look("Rules, checked")

    def validate(self, verdict: str) -> None:
        """Have all records judged."""
        self.go("Validate")
        self.press("Validate")
        self.see(verdict)
        self.look("Validate, judged")

    def say_roles(
        self, roles: Mapping[str, str], amounts: Sequence[str] = (), missing: Mapping[str, str] | None = None
    ) -> None:
        """Say what fields are, which hold amounts, and which codes mean that a value is missing."""
        self.go("Roles")
        for name, role in roles.items():
            self.page.locator(f"[id='roles.{name}']").select_option(role)
        for name in amounts:
            self.page.locator(f"[id='kind.{name}']").select_option("number")
        for name, code in (missing or {}).items():
            self.page.locator(f"[id='missing.{name}']").fill(code)
        self.press("Save")
        self.see("Every text field has a role")
        self.page.get_by_text("The file is being read").first.wait_for(state="hidden")
        self.look("Roles, said")

    def choose(self, sizes: str, *methods: str) -> None:
        """Try ways to mask with the smallest budget, and take the one that is recommended."""
        self.go("Choose")
        self.page.get_by_label("How long it may take").select_option("2m")
        self.page.get_by_label("Smallest groups to try").fill(sizes)
        self.page.locator("[id='limits.linkage']").fill("89")  # without a limit nothing is recommended
        if methods:
            self.page.get_by_text("Choose methods yourself").click()
        for name in methods:
            self.page.locator(f"#method-{name}").check()
        self.press("Try ways to mask")
        self.see("Ways to mask are being tried")
        self.look("Choose, under way")
        self.see("Recommended: ")
        assert self.page.locator("img.map").evaluate("one => one.complete && one.naturalWidth") > 100
        self.look("Choose, tried")
        self.page.get_by_role("row").filter(has_text="recommended").get_by_role("button").click()
        self.see("In the settings now: ")

    def plan(self, fields: str) -> None:
        """See what is masked together."""
        self.go("Mask")
        self.press("Look now")
        self.page.locator("#planning").get_by_text(fields).first.wait_for()
        self.look("Mask, planned")

    def begin_masking(self) -> None:
        """Press the button, and see the run under way or over."""
        self.press("Mask")
        self.page.locator("#masking h2").wait_for()
        self.look("Mask, under way")

    def see_masked(self) -> None:
        """Wait for the end of masking."""
        self.see("What came of it")
        self.see("Rules: green. Every rule holds")
        # nothing but masking has happened since
        assert "have changed since" not in self.page.locator("main").inner_text()
        self.look("Mask, masked")

    def release(self, masked: str) -> None:
        """Have the masked file checked once more."""
        self.go("Release")
        self.press(f"Check {masked} once more")
        self.see("Checked: it complies")
        self.look("Release, checked")

    def download(self, name: str, folder: Path) -> Path:
        """Click on the link of a download, and return the file."""
        with self.page.expect_download() as found:
            self.page.locator(f"a[download][href$='/{name}'], a[href$='/download/{name}']").first.click()
        assert found.value.suggested_filename == name
        found.value.save_as(folder / name)
        return folder / name
