"""Results on one screen: what commands print unless somebody asks for all of it.

Begin at `screenful`, which says how lines are cut and counted so that they fit; each other module is the summary of
one result. The modules import results, `report` and its tables, and nothing that computes.
"""
