"""Tables of PostgreSQL: read in one snapshot, and written in one transaction, in which they are judged.

Begin with `postgres_format.PostgresFormat`. `snapshot` reads a table with what the catalogue says of it, and
`transaction` writes one, over a `connection` whose errors show no password. The driver, ADBC, has the values.
"""
