"""Expressions of rules: XPath text to one tree, which everything else reads.

Begin with `tree`, which says what an expression can be; `parsing` makes one of a text, once for each text. No module
outside this package sees a token.
"""
