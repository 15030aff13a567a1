"""Rulebooks with every construct of the tree of expressions, oddly spelled, judged by masktron and by plain XSLT."""
