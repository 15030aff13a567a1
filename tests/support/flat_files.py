"""Files of records with everything that XML allows in them, for the differential tests of the reader."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

ROOT = '<{p}Data xmlns="{default}" xmlns:p="u" xmlns:q="u" note="a &amp; b">'
NAMES = ("V1", "V10", "V", "p:V1", "q:V1", "q:V2", "é", "id")
ATTRIBUTES = ("id", "p:id", "q:id", "V1")

TAME_VALUES = (
    *(
        "",
        "1",
        "-2.50",
        " 3 ",
        "abc",
        "d\n e",
        "x]y",
        "]",
        "]]",
        "a>b",
        "\t",
        "5\n",
        "été",
        "\xa0",
        "it's",
        '"',
        "]] >",
    ),
    *("a&amp;b", "&lt;V1&gt;", "&#65;", "&quot;&apos;", "\r\n", "a\rb", "<![CDATA[<V1>7</V1>]]>", "1<!-- </V1> -->2"),
    *("<!---->", "<?p </V1>?>", "<![CDATA[]]>", "a<![CDATA[]]]]><![CDATA[>]]>", "&#13;", "&#x9;"),
)
WILD_VALUES = ("1<c>9</c>2", "<R><V1>1</V1></R>", "<c xmlns='w'/>", "<V1/>", "<p:R a='>'/>", "<c a='/V1>'/>")
ATTRIBUTE_VALUES = (
    "",
    "1",
    "x y",
    "a&amp;b",
    "&#65;",
    "a\tb",
    "a\nb",
    "a\r\nb",
    ">",
    "/>",
    "it",
    "été",
    "]]>",
    "xmlns",
)
SPACES = ("", "\n", " ", "\r\n", "\r", "\n\t", "\n\n  ")
REMARKS = ("<!-- <R> -->", "<?target <R/> ?>", "<!---->", "<?t?>", "<!-- - -->\n<!--\r\n-->")
BROKEN = (
    *("<V1>1</V1", "<V1>\x01</V1>", "<V1>]]></V1>", "<V1>&nope;</V1>", "<V1>&#0;</V1>", "<n:V1/>", "<V1>1</V2>"),
    *("<V1 a='1' a='2'/>", "<V1 p:a='1' q:a='2'/>", "<V1><?p:i x?></V1>", "<V1 xmlns:p=''/>", "<a:b:c/>", "\ufffe"),
    *(
        "<V1>\uffff</V1>",
        "<V1>&</V1>",
        "<V1>&lt</V1>",
        "</R></Data>",
        "<V1 b='<'/>",
        "<?xml version='1.0'?>",
        "<!-- -- -->",
    ),
)


@dataclass(frozen=True)
class FlatFile:
    """A file, and the prefixed name of its records."""

    data: bytes
    record: str
    default: str


def _spaces() -> st.SearchStrategy[str]:
    return st.sampled_from(SPACES)


@st.composite
def _attribute(draw: st.DrawFn, name: str) -> str:
    quote = draw(st.sampled_from("\"'"))
    return (
        f"{draw(st.sampled_from((' ', '\n', '\r\n ')))}{name}={quote}{draw(st.sampled_from(ATTRIBUTE_VALUES))}{quote}"
    )


@st.composite
def _field(draw: st.DrawFn, name: str, values: tuple[str, ...], wild: bool) -> str:
    value = draw(st.sampled_from(values))
    extra = draw(st.sampled_from(("", "", "", " a='1'", " xmlns='w'", " xmlns:p='w'"))) if wild else ""
    gap = draw(st.sampled_from(("", "", " ", "\n", "\r\n")))
    if not value and draw(st.booleans()):
        return f"<{name}{extra}{gap}/>"
    return f"<{name}{extra}{gap}>{value}</{name}{gap}>"


@st.composite
def _record(draw: st.DrawFn, tag: str, names: tuple[str, ...], attributes: tuple[str, ...], wild: bool) -> str:
    values = (
        TAME_VALUES + WILD_VALUES * 2 if wild else TAME_VALUES[: draw(st.sampled_from((8, 17, len(TAME_VALUES))))]
    )
    chosen = draw(st.lists(st.sampled_from(names), max_size=6, unique=not wild or draw(st.booleans())))
    inside = [draw(_field(name, values, wild and draw(st.integers(0, 3)) == 0)) for name in chosen]
    if draw(st.integers(0, 5)) == 0:
        inside.insert(0, draw(st.sampled_from(REMARKS)))
    if wild and draw(st.integers(0, 5)) == 0:
        inside.append(draw(st.sampled_from(("text", "&#32;", "<![CDATA[ ]]>", "<other/>", "&amp;"))))
    opening = "".join(draw(_attribute(name)) for name in draw(st.lists(st.sampled_from(attributes), unique=True)))
    if wild and draw(st.integers(0, 5)) == 0:
        opening += draw(st.sampled_from((" xmlns:n='n'", " xmlns:q='w'")))
    if not inside and draw(st.booleans()):
        return f"<{tag}{opening}{draw(_spaces())}/>"
    gap = draw(_spaces())
    return f"<{tag}{opening}{draw(_spaces())}>{gap.join(['', *inside, ''])}</{tag}{draw(_spaces())}>"


@st.composite
def flat_files(draw: st.DrawFn, *, wild: bool = False, broken: bool = False) -> FlatFile:
    """Files that are flat, or with anything inside their records, or not even well-formed."""
    tag, default = draw(st.sampled_from(("R", "p:R", "é"))), draw(st.sampled_from(("", "d", "u")))
    names = NAMES if wild else draw(st.sampled_from((("V1", "V10", "V", "é", "id"), ("q:V1", "p:W", "p:V"))))
    attributes = ("id", "V1", "p:id") if wild else draw(st.sampled_from((("id", "V1"), ("p:id",))))
    kind = draw(st.lists(st.booleans(), min_size=3, max_size=9))
    records = [draw(_record(tag, names, attributes, wild and odd)) for odd in kind]
    if broken:
        records.insert(draw(st.integers(0, len(records))), f"<{tag}>{draw(st.sampled_from(BROKEN))}</{tag}>")
    body = ""
    for record in records:
        body += draw(_spaces())
        if draw(st.integers(0, 4)) == 0:
            body += draw(st.sampled_from(REMARKS)) + draw(_spaces())
        body += record
    tail = draw(st.sampled_from(("", "\n", "\r\n<!-- end -->\n", "<?end?>")))
    encoding = draw(st.sampled_from(("", "utf-8", "iso-8859-1", "windows-1252")))
    text = f'<?xml version="1.0" encoding="{encoding}"?>\r\n' if encoding else ""
    text += draw(st.sampled_from(("", "<!DOCTYPE Data>", "<!-- <R/> -->\n")))
    prefix = draw(st.sampled_from(("", "p:")))
    text += ROOT.format(p=prefix, default=default) + body + draw(_spaces()) + f"</{prefix}Data>" + tail
    bom = "\ufeff" if encoding in {"", "utf-8"} and draw(st.booleans()) else ""
    return FlatFile((bom + text).encode(encoding or "utf-8", "xmlcharrefreplace"), tag, default)
