"""CSV and its kin: text in which delimiters separate cells.

Begin with `csv_format.CsvFormat`; `csv_stream` has what is larger than memory. Both use the same parts, a file in
memory as one block: `csv_outline` finds records, and the delimiter of the `csv_dialect`, and knows names, lines and
cells of what is sound, which it reads with pyarrow, and `again` with the standard library; `csv_doubts` refuses what
two readers could take differently, and tells what may be meant otherwise. `content` has bytes, packed or in any
encoding; `writing` puts a file together again. May import the kernels.
"""
