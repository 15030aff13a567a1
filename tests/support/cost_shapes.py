"""Rulebooks and files of one shape and any size: what must take time in proportion to that size.

Each shape of rules has a name and makes the text of a rulebook with so many rules (or terms, or variables); each
shape of file makes the bytes of a document of so many records. `tests/whole/test_costs.py` counts what they take, and
`benchmarks/costs.py` measures it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

_HEAD = '<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="{binding}">'


def _schema(body: str, binding: str = "xslt") -> str:
    return f"{_HEAD.format(binding=binding)}{body}</schema>"


def _rule(context: str, *asserts: str, ids: str = "r", before: str = "") -> str:
    checks = "".join(f'<assert id="{ids}.{k}" test="{test}">no</assert>' for k, test in enumerate(asserts))
    return f'<rule context="{context}">{before}{checks}</rule>'


def _conditions(size: int) -> str:
    """Rules with conditions in one pattern, so that each excludes the ones before."""
    return _schema(
        f"<pattern>{''.join(_rule(f'R[A = {i}]', f'B &gt;= {i % 7}', ids=f'r{i}') for i in range(size))}</pattern>"
    )


def _wide_conditions(size: int) -> str:
    """Rules in one pattern with conditions on ranges of several fields."""
    rules = (_rule(f"R[A &gt; {i} and B &lt; {i + 9}]", f"C &gt;= {i % 7}", ids=f"r{i}") for i in range(size))
    return _schema(f"<pattern>{''.join(rules)}</pattern>")


def _patterns(size: int) -> str:
    """The same conditions, each in a pattern of its own."""
    rules = (_rule(f"R[A = {i}]", f"B &gt;= {i % 7}", ids=f"r{i}") for i in range(size))
    return _schema("".join(f"<pattern>{rule}</pattern>" for rule in rules))


def _ranges(size: int) -> str:
    return _schema(
        f"<pattern>{_rule('R', *(f'A &gt;= -{i} and B &lt;= {i + 1000} and C + A &gt;= -{i}' for i in range(size)))}"
        "</pattern>"
    )


def _disjunction(size: int) -> str:
    return _schema(f"<pattern>{_rule('R', ' or '.join(f'A = {i}' for i in range(size)))}</pattern>")


def _mixed_disjunction(size: int) -> str:
    """Alternatives that do not merge."""
    return _schema(
        f"<pattern>{_rule('R', ' or '.join(f'(A = {i} and B &gt; {i % 9})' for i in range(size)))}</pattern>"
    )


def _conjunction(size: int) -> str:
    return _schema(f"<pattern>{_rule('R', ' and '.join(f'A != -{i + 1}' for i in range(size)))}</pattern>")


def _clauses(size: int) -> str:
    """A conjunction of disjunctions, which has as many alternatives as there are choices."""
    return _schema(
        f"<pattern>{_rule('R', ' and '.join(f'(A &gt; -{i + 1} or B &lt; {i + 9})' for i in range(size)))}</pattern>"
    )


def _nested(size: int) -> str:
    test = "true()"
    for i in reversed(range(size)):
        test = f"if (A = {i}) then B &gt;= 0 else {test}"
    return _schema(f"<pattern>{_rule('R', test)}</pattern>", "xslt2")


def _lets(size: int) -> str:
    lets = "".join(f'<let name="x{i}" value="A + {i}"/>' for i in range(size))
    return _schema(f"<pattern>{_rule('R', *(f'$x{i} &gt;= {i}' for i in range(size)), before=lets)}</pattern>")


def _chained_lets(size: int) -> str:
    """Each variable reads the one before, and each rule reads its own."""
    lets = "".join(f'<let name="x{i}" value="{f"$x{i - 1}" if i else "A"} + 1"/>' for i in range(size))
    return _schema(f"<pattern>{_rule('R', *(f'$x{i} &gt;= {i}' for i in range(size)), before=lets)}</pattern>")


def _schema_lets(size: int) -> str:
    lets = "".join(f'<let name="x{i}" value="{i}"/>' for i in range(size))
    rules = _rule("R", *(f"A &gt;= 0 - $x{i}" for i in range(size)))
    return _schema(f"{lets}<pattern>{rules}</pattern>")


def _keys(size: int) -> str:
    """Unique keys."""
    tests = (f"count(//R[ID = current()/ID and A + 1 &gt; -{i}]) = 1" for i in range(size))
    return _schema(f"<pattern>{_rule('R', *tests)}</pattern>")


def _counts(size: int) -> str:
    """How many records are like the one at hand, in conditions of their own."""
    tests = (f"count(../R[G = current()/G and A != {i}]) &lt;= 1000000" for i in range(size))
    return _schema(f"<pattern>{_rule('R', *tests)}</pattern>")


def _abstract(size: int) -> str:
    pattern = f'<pattern abstract="true" id="low">{_rule("R[$field]", "$field &gt;= $low")}</pattern>'
    instances = (
        f'<pattern is-a="low" id="p{i}"><param name="field" value="{"ABC"[i % 3]}"/><param name="low" value="-{i}"/>'
        "</pattern>"
        for i in range(size)
    )
    return _schema(pattern.replace(' id="r.0"', "") + "".join(instances))


def _abstract_rules(size: int) -> str:
    abstract = '<rule abstract="true" id="low"><assert test="A &gt;= -1">no</assert></rule>'
    rules = (f'<rule context="R[B = {i}]"><extends rule="low"/></rule>' for i in range(size))
    return _schema(f"<pattern>{abstract}{''.join(rules)}</pattern>")


def _values(size: int) -> str:
    return _schema(f"<pattern>{_rule('R', f'A = ({", ".join(map(str, range(size)))})')}</pattern>", "xslt2")


def _texts(size: int) -> str:
    listed = " ".join(map(str, range(size)))
    return _schema(f"<pattern>{_rule('R', f"contains(' {listed} ', concat(' ', A, ' '))")}</pattern>")


def _phases(size: int) -> str:
    """Patterns with a phase for each."""
    phases = "".join(f'<phase id="f{i}"><active pattern="p{i}"/></phase>' for i in range(size))
    patterns = "".join(
        f'<pattern id="p{i}">{_rule("R", f"A &gt;= -{i}", ids=f"r{i}")}</pattern>' for i in range(size)
    )
    return _schema(phases + patterns)


def _messages(size: int) -> str:
    checks = "".join(
        f'<assert id="r{i}" test="A &gt;= -{i}"><name/> <value-of select="A"/> is below -{i}</assert>'
        for i in range(size)
    )
    return _schema(f'<pattern><rule context="R">{checks}</rule></pattern>')


RULES: Mapping[str, Callable[[int], str]] = {
    "conditions": _conditions,
    "wide conditions": _wide_conditions,
    "patterns": _patterns,
    "ranges": _ranges,
    "disjunction": _disjunction,
    "mixed disjunction": _mixed_disjunction,
    "conjunction": _conjunction,
    "clauses": _clauses,
    "nested ifs": _nested,
    "lets": _lets,
    "chained lets": _chained_lets,
    "schema lets": _schema_lets,
    "unique keys": _keys,
    "counts": _counts,
    "abstract patterns": _abstract,
    "abstract rules": _abstract_rules,
    "value list": _values,
    "list in a text": _texts,
    "phases": _phases,
    "messages": _messages,
}
"""Texts of rulebooks with so many rules, terms or variables."""


def records(count: int, extra: Callable[[int], str] = lambda _: "", root: str = "Rs") -> bytes:
    """Return a document of flat records: a unique ID, a class G, small numbers A, B and C."""
    rows = (
        f"  <R><ID>{i + 1}</ID><G>{i % 9}</G><A>{i % 50}</A><B>{i % 7}</B><C>{i % 13}</C>{extra(i)}</R>\n"
        for i in range(count)
    )
    return f"<{root}>\n{''.join(rows)}</{root}>\n".encode()


FILES: Mapping[str, Callable[[int], bytes]] = {
    "flat": records,
    "one record repeats a field": lambda n: records(n, lambda i: "<X>1</X><X>2</X>" if i == n // 2 else "<X>1</X>"),
    "one record has a nested field": lambda n: records(n, lambda i: "<Y><Z>1</Z></Y>" if i == n // 2 else ""),
    "every record repeats a field": lambda n: records(n, lambda _: "<X>1</X><X>2</X>"),
    "comments and markup": lambda n: records(n, lambda i: f"<!-- {i} --><X><![CDATA[a]]></X>"),
}
"""Documents of so many records."""
