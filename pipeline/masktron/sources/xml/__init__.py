"""Microdata in XML: `layout` says where records stand, `microdata` reads them, `writer` writes them.

Large flat files go another way: `plain` surveys them, `blocks` reads them in batches, `assembled` writes them.
"""
