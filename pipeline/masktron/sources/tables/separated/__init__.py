"""CSV and its kin: text in which delimiters separate cells.

Begin with `csv_format.CsvFormat`. `dialect` says how a file is written, `content` how its bytes become UTF-8 and
back, `outline` finds its records and refuses what two readers could take differently. `cells` reads it with pyarrow,
`again` with the standard library; `writing` puts it together again. May import the kernels.
"""
