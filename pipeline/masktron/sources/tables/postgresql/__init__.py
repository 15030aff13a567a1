"""Tables of PostgreSQL: read in one snapshot, and written in one transaction, in which they are judged.

Begin with `postgres_format.PostgresFormat`. `snapshot` reads a table, `transaction` writes one; both ask `catalogue`
what is known of it and `server_types` what its values mean, over a `connection` whose errors show no password.
"""
