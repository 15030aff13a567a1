"""What went wrong, or is worth knowing, as data: a code and what it is about.

`problem.Problem` is made where it arises; `wording.worded` makes sentences of it where somebody reads it: at a
terminal, in Python, on a page, in JSON. The sentences are in `texts`, one module for each area. It imports nothing of
masktron but `counts` and `shell_words`, and asks `commands` for the names of options when it needs them.
"""
