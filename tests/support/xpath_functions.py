"""Calls of every function of XPath, each fed a field: V is a text, N a number, D a date, T a dateTime.

The functions are those of "XPath and XQuery Functions and Operators 3.1" (21 March 2017), in the order of its
chapters; ``test_secrets.py`` compares them with those that elementpath knows. Calls are separated by ``;``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_FN = """
node-name = string(node-name(V)) = V ; V[node-name(.) = xs:QName(string(.))]
nilled = nilled(V)
string = string(V) ; V/string()
data = data(V) ; V/data()
base-uri = base-uri(V)
document-uri = document-uri(root(V)) = string(V)
error = error() ; error(xs:QName('V'), V) ; error(xs:QName('V'), 'x', V) ; error(QName('urn:x', string(V)), V)
trace = trace(V, 'x') ; trace('x', V) ; trace(V)
abs = abs(V) ; abs(N)
ceiling = ceiling(V) ; ceiling(N)
floor = floor(V) ; floor(N)
round = round(V) ; round(N, 2)
round-half-to-even = round-half-to-even(V) ; round-half-to-even(N, -2)
number = number(V) ; N/number()
format-integer = format-integer(xs:integer(V), '1') ; format-integer(xs:integer(N), V) ;
    format-integer(xs:integer(N), 'w')
format-number = format-number(number(N), '#,##0.00') ; format-number(number(N), V) ; format-number(1, '0', V)
codepoints-to-string = codepoints-to-string(N) ; codepoints-to-string(string-to-codepoints(V))
string-to-codepoints = string-join(string-to-codepoints(V) ! string(), ' ')
compare = compare(V, 'x') ; compare(V, 'x', V)
codepoint-equal = codepoint-equal(V, V)
collation-key = string(collation-key(V)) ; collation-key('x', V)
contains-token = contains-token(V, 'x') ; contains-token('x', V, V)
concat = concat(V, N, D)
string-join = string-join((V, N), V)
substring = substring(V, 2) ; substring(V, V) ; substring(V, N, D)
string-length = string-length(V) ; V/string-length()
normalize-space = normalize-space(V) ; V/normalize-space()
normalize-unicode = normalize-unicode(V) ; normalize-unicode('x', V)
upper-case = upper-case(V)
lower-case = lower-case(V)
translate = translate(V, 'abc', V)
contains = contains(V, 'x') ; contains(V, 'x', V)
starts-with = starts-with(V, 'x') ; starts-with(V, 'x', V)
ends-with = ends-with(V, 'x') ; ends-with(V, 'x', V)
substring-before = substring-before(V, 'e') ; substring-before(V, 'e', V)
substring-after = substring-after(V, 'e') ; substring-after(V, 'e', V)
matches = matches(V, 'x') ; matches('x', concat(V, '(')) ; matches('x', 'x', V)
replace = replace(V, 'e', V) ; replace('x', 'x', concat(V, '$')) ; replace('x', concat(V, '['), 'x') ;
    replace('x', 'x', 'x', V)
tokenize = tokenize(V) ; tokenize(V, 'e') ; tokenize('x', concat(V, '(')) ; tokenize('x', 'x', V)
analyze-string = string(analyze-string(V, 'e')) ; string(analyze-string('x', concat(V, '(')))
resolve-uri = resolve-uri(V, 'http://example.org/') ; resolve-uri('x', V) ; resolve-uri(concat(V, '%%'))
encode-for-uri = encode-for-uri(V)
iri-to-uri = iri-to-uri(V)
escape-html-uri = escape-html-uri(V)
true = true() = (V = 'x')
false = false() = xs:boolean(V)
boolean = boolean(V) ; boolean((1, V))
not = not(V) ; not((1, V))
years-from-duration = years-from-duration(V)
months-from-duration = months-from-duration(V)
days-from-duration = days-from-duration(V)
hours-from-duration = hours-from-duration(V)
minutes-from-duration = minutes-from-duration(V)
seconds-from-duration = seconds-from-duration(V)
dateTime = dateTime(D, V) ; dateTime(D, xs:time('10:00:00'))
year-from-dateTime = year-from-dateTime(V) ; year-from-dateTime(T)
month-from-dateTime = month-from-dateTime(V) ; month-from-dateTime(T)
day-from-dateTime = day-from-dateTime(V) ; day-from-dateTime(T)
hours-from-dateTime = hours-from-dateTime(V) ; hours-from-dateTime(T)
minutes-from-dateTime = minutes-from-dateTime(V) ; minutes-from-dateTime(T)
seconds-from-dateTime = seconds-from-dateTime(V) ; seconds-from-dateTime(T)
timezone-from-dateTime = timezone-from-dateTime(V) ; timezone-from-dateTime(T)
year-from-date = year-from-date(V) ; year-from-date(D)
month-from-date = month-from-date(V) ; month-from-date(D)
day-from-date = day-from-date(V) ; day-from-date(D)
timezone-from-date = timezone-from-date(V) ; timezone-from-date(D)
hours-from-time = hours-from-time(V)
minutes-from-time = minutes-from-time(V)
seconds-from-time = seconds-from-time(V)
timezone-from-time = timezone-from-time(V)
adjust-dateTime-to-timezone = adjust-dateTime-to-timezone(T) ; adjust-dateTime-to-timezone(T, V)
adjust-date-to-timezone = adjust-date-to-timezone(D) ; adjust-date-to-timezone(D, V)
adjust-time-to-timezone = adjust-time-to-timezone(V) ; adjust-time-to-timezone(xs:time('10:00:00'), V)
format-dateTime = format-dateTime(T, '[Y][M01][D01]') ; format-dateTime(T, concat('[', V))
format-date = format-date(D, '[Y][M01][D01]') ; format-date(D, concat('[', V)) ; format-date(D, '[Y]', V, V, V)
format-time = format-time(V, '[H]') ; format-time(xs:time(T), concat('[', V))
parse-ietf-date = parse-ietf-date(V)
resolve-QName = local-name-from-QName(resolve-QName(V, .)) ; resolve-QName(concat(V, ':x'), .)
QName = local-name-from-QName(QName('urn:x', V)) ; QName('urn:x', concat(V, ' '))
prefix-from-QName = prefix-from-QName(QName('urn:x', concat(V, ':x')))
local-name-from-QName = local-name-from-QName(QName('urn:x', V))
namespace-uri-from-QName = namespace-uri-from-QName(QName(V, 'x'))
namespace-uri-for-prefix = namespace-uri-for-prefix(V, .)
in-scope-prefixes = in-scope-prefixes(.) = V
name = name(V) = V ; V/name()
local-name = local-name(V) ; V/local-name()
namespace-uri = namespace-uri(V) ; V/namespace-uri()
lang = lang(V)
root = string(root(V)) ; V/string(root())
path = path(V) ; V/path()
has-children = has-children(V)
innermost = innermost(V)
outermost = outermost(V)
empty = empty(V)
exists = exists(V)
head = head(V)
tail = tail((1, V))
insert-before = insert-before(1, 1, V)
remove = remove((1, V), 1)
reverse = reverse((1, V))
subsequence = subsequence((1, V), 2) ; subsequence((1, V), number(N))
unordered = unordered(V)
distinct-values = distinct-values(V) ; distinct-values((V, 'x'), V)
index-of = index-of((V, N), V) ; index-of(V, V, V)
deep-equal = deep-equal(V, N) ; deep-equal(V, N, V)
zero-or-one = zero-or-one(V) ; zero-or-one((V, V/string()))
one-or-more = one-or-more(V) ; one-or-more(V[. = ''])
exactly-one = exactly-one(V) ; exactly-one((V, V/string()))
count = count(V)
avg = avg(V) ; avg(N)
max = max(V) ; max(N) ; max((V/string(), 1)) ; max(V, V)
min = min(V) ; min(N) ; min((V/string(), 1)) ; min(V, V)
sum = sum(V) ; sum(N) ; sum((), V)
id = string(id(V)) ; string(id(V, .))
element-with-id = string(element-with-id(V)) ; string(element-with-id(V, .))
idref = string(idref(V)) ; string(idref(V, .))
generate-id = generate-id(V) ; V/generate-id()
doc = string(doc(V))
doc-available = doc-available(V)
collection = string(collection(V)) ; string(collection())
uri-collection = uri-collection(V) ; uri-collection()
unparsed-text = unparsed-text(V) ; unparsed-text('x', V)
unparsed-text-lines = unparsed-text-lines(V) ; unparsed-text-lines('x', V)
unparsed-text-available = unparsed-text-available(V)
environment-variable = environment-variable(V)
available-environment-variables = available-environment-variables() = V
parse-xml = string(parse-xml(V))
parse-xml-fragment = string(parse-xml-fragment(V))
serialize = serialize(V) ; serialize(., map{'method': string(V)})
position = (V, N)[position() = N]
last = (V, N)[last() = N]
current-dateTime = string(current-dateTime()) = V
current-date = string(current-date()) = V
current-time = string(current-time()) = V
implicit-timezone = string(implicit-timezone()) = V
default-collation = default-collation() = V
default-language = default-language() = V
static-base-uri = static-base-uri() = V
function-lookup = function-lookup(xs:QName(string(V)), 1)(V)
function-name = function-name(concat#2) = xs:QName(string(V))
function-arity = function-arity(concat#2) = N
for-each = for-each(V, function($x) { concat($x, N) }) ; for-each(V, xs:integer#1)
filter = filter(V, function($x) { $x = V }) ; filter(V, function($x) { xs:boolean($x) })
fold-left = fold-left(V, '', concat#2) ; fold-left(V, 0, function($a, $x) { $a + xs:integer($x) })
fold-right = fold-right(V, '', concat#2) ; fold-right(V, 0, function($x, $a) { $a + xs:integer($x) })
for-each-pair = for-each-pair(V, N, concat#2)
sort = sort((V, N)) ; sort((V, N), V) ; sort((V, N), (), xs:integer#1)
apply = apply(concat#2, [V, N]) ; apply(concat#2, [V])
load-xquery-module = load-xquery-module(V)?functions?*
transform = transform(map{'stylesheet-text': string(V)})?*
random-number-generator = random-number-generator(V)?number ; random-number-generator(V)?permute((V, N))
parse-json = parse-json(V)?* ; parse-json(concat('["', V, '"]'))?* ;
    parse-json(concat('{"', V, '": 1, "', V, '": 1}'), map{'duplicates': 'reject'})?*
json-doc = json-doc(V)?* ; json-doc('x')?* = V
json-to-xml = string(json-to-xml(V)) ; string(json-to-xml(concat('["', V, '"]')))
xml-to-json = xml-to-json(V) ; xml-to-json(json-to-xml(concat('["', V, '"]')))
"""

_MATH = """
pi = math:pi() = N
exp = math:exp(V) ; math:exp(N)
exp10 = math:exp10(V) ; math:exp10(N)
log = math:log(V) ; math:log(N)
log10 = math:log10(V) ; math:log10(N)
pow = math:pow(V, 1) ; math:pow(N, 1)
sqrt = math:sqrt(V) ; math:sqrt(N)
sin = math:sin(V) ; math:sin(N)
cos = math:cos(V) ; math:cos(N)
tan = math:tan(V) ; math:tan(N)
asin = math:asin(V) ; math:asin(N)
acos = math:acos(V) ; math:acos(N)
atan = math:atan(V) ; math:atan(N)
atan2 = math:atan2(V, 1) ; math:atan2(N, 1)
"""

_MAP = """
merge = map:merge((map{string(V): V}, map{string(V): N}), map{'duplicates': 'reject'})?* ; map:merge(map{'x': V})?x
size = map:size(map{string(V): V})
keys = map:keys(map{string(V): 1})
contains = map:contains(map{string(V): 1}, V)
get = map:get(map{'x': V}, 'x') ; map:get(map{string(V): V}, V)
find = map:find(map{'x': V}, 'x')?*
put = map:put(map{}, V, V)?*
entry = map:entry(V, V)?*
remove = map:remove(map{string(V): V}, 'x')?*
for-each = map:for-each(map{string(V): V}, concat#2) ; map:for-each(map{'x': V}, function($k, $x) { xs:integer($x) })
"""

_ARRAY = """
size = array:size([V, N])
get = array:get([V], 1) ; array:get([V], xs:integer(N)) ; array:get([V], V)
put = array:put([1], 1, V)?* ; array:put([V], xs:integer(N), V)?*
append = array:append([], V)?*
subarray = array:subarray([1, V], 2)?* ; array:subarray([V], xs:integer(N))?*
remove = array:remove([1, V], 1)?* ; array:remove([V], xs:integer(N))?*
insert-before = array:insert-before([1], 1, V)?* ; array:insert-before([V], xs:integer(N), V)?*
head = array:head([V])
tail = array:tail([1, V])?*
reverse = array:reverse([1, V])?*
join = array:join(([1], [V]))?*
for-each = array:for-each([V], function($x) { concat($x, N) })?* ; array:for-each([V], xs:integer#1)?*
filter = array:filter([V], function($x) { $x = V })?* ; array:filter([V], xs:boolean#1)?*
fold-left = array:fold-left([V], '', concat#2) ; array:fold-left([V], 0, function($a, $x) { xs:integer($x) })
fold-right = array:fold-right([V], '', concat#2) ; array:fold-right([V], 0, function($x, $a) { xs:integer($x) })
for-each-pair = array:for-each-pair([V], [N], concat#2)?*
sort = array:sort([V, N])?* ; array:sort([V], V)?* ; array:sort([V], (), xs:integer#1)?*
flatten = array:flatten([V, [N]])
"""

_TYPES = """
untypedAtomic string boolean decimal float double duration dateTime time date gYearMonth gYear gMonthDay gDay
gMonth hexBinary base64Binary anyURI QName normalizedString token language NMTOKEN Name NCName ID IDREF ENTITY
integer nonPositiveInteger negativeInteger long int short byte nonNegativeInteger unsignedLong unsignedInt
unsignedShort unsignedByte positiveInteger yearMonthDuration dayTimeDuration dateTimeStamp NMTOKENS IDREFS
ENTITIES
"""


def _read(text: str) -> dict[str, tuple[str, ...]]:
    rows = (line.partition(" = ") for line in text.strip().replace("\n    ", " ").splitlines())
    return {name: tuple(calls.split(" ; ")) for name, _, calls in rows}


FN, MATH, MAP, ARRAY = map(_read, (_FN, _MATH, _MAP, _ARRAY))
CONSTRUCTORS: Mapping[str, tuple[str, ...]] = {
    name: (f"string(xs:{name}(string(V)))", f"string(xs:{name}(N))") for name in _TYPES.split()
}
"""Constructor functions of the types of XML Schema."""

XPATH1 = _read("""
last = //Record[last() = 1]/V
position = V[position() = ../N]
count = count(V)
id = string(id(V))
local-name = local-name(V)
namespace-uri = namespace-uri(V)
name = name(V)
string = string(V)
concat = concat(V, N, D)
starts-with = starts-with(V, 'x')
contains = contains(V, 'x')
substring-before = substring-before(V, 'e')
substring-after = substring-after(V, 'e')
substring = substring(V, 2) ; substring(V, N, V)
string-length = string-length(V)
normalize-space = normalize-space(V)
translate = translate(V, 'abc', V)
boolean = boolean(V)
not = not(V)
true = true() and V
false = false() or V
lang = lang(V)
number = number(V) ; number(N)
sum = sum(V) ; sum(N)
floor = floor(V) ; floor(N)
ceiling = ceiling(V) ; ceiling(N)
round = round(V) ; round(N)
current = string(current()/V)
document = document(V)
key = key(V, V)
format-number = format-number(V, '0') ; format-number(N, '#,##0.00') ; format-number(N, V)
generate-id = generate-id(V)
system-property = system-property(V)
unparsed-entity-uri = unparsed-entity-uri(V)
element-available = element-available(V)
function-available = function-available(V)
""")
"""The core library of XPath 1.0, and what XSLT 1.0 adds to it."""

_XPATH2 = """
node-name nilled string data base-uri document-uri error trace abs ceiling floor round round-half-to-even
number codepoints-to-string string-to-codepoints compare codepoint-equal concat string-join substring
string-length normalize-space normalize-unicode upper-case lower-case translate encode-for-uri iri-to-uri
escape-html-uri contains starts-with ends-with substring-before substring-after matches replace tokenize
resolve-uri
true false boolean not years-from-duration months-from-duration days-from-duration hours-from-duration
minutes-from-duration seconds-from-duration dateTime year-from-dateTime month-from-dateTime day-from-dateTime
hours-from-dateTime minutes-from-dateTime seconds-from-dateTime timezone-from-dateTime year-from-date
month-from-date day-from-date timezone-from-date hours-from-time minutes-from-time seconds-from-time
timezone-from-time adjust-dateTime-to-timezone adjust-date-to-timezone adjust-time-to-timezone resolve-QName
QName prefix-from-QName local-name-from-QName namespace-uri-from-QName namespace-uri-for-prefix
in-scope-prefixes name
local-name namespace-uri lang root empty exists distinct-values index-of insert-before remove reverse
subsequence unordered zero-or-one one-or-more exactly-one deep-equal count avg max min sum id idref
element-with-id doc doc-available collection position last current-dateTime current-date current-time
implicit-timezone default-collation static-base-uri
"""
XPATH2 = frozenset(_XPATH2.split())
"""Functions of XPath 2.0 (second edition) without constructors."""


def calls(names: Iterable[str], of: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return the calls of some functions, with an id for each."""
    return {f"{name}-{at}": call for name in names for at, call in enumerate(of[name], 1)}
