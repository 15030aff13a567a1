"""Methods, aggregations and figures in plain words, for those who meet them for the first time."""

from __future__ import annotations

from collections.abc import Mapping

from masktron.figures import figure_of

METHOD_WORDS: Mapping[str, str] = {
    "mdav": "groups of alike records share their averages (MDAV)",
    "mdav_generic": "the same, also for categories (MDAV-generic)",
    "univariate": "groups along a line, loses least in one field",
    "mu_approx": "groups of alike records, for few fields",
    "mst": "groups along the shortest tree between records",
    "t_closeness": "groups with classes as in all records (t-closeness)",
    "crest": "groups in which classes are spread as in the file (CREST)",
    "fuzzy": "groups with soft borders (fuzzy c-means)",
    "camp_crest": "groups of mixed classes: their averages, and noise in each record (CAMP-CREST)",
    "noise": "random numbers are added (correlated noise)",
    "ipso": "new values from a regression (IPSO)",
    "microhybrid": "new values in each group of alike records (MicroHybrid)",
    "muralidhar_sarathy": "a mixture of old and new values (Muralidhar and Sarathy)",
    "hybrid_micro": "new values from the normal distribution of each group (HybridMicro)",
    "model_hybrid": "new values from a model of each group",
    "latent_class": "new categories from hidden classes",
    "sequential": "new values, field by field, from regressions",
    "cart": "new values, field by field, from trees (CART)",
    "hierarchical": "new values only in the place of extreme ones",
    "rank_swapping": "values change places with near ones (rank swapping)",
    "shuffling": "values go to other records, and relations stay (data shuffling)",
}
"""What a method does, by its name."""
GROUPINGS: Mapping[str, str] = {
    "rules": "fields that a rule ties together (keeps more)",
    "all": "whole records (harder to recognise)",
}
INVALID: Mapping[str, str] = {
    "stop": "stop, and mask nothing",
    "exclude": "leave these records out",
}
FIGURE_WORDS: Mapping[str, str] = {
    "disclosure_risk": "Disclosure risk",
    "linkage": "Found again",
    "pil": "Probabilistic information loss",
    "information_loss": "Information loss (SSE/SST)",
}
"""Figures that pages show large: each has a name of its own, and no two the same."""


def figure_words(name: str) -> str:
    """Return what pages call a figure where it stands alone."""
    return FIGURE_WORDS.get(name, name.replace("_", " "))


_LIMITS: Mapping[str, tuple[str, str]] = {
    "linkage": (
        "Records that an intruder finds again",
        "Somebody who knows all original numbers looks for each masked record. A smaller number is safer.",
    ),
    "strongest_linkage": (
        "Records that the strongest intruder finds",
        "Somebody who knows all that was not masked, too, and compares in several ways. A smaller number is safer.",
    ),
    "key_uniques": (
        "Unique records by what others know",
        "Records like no other one in the fields that are known to others. None is safest.",
    ),
    "key_k": (
        "Records alike in what others know",
        "Each record is like so many, itself included, in the fields that are known to others. 3 to 5 are usual.",
    ),
    "disclosure_risk": (
        "Disclosure risk",
        "One figure for two dangers: to be found again, and that the published number is near the true one.",
    ),
    "pil": (
        "Probabilistic information loss",
        "How sure one can be that published results differ by more than chance. A smaller number loses less.",
    ),
}


def limit_label(name: str, what: str) -> str:
    """Return the label of a limit: what it is about, whether it is the most or the least, and its unit.

    Raises
    ------
    KeyError
        There is no figure of this name: a label of one stops the server before it begins.
    """
    figure = figure_of(name)
    unit = "per cent" if figure.unit == "%" else figure.unit
    bound = "at most" if figure.better == "lower" else "at least"
    return f"{what}, {bound}" + (f" ({unit})" if unit else "")


LIMITS: Mapping[str, tuple[str, str]] = {
    name: (limit_label(name, what), hint) for name, (what, hint) in _LIMITS.items()
}
"""Limits that forms ask for: label and hint, by the name of the figure."""
