"""Functions of arrays, methods and their parameters, and settings of how fields are treated."""

TEXTS = {
    "arrays-differ": ("{shapes:and} do not fit together", "give arrays of the same records in the same order"),
    "unusable-values": (
        "{kind} values cannot be used here",
        "make them missing, or leave out the variable or the records",
    ),
    "values-too-large": ("{what} are too large to compute with", "give them in a larger unit, such as thousands"),
    "estimates-equal": (
        "the estimates of all {releases} releases are equal",
        "replaced values do not affect them: take any one with its own variance ({variance:g} on average)",
    ),
    "too-many-categories": (
        "{categories:,} different values are too many to group {records:record} by",
        "recode the field to fewer values, or declare it an identifier: [[--role {field}=identifier]]",
    ),
    "y-missing": (
        "{method} requires y to be passed, but the target y is None",
        "give the class of each record as y, to fit and fit_transform",
    ),
    "categories-not-drawn": (
        "{method} draws numbers, and column {column} holds categories",
        "name the column among the conditions, or choose a method that draws categories",
    ),
    "too-few-records": (
        "{what} needs at least {least:record}, and there {records:is|are} {records}{left?}",
        "give more records or lower k; some methods need fewer records for fewer variables",
    ),
    "too-few-values": (
        "a cluster needs at least {least} different values, and there {values:is|are} {values}",
        "lower the number of different values ([[--param distinct=2]]), or mask more records together",
    ),
    "would-return-original": (
        "{method} would return the original of variable {variable}: in these {records:record}, the {others} "
        "determine it",
        "name fewer {others}, mask more records together, or keep this variable as it is",
    ),
    "no-noise-for-alpha": (
        "no noise has the covariances that this alpha asks for: their smallest eigenvalue is {eigenvalue:.3g}",
        "give one alpha for all variables, or shares that are closer to each other",
    ),
    "kinds-masked-together": (
        "{method} with mixed = per_type cannot group records by variables of the kinds {kinds:and} together",
        "choose [[--param mixed=together]], imposed or consensus, or mask the variables of each kind apart",
    ),
    "mixture-not-converged": (
        "no mixture of {fewest} to {most} components converged within {iterations:step}",
        "allow more iterations ([[--param iterations=NUMBER]]), or fewer components",
    ),
    "missing-values": (
        "a missing or infinite value has no distance to others",
        "group records with the same missing variables apart",
    ),
    "mixed-missing-values": (
        "group {group} has missing and present values in column {column}",
        "group records with the same missing variables apart, or use [[--aggregator medoid]]",
    ),
    "mixed-signs": (
        "group {group} has negative and positive values in column {column}, so it has no geometric mean",
        "group records by the signs of the variables of a product",
    ),
    "group-without-weight": (
        "all weights of group {group} ({records:record}) are zero, so it has no prototype",
        "leave out records without weight, or mask without weights",
    ),
}
