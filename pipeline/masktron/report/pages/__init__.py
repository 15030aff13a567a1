"""Results as pages of HTML: one file each, with pictures, readable without a network and without a script.

Begin with `page`, what a page is made of, and with `html`, which turns it into text. A module for each result makes
a page of its plain data, as ``--json`` writes it, read through `plain_reader`; so a page of a result that was kept is
that of the run. `public_page` alone makes the edition for others: of a `PublicRelease`, and of nothing else.
"""
