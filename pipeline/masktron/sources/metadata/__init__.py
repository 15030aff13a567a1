"""Descriptions of variables that stand beside a file: DDI-Codebook and Frictionless Table Schema, in and out.

Begin with `description.Description`. `ddi` and `table_schema` read and write it; `description_file` finds out
which of them a file is, and puts what it says over what the file of microdata says of itself.
"""
