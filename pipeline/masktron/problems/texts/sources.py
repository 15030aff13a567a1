"""Microdata: formats and addresses, CSV, XML, data frames, nested tables, descriptions, roles, hierarchies."""

TEXTS = {
    # formats and names of files
    "other-format": ("this is {found}, not {expected}", "masktron reads it with [[--format {format}]]"),
    "unreadable-format": ("this is {found}, not {expected}, and masktron does not read it", "{todo}"),
    "not-xml": (
        "this is {found}, and a rulebook is a Schematron file in XML",
        "name the rulebook, such as edits.sch; unpack an archive first; data and rulebook may be swapped",
    ),
    "data-is-rulebook": (
        "this is a Schematron rulebook, and not data",
        "name the file that has the records; data and rulebook may be swapped",
    ),
    "empty-file": ("the file is empty", "name a file that has records"),
    "output-name": (
        "the name stands for {found}, but this output is written as {formats:or}",
        "name it {names:or}; `masktron convert` makes other formats of it afterwards",
    ),
    "setting-not-usable": ("{name:and} cannot be used here: {reason}", "leave {name:and} out{more?}"),
    "bad-address": (
        "this is not the address of a table: {reason}",
        "write sqlite:FILE?table=NAME, duckdb:FILE?query=SELECT ... or postgresql://USER@HOST/DB?table=SCHEMA.NAME; "
        "in names and passwords, write @ as %40, / as %2F, ? as %3F, & as %26, + as %2B and % as %25",
    ),
    # XML
    "xml-declaration": (
        "the XML file cannot be decoded: {detail}",
        'declare version="1.0" and the encoding that the file has, or convert it to UTF-8',
    ),
    "document-type": (
        "the document type has declarations or an external part, and entities are never expanded",
        "remove the DOCTYPE, and write the text that its entities stand for",
    ),
    "not-microdata": (
        "this XML is not microdata: {detail}",
        "write one element for each record, with short values in the same fields",
    ),
    "record-unclear": (
        "it is not clear which element is the record: {elements}",
        "name it: [[--record NAME]], or {{namespace}}NAME",
    ),
    # CSV
    "wrong-encoding": (
        "the file does not seem to be in {codec}: {detail}",
        "name its encoding, which is cp1252 for most files from Windows and Excel: {helps:or}",
    ),
    "unclear-delimiter": (
        "it is not clear what separates the cells: {detail}",
        "name it: [[--format-option delimiter=CHARACTER]]",
    ),
    "unclear-header": (
        "the first line reads as a record: {detail}",
        "if it has column names, use {names}; if it is a record, {record}",
    ),
    "column-without-name": (
        "column {column} has no name",
        "give every column a name; to leave row names out, write the file with index=False in pandas or "
        "row.names = FALSE in R",
    ),
    "ragged-line": (
        "this line has {cells:cell}, and the first has {columns:cell}, separated by {delimiter}",
        "complete the line, put quotes around a cell that holds the delimiter, or name another: "
        "[[--format-option delimiter=CHARACTER]]",
    ),
    "csv-quote": (
        "{detail}",
        "quote the whole cell and double the quotes within it, or read the file with {helps:or}",
    ),
    "bad-csv-line": ("this line cannot be read as CSV: {detail}", "correct or remove it"),
    "csv-cannot-hold": (
        "CSV as it is written here cannot hold {detail}",
        "convert the file to UTF-8 with quoted cells, change its CSV options, or change the value",
    ),
    # data frames
    "frame-not-read": (
        "a {kind} cannot be read as a table: {reason}",
        "give a frame with one row per record, whose columns have types that Arrow knows",
    ),
    "frame-column": (
        "column {label} {detail}",
        "convert it first, for example frame.astype({{{label}: {type!r}}}), or leave it as it is: "
        "[[--role {field}=untouched]]",
    ),
    "not-as-verified": (
        "{what} does not hold the masked records as they were verified; nothing was published",
        "choose another output, such as a Parquet file or a pyarrow Table",
    ),
    "unclear-numbers": (
        "{field} has {detail}",
        "say what it means: {helps:or}; or write all numbers alike",
    ),
    # nested tables
    "bad-key": (
        "the record with {key} does not join the tables: {detail}",
        "keys are compared as they are written, and each names one record; for the table of another file, name that "
        "of this one: [[--table {table}=FILE]]",
    ),
    "level-field": ("{field} {detail}", "correct it, or leave it out of levels.{level}.fields in the settings"),
    "level-fields-missing": (
        "levels.{level}.fields does not say which columns belong to {level}",
        "write those that belong to it; these are alike in all its rows: fields = [{columns}]",
    ),
    "key-would-change": (
        "{field} joins the records of {level} with those within them, and would get other values",
        "[[--role {field}=record-id]] keeps it, [[--role {field}=identifier]] gives new numbers",
    ),
    "level-without-records": ("no {parent} has a {level}", "leave [levels] out where there are none"),
    "member-roles-differ": (
        "{field} would be removed of some members and not of others",
        "give it one role, for example [[--role {field}=identifier]]",
    ),
    # descriptions and hierarchies
    "bad-description": (
        "the description of the fields cannot be used: {detail}",
        "give DDI-Codebook 2.5 or 2.6, or a Table Schema in JSON, of the fields of this file",
    ),
    "bad-hierarchy": (
        "the hierarchy of {field} cannot be used: {detail}",
        "each row is a value and its labels, such as 17;15-19;10-19;*, and values with one label at a level have one "
        "label above it; missing values need no row",
    ),
    "hierarchy-has-header": (
        "the first row of the hierarchy of {field} seems to name its levels: no record has its value",
        "leave it out with [[--header]]; if it is a value, move it down",
    ),
    "no-hierarchy": (
        "no hierarchy can be made: {field} {detail}",
        "declare codes such as NA as missing ([[--missing {field}=NA]]), or write the hierarchy by hand",
    ),
    # roles
    "no-role": (
        "{fields:and} {fields:has|have} no role and may name respondents{dates}",
        "[[--role {fields}=identifier]] removes {fields:it|them}, =quasi-identifier releases {fields:it|them} as "
        "{fields:it is|they are}; or write into the settings:\n     [roles]\n     "
        '{fields!r:lines = "identifier"}\n     '
        "the other roles are quasi-identifier, confidential (masked as categories), record-id and untouched; "
        "[[--missing FIELD=CODE]] is for values that mean 'missing'",
    ),
    "no-field-to-mask": (
        "no field is left to mask",
        "a number is masked unless it has another role; to mask a category, use [[--role FIELD=confidential]]; "
        "[[--key-k 3]] or [[--recode FIELD=HOW]] protects a file by its keys alone",
    ),
    "text-in-numbers": (
        "{field} holds numbers, but this record has a text in it",
        "correct the record; if the text means 'missing', use [[--missing {field}=CODE]]; if the field holds codes, "
        "use [[--nominal {field}]]",
    ),
    "bad-order": (
        "the order of {field} {detail}",
        "name all its values, from the lowest to the highest: [[--ordinal {field}=LOW,MID,HIGH]]; leave out codes "
        "that mean 'missing', and declare them with [[--missing {field}=CODE]]",
    ),
    "likely-codes": (
        "{fields:and} {fields:looks|look} like codes, with {values:and} different values, and would be averaged",
        "for codes, use [[--nominal {fields}]]; for quantities, [[--numeric {shown}]]; for what others may know "
        "about a respondent, [[--role {fields}=quasi-identifier]]; for a name or id, [[--role {shown}=identifier]]",
    ),
    "likely-names": (
        "{fields:and} {fields:has|have} {values:and} different values, one for nearly each record, and would be "
        "averaged",
        "for a name or id, use [[--role {fields}=identifier]]; for quantities, [[--numeric {shown}]]; for values to "
        "release unmasked, [[--role {shown}=untouched]]; for codes, [[--nominal {fields}]]",
    ),
    "likely-role": (
        "{field} would be masked as {taken_for}, and {why}",
        "{field} {why}: [[--role {field}={role}]]",
    ),
}
