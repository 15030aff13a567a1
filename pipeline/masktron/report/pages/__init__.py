"""Results as pages of HTML: one file each, with pictures, readable without a network and without a script.

Begin with `page`, what a page is made of, and with `html`, which turns it into text. A module for each result makes
a page of it. `masktron report` reads a result that was kept by its types, so that its page is that of the run. Tables
that a terminal draws as well are in `masktron.report.shared_tables`. `public_page` alone makes the edition for
others: of a `PublicRelease`, and of nothing else.
"""
