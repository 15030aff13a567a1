"""A rulebook as a file of text, changed where a rule is changed and nowhere else.

What `masktron.rulebook` reads is a rulebook with all that it includes; here it is one file, byte by byte, so that
comments, order and layout survive a change. Begin with `rule_entries`, which lists the rules of a file and says of
each what may be changed; `rule_changes` changes one. Nothing but the standard library is loaded, as the server of
`masktron web` uses it, too. Whether an expression means something is not asked here: `explain` does.
"""
