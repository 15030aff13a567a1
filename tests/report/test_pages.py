"""Pages: what they hold, what they load, what they hide; and the same bytes for the same input."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Tree

import pytest
from lxml import html

from browser import axe_findings, shown, started
from examples import parts
from made_pages import KINDS, made_pages
from made_up_map import candidate, crowded_map, made_up_map
from masktron.errors import UsageError
from masktron.report.pages.common_parts import mathematical
from masktron.report.pages.html import html_of
from masktron.report.pages.page import Page, PagePicture, Section, Sentences
from masktron.report.pages.tune_page import _short, tune_page
from masktron.report.pages.validate_page import FindingExample, FindingsSummary
from masktron.report.pictures.bars import Bar, Bars
from masktron.report.rendering import page_of, result_from
from masktron.report.result_table import Mark, ResultTable
from masktron.results import JobResult, TuneCandidate
from masktron.serialised import read_plain
from told_results import conforming, validated

SEEN = (("public", 360, "dark"), ("tune", 2560, "light"))
"""Windows that are looked at in a quick run."""
WINDOWS = tuple(product(KINDS, (360, 1280, 2560), ("light", "dark")))
CONFIDENTIAL = {"validate", "explain", "check", "assess", "mask", "tune"}


def _read(content: dict[str, Any]) -> JobResult:
    return result_from(content, Path("x.json"))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return made_pages(tmp_path_factory.mktemp("pages"))


def page_with(*parts: PagePicture | ResultTable | Sentences, title: str = "a title") -> Page:
    return Page(title, "a kind", "internal", (Mark("well", "good"),), "a lead", (Section("one", "One", parts),))


def bars(name: str = "bars", label: str = "a label") -> PagePicture:
    table = ResultTable("Numbers", ("name", "number"), ((label, "3"),), frozenset({"number"}))
    return PagePicture(name, label, "A sentence.", Bars((Bar(label, 3.0, "3"), Bar("b", 1.0, "1")), "an axis"), table)


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_says_whom_it_is_for_on_screen_and_on_every_sheet(pages: dict[str, Path], kind: str) -> None:
    text = pages[kind].read_text()
    page = html.fromstring(text)
    marked = page.xpath("//*[@class='confidential']"), page.xpath("//*[@class='on-every-sheet']")
    assert all(bool(one) is (kind in CONFIDENTIAL) for one in marked)
    assert ("CONFIDENTIAL" in page.xpath("//title")[0].text) is (kind in CONFIDENTIAL)
    assert "position: fixed" in text.split(".on-every-sheet { display: block;")[1][:80]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_loaded_from_anywhere(pages: dict[str, Path], kind: str) -> None:
    text = pages[kind].read_text()
    page = html.fromstring(text)
    assert not page.xpath("//@src|//link|//iframe|//img|//object|//form|//base")
    assert all(one.startswith("#") for one in page.xpath("//@href"))
    assert not re.search(r"url\((?!#)|@import|https?://", text)
    policy = page.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")


@pytest.mark.parametrize("kind", KINDS)
def test_each_picture_has_a_sentence_a_name_and_its_numbers(pages: dict[str, Path], kind: str) -> None:
    page = html.fromstring(pages[kind].read_text())
    figures = page.xpath("//figure")
    assert figures or kind in {"check"}
    for figure in figures:
        assert figure.xpath(".//figcaption/p")[0].text_content().endswith(".")
        drawing = figure.xpath(".//div[contains(@class, 'drawing')]")[0]
        assert drawing.get("role") in {"img", "group"}
        assert figure.xpath(".//figcaption/p")[0].text_content() in drawing.get("aria-label")
        assert drawing.xpath(".//text"), "texts are texts"
        assert figure.xpath(".//details//tbody/tr")
    ids = page.xpath("//@id")
    assert len({*ids}) == len(ids)
    assert {one.removeprefix("#") for one in page.xpath("//@href")} <= {*ids}


def test_pages_show_what_readers_want_to_see(pages: dict[str, Path]) -> None:
    found = {kind: {*html.fromstring(pages[kind].read_text()).xpath("//figure/@id")} for kind in KINDS}
    assert {"failures-by-rule", "failures-by-class", "failures-by-field", "failures-by-region"} <= found["validate"]
    assert found["counts"] == {"failures-by-rule", "failures-by-class"}
    assert {"graph-of-rules"} == found["explain"] == found["rulebook"]
    both = {"risk-and-utility", "means", "variances", "correlations-before", "correlations-after", "loss-by-field"}
    assert both | {"linkage-by-knowledge", "distribution-0", "correlations-change"} <= found["assess"]
    assert found["assess"] | {"loss-by-block"} <= found["mask"] | {"group-sizes-0"}
    assert found["public"] == {"variance-kept"}
    assert found["tune"] == {"risk-utility-map"}


def test_a_page_of_counts_shows_no_record(pages: dict[str, Path]) -> None:
    texts = {kind: pages[kind].read_text() for kind in ("validate", "counts")}
    assert "Records that break the most rules" in texts["validate"]
    assert not re.search(r"Records that break|first findings|Regions|\d{7}", texts["counts"].split("<main")[1])


def test_the_same_input_gives_the_same_bytes() -> None:
    one, two = (html_of(page_with(bars())) for _ in range(2))
    assert one == two


def test_what_a_rulebook_calls_things_is_shown_and_never_obeyed() -> None:
    name = "</script><script>alert(1)</script>\u202e\x9b$a_b^c$ & <b>"
    text = html_of(page_with(bars(label=name), Sentences(f"{name} --limit linkage=20"), title=name))
    page = html.fromstring(text)
    assert len(page.xpath("//script")) == 1
    assert not page.xpath("//main//b")
    assert not re.search("[\u202e\x9b]", text)
    assert "\\u202e\\x9b$a_b^c$ & <b>" in page.xpath("//h1")[0].text
    assert page.xpath("//main//code")[0].text == "--limit"
    assert any("</script>" in one for one in page.xpath("//*[local-name()='svg']//*[local-name()='text']/text()"))


def test_pictures_are_small_and_take_the_colours_of_the_page() -> None:
    text = html_of(page_with(bars()))
    svg = Tree.fromstring(re.findall(r"<svg.*?</svg>", text, re.DOTALL)[0])
    assert {"var(--after)", "var(--ink)"} <= {*re.findall(r"var\(--\w+\)", Tree.tostring(svg, encoding="unicode"))}
    numbers = [
        one for node in svg.iter() for key in ("d", "x", "y") for one in re.findall(r"[\d.]+", node.get(key, ""))
    ]
    assert numbers
    assert all(len(one.partition(".")[2]) <= 2 for one in numbers)
    assert not re.search(r"font-family|DejaVu|<style|metadata|20\d\d-", Tree.tostring(svg, encoding="unicode"))


def test_tables_are_as_wide_as_their_head() -> None:
    with pytest.raises(ValueError, match="not 2 cells"):
        ResultTable("Numbers", ("name", "number"), (("a", "b", "c"),))
    with pytest.raises(ValueError, match="lacks a column"):
        ResultTable("Numbers", ("name",), (("a",),), frozenset({"number"}))


def test_every_point_of_the_map_is_a_link_to_its_row(pages: dict[str, Path]) -> None:
    page = html.fromstring(pages["tune"].read_text())
    for look in ("wide", "narrow"):
        links = page.xpath(f"//figure/div/div[contains(@class, '{look}')]//*[local-name()='a']")
        assert len(links) == 8  # the others have no figures
        for link in links:
            row = page.xpath(f"//tr[@id='{link.get('href').removeprefix('#')}']")[0]
            number, name = (row.xpath(one)[0].text_content() for one in ("th", "td"))
            assert link.get("aria-label").startswith(f"{number} {name}: ")
    best = page.xpath("//tr[contains(td[2], 'recommended')]")
    assert [one.get("id") for one in best] == ["candidate-5"]
    assert "38.0 % (36.1 to 39.5)" in best[0].text_content()
    assert not page.xpath("//th[.='measured']")  # all are, as there is no sample


def test_all_that_is_to_be_said_of_a_candidate_stands_in_its_row_and_in_its_point() -> None:
    page = html.fromstring(html_of(tune_page(_read(crowded_map()))))
    told = {
        0: ["front", "outside a limit"],
        3: ["outside a limit", "on the sample"],
        6: ["within limits", "on the sample"],
        12: ["recommended", "front", "within limits"],
    }
    for at, marks in told.items():
        row = page.xpath(f"//tr[@id='candidate-{at}']")[0]
        assert row.xpath("th")[0].text_content() == str(at)
        assert row.xpath(".//span[contains(@class, 'mark')]/text()") == marks
        for link in page.xpath(f"//*[local-name()='a'][@href='#candidate-{at}']"):
            assert link.get("aria-label").endswith(f"; {', '.join(marks)}")
    marks = {
        at: page.xpath(f"(//*[local-name()='a'][@href='#candidate-{at}'])[1]//*[@style]/@style") for at in (2, 3)
    }
    assert marks[2] != marks[3]
    assert all("--warn" in str(style) for style in marks.values())  # outside a limit, on the sample as on all records


def test_without_limits_nothing_is_within_them() -> None:
    content = made_up_map() | {"limits": {}}
    content["candidates"] = [one | {"within_limits": True} for one in content["candidates"] if one["figures"]]
    content |= {"front": [], "recommended": None}
    assert "within limits" not in html_of(page_of(_read(content)))


def test_a_map_without_a_recommendation_says_so() -> None:
    content = made_up_map() | {
        "recommended": None,
        "why": "linkage excludes all of them.",
        "front": [],
        "sample": 100,
    }
    content["candidates"] = [candidate("mdav", 3, state="sampled")]
    page = page_of(_read(content))
    assert page.verdict == (Mark("Nothing is recommended", "bad"),)
    assert page.lead == "linkage excludes all of them."
    assert "a sample of 100" in html_of(page)
    assert "on a sample alone" in html_of(page)  # in the legend


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        *((key, value, "names no candidate") for key, value in (("recommended", 99), ("recommended", -1))),
        *(("front", ["x"], r"front\[0\] is not an integer"), ("front", [99], "names no candidate")),
        *(("risk", "x", "x is no figure"), ("utility", None, "None is no figure")),
        *(("figures", {"x": 1.0}, "x is no figure"), ("state", "x", r"candidates\[0\].state is none of measured")),
    ],
)
def test_a_damaged_map_is_refused(key: str, value: object, message: str) -> None:
    content = made_up_map()
    (content if key in content else content["candidates"][0])[key] = value
    with pytest.raises(UsageError, match=message):
        page_of(_read(content))


def test_points_of_one_method_are_told_apart_by_parameters() -> None:
    assert [_short(read_plain(TuneCandidate, candidate("noise", 5, params={"c": c}), "")) for c in (0.2, 0.5)] == [
        "noise 5, all, c = 0.2",
        "noise 5, all, c = 0.5",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"job": "check"}, "data is missing"),
        ({"job": "check", "data": 1}, "data is not a text"),
        ({"job": "validate", "rules": {}}, "rules is not a list"),
        ({"job": "validate", "rules": [3]}, r"rules\[0\] is not a table"),
        ({"job": "mask", "output": "x", "blocks": []}, "manifest is missing"),
        ({"job": 3}, "no page of a result of '3'"),
    ],
)
def test_what_is_no_result_is_refused(content: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        _read(content)


def test_a_rule_that_the_file_does_not_test_has_no_count() -> None:
    untested = {"what": "it fires on nothing", "hint": "look", "misnamed": True, "allowed": False}
    rules = [{"id": "idle", "fired": 0, "failed": None, "untested": untested, "passes": False}, {"id": "sum"}]
    result = conforming(validated(rules, []) | {"valid": False})
    text = html_of(page_of(_read(result)))
    row = re.search(r"<tr[^>]*><t[hd][^>]*>idle<.*?</tr>", text, re.DOTALL)
    assert row is not None
    cells = [cell.text_content() for cell in html.fromstring(f"<table>{row[0]}</table>").iter("th", "td")]
    assert cells[2:6] == ["not tested", "0", "\N{EN DASH}", "0"]


def test_findings_add_up() -> None:
    summary = FindingsSummary()
    for record in (0, 0, 5, 99):
        for rule in ("a", "b") if record == 5 else ("a",):
            summary.add(FindingExample(rule, "error", f"{record + 1}", f"k{record}", "1", "", ""), ("X", "Y"))
    summary.add(FindingExample("c", "error", "", "", "1", "", ""), ("Z",))  # on no record
    assert summary.fields == {"X": 5, "Y": 5, "Z": 1}
    assert summary.failing.tolist() == [0, 5, 99]
    assert summary.by_region(100, 4).tolist() == [2, 0, 0, 1]
    assert [(one.record, one.record_id, one.rules) for one in summary.worst] == [(6, "k5", ("a", "b"))]


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ("A <= B - 2 * C or A != 'x <= y'", "A ≤ B \N{MINUS SIGN} 2 · C or A ≠ 'x <= y'"),
        ("16 <= Age <= 100", "16 ≤ Age ≤ 100"),
        ("a-b >= 1", "a-b ≥ 1"),
    ],
)
def test_rules_have_the_signs_of_mathematics(form: str, shown: str) -> None:
    assert mathematical(form) == shown


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started() as found:
        yield found


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("kind", "width", "scheme"), parts([*SEEN, *(one for one in WINDOWS if one not in SEEN)], len(SEEN))
)
def test_everybody_can_read_it_at_any_width_by_day_and_by_night(
    pages: dict[str, Path], browser: Any, kind: str, width: int, scheme: str
) -> None:
    with shown(browser, pages[kind], width=width, scheme=scheme, bypass_csp=True) as page:
        assert axe_findings(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it scrolls sideways"
        assert page.asked == [pages[kind].as_uri()]
        assert page.complaints == []


def test_no_request_leaves_a_page_even_if_somebody_writes_one_into_it(pages: dict[str, Path], browser: Any) -> None:
    with shown(browser, pages["mask"]) as page:
        page.evaluate(
            "document.body.insertAdjacentHTML('beforeend', '<img src=\"http://127.0.0.1:9/a.png\">'); "
            "fetch('http://127.0.0.1:9/b').catch(() => 0)"
        )
        page.wait_for_timeout(100)
        assert page.refused == dict.fromkeys(page.asked[1:], "csp")
        assert sum("Content Security Policy" in one for one in page.complaints) >= 2


@pytest.mark.full
def test_every_point_of_the_map_is_reached_by_keyboard(pages: dict[str, Path], browser: Any) -> None:
    with shown(browser, pages["tune"]) as page:
        reached = []
        for _ in range(40):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.getAttribute('href')"))
        points = [f"#candidate-{at}" for at in range(8)]
        first = [one for one in reached if one in points][:8]
        assert first == [one for one in points if one != "#candidate-5"] + ["#candidate-5"]  # the best is drawn last
        page.evaluate("document.querySelector('svg a[href=\"#candidate-5\"]').focus()")
        page.keyboard.press("Enter")
        assert page.evaluate("document.querySelector('tr:target').id") == "candidate-5"


def test_a_page_needs_no_script_and_a_script_sorts_and_filters(pages: dict[str, Path], browser: Any) -> None:
    with shown(browser, pages["tune"], java_script_enabled=False) as page:
        assert page.locator("tbody tr:visible").count() >= 11
        page.locator("summary").first.click()
        assert page.locator("details[open] tbody tr").count() == 8
    with shown(browser, pages["tune"]) as page:
        table = page.locator("table[data-sortable]").first
        first = table.locator("tbody tr").first
        table.locator("thead button", has_text="linkage").click()
        assert first.get_attribute("id") == "candidate-6"  # the least linkage of all
        table.locator("thead button", has_text="linkage").click()
        assert first.get_attribute("id") == "candidate-7"
        assert table.locator("th[aria-sort=descending]").count() == 1
        page.get_by_role("searchbox").fill("grouping rules")
        assert table.locator("tbody tr:visible").count() == 1
        assert page.get_by_role("status").inner_text() == "1 of 11"


WIDER = """() => [...document.querySelectorAll("body *")].filter(one => {
    const box = one.getBoundingClientRect();
    if (!box.width || box.right <= innerWidth + 1 || one.closest(".unseen, .skip")) return false;
    const frame = one.closest(".scroll");
    return !(frame && frame !== one && frame.tabIndex === 0 && getComputedStyle(frame).overflowX === "auto"
             && frame.getBoundingClientRect().right <= innerWidth + 1);
}).map(one => one.outerHTML.slice(0, 120))"""
"""What reaches beyond the window and is in no frame that scrolls and takes the keyboard."""
UNTOLD = """() => [...document.querySelectorAll(".scroll")].filter(one =>
    one.scrollWidth > one.clientWidth + 1 && !one.parentNode.querySelector(".hint").checkVisibility()).length"""


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", [*KINDS, "crowded"])
def test_nothing_is_cut_in_a_narrow_window(pages: dict[str, Path], browser: Any, kind: str) -> None:
    with shown(browser, pages[kind], width=360) as page:
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        page.wait_for_function("!document.querySelector('details:not([open])')")
        assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
        assert page.evaluate(WIDER) == []
        assert page.evaluate(UNTOLD) == 0
        assert page.evaluate("[...document.querySelectorAll('.facts .value')].every(one => one.textContent)")


def test_the_table_of_candidates_is_seen_as_a_whole(pages: dict[str, Path], browser: Any) -> None:
    with shown(browser, pages["crowded"]) as page:
        frame = page.locator("#candidates .scroll")
        assert frame.evaluate("one => one.scrollWidth <= one.clientWidth")
        assert page.get_by_role("columnheader", name="why not").is_visible()


COVERED = """frame => {
    const svg = [...document.querySelectorAll(frame + " svg")].find(one => one.checkVisibility());
    const box = one => one.getBoundingClientRect();
    const apart = (a, b) => a.right <= b.left + 0.5 || b.right <= a.left + 0.5
        || a.bottom <= b.top + 0.5 || b.bottom <= a.top + 0.5;
    const texts = [...svg.querySelectorAll("text")], marks = [...svg.querySelectorAll("a use")];
    const found = [];
    texts.forEach((one, at) => {
        texts.slice(at + 1).filter(other => !apart(box(one), box(other)))
            .forEach(other => found.push(one.textContent + " | " + other.textContent));
        marks.filter(mark => !apart(box(one), box(mark)))
            .forEach(mark => found.push(one.textContent + " on a point"));
    });
    return [texts.map(one => one.textContent), marks.length, found];
}"""


@pytest.mark.parametrize("width", [360, 1280])
def test_names_on_the_map_cover_no_point_and_no_other_name(pages: dict[str, Path], browser: Any, width: int) -> None:
    with shown(browser, pages["crowded"], width=width) as page:
        texts, points, covered = page.evaluate(COVERED, "#risk-utility-map")
        assert points == 21
        numbers = {text.split()[0] for text in texts if not text.isdigit() or width == 360} | {*texts}
        assert {str(at) for at in range(21)} <= numbers, "each point has its number"
        assert covered == []


@pytest.mark.full
def test_on_paper_each_sheet_is_marked_in_its_margin(pages: dict[str, Path], browser: Any) -> None:
    with shown(browser, pages["tune"]) as page:
        mark = page.locator(".on-every-sheet")
        assert not mark.is_visible()
        page.emulate_media(media="print")
        assert mark.is_visible()
        assert mark.evaluate("one => getComputedStyle(one).position") == "fixed"
        assert page.locator("nav").is_hidden()
        assert page.locator("details").is_hidden()  # what a reader has opened is printed
        main = page.locator("main").bounding_box()
        assert mark.bounding_box()["x"] >= main["x"] + main["width"]  # it covers nothing
        assert len(page.pdf(format="A4")) > 10_000
