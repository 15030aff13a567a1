"""Results as tables for the eye: counts and names, never a value of a record.

A module for each result, whose function ``tables`` gives the parts that a console prints one below the other;
`masktron.report.rendering` knows which module draws which. Where that is more than a screen, its function ``summary``
gives what commands print unless somebody asks for all of it: `screenful` says how lines are cut and counted so that
they fit. What several of them share is in `cells`. They read results and compute nothing.
"""
