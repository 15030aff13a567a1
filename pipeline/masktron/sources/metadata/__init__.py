"""Descriptions of variables that stand beside a file: DDI-Codebook and Frictionless Table Schema, in and out.

Begin with `description_file.Description`: the module reads and writes both, finds out which of them a file is, and
puts what it says over what the file of microdata says of itself.
"""
