"""Protections of keys, carried out before numbers are masked: arrays of codes in and out, no rule or file known.

Begin with the module of a treatment, or with `recoding_search` for the choice among recodings.
"""
