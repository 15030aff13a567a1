"""The pages: a module for each, entered in `all_pages`, with its template in ``templates/``.

A page shows what is on disk and starts commands; it decides nothing about data.
"""
