"""Microdata: files of any format as a `Source`, and their records as columns.

Begin with `formats.open_source` and the class `source.Source`, which alone knows the bytes of a file; records are in
`records` and `columns`. XML is in `sources.xml`; a format that no engine reads is a subclass of
`converted.ConvertedSource`, registered in `formats`. Data frames still come as XML files that `frame` writes. Nothing
here imports what stands above it: rules, engines and jobs.
"""
