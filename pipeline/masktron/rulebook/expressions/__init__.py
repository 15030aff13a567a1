"""Expressions of rules: XPath text to one tree, which everything else reads.

Begin with `tree`, which says what an expression can be; `parsing` makes one of a text, once for each text, and is the
only module that calls elementpath. `words` answers for texts that may not be XPath at all: what they call, which
variables they name, and which prefixes every expression knows. `spacing` writes parts for people, `forbidden` refuses
calls that reach outside the data. Every module of masktron may import these. `lexer` makes tokens for them and is
theirs alone: no module outside this package sees a token, and `tests/test_layering.py` holds that. The
package itself imports nothing of masktron but problems, errors and the origin of a rule.
"""
