"""Tables: files of statistical packages, workbooks, Parquet and Arrow, and databases."""

TEXTS = {
    "file-not-supported": ("masktron does not read {detail}", "save the file {instead}"),
    "cell-not-readable": (
        "cell {cell} holds {detail}",
        "correct or empty the cell, or enter a plain number, date or text; then save the workbook in a spreadsheet "
        "program",
    ),
    "value-not-readable": ("{field} holds {detail}", "correct the value, make it missing, or leave the record out"),
    "column-not-readable": (
        "{field} holds {detail}",
        "convert it to text or leave it out before masktron reads it, for example with {how}",
    ),
    "row-empty": (
        "row {row} is empty, and rows below it have values",
        "name the cells of the table and the row of its column names: [[--format-option range={range}]] "
        "[[--format-option header={header}]]; if the table goes on below row {row}, delete that row in the workbook; "
        "or choose another sheet: [[--format-option sheet=NAME]]",
    ),
    "column-not-named": (
        "cell {cell} {is_not}, and should name its column",
        "enter a name; or say which row has the names, none if no row has: [[--format-option header={header}]]; or "
        "choose another sheet: [[--format-option sheet=NAME]]",
    ),
    "sheet-empty": (
        "no cell has a value",
        "name cells that have values, [[--format-option range=A1:F200]], or another sheet: "
        "[[--format-option sheet=NAME]]",
    ),
    "new-value-does-not-fit": (
        "{field} cannot hold a new value: {detail}",
        "give {field} {wider} before it is masked",
    ),
    "column-names-not-allowed": (
        "{format} does not allow {number:column name}: {names}",
        "names have {allowed}; rename the columns: {renames}",
    ),
    "no-column-left": ("no column is left to write", "leave fewer columns out"),
    "readings-differ": (
        "two readings of the data do not agree on {what}",
        "the file can be read in several ways: give the options of its format, or convert the file",
    ),
    "file-changed": (
        "the file changed while it was read{what?}",
        "leave the file alone during a run, and start again",
    ),
    "no-temporary-file": (
        "temporary files cannot be written: {reason}",
        "free space there, or set TMPDIR to another folder",
    ),
    "query-not-written": (
        "the result of a query can be read, but not written",
        "name a table or a view of the database instead: {table}",
    ),
    "table-not-chosen": (
        "the database has {tables:table}: {tables}",
        "name the one to read: [[--format-option table=NAME]]",
    ),
    "table-exists": ("the database already has a table {table!r}", "give another name, or add [[--replace]]"),
    "database-file-in-use": (
        "the file of the database cannot be the data: {detail}",
        "close the programs that use the database, or name the data by their address: {address}",
    ),
    "database-error": (
        "{database} reports: {reason}",
        "check the address and the query, that views read tables of the same file only, and that no other program "
        "uses the database; no table was written",
    ),
    "server-error": (
        "PostgreSQL reports: {reason}",
        "check the address and the rights of the user (PGPASSWORD or ~/.pgpass can give the password); the log of "
        "the server says more; nothing was written",
    ),
    "database-too-slow": (
        "the database did not return all rows within {seconds:,.0f} s",
        "check that its view or query ends, or have the database write the result to a table",
    ),
}
