"""Tables of PostgreSQL: read in one snapshot, and written in one transaction, in which they are judged.

Begin with `postgres_format.PostgresFormat`. `snapshot` reads a table, `transaction` writes one. Both ask `catalogue`
how it was declared, over a `connection` whose errors show no password. The driver, ADBC, has the values.
"""
