"""What masktron can tell of a masked file in figures: their names, and what each means to a reader new to the field.

How a figure is computed stands in `masktron.measures.figures`, under the same name. This module has the words alone,
so that settings, messages and tables need not load any measure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

type Group = Literal["contract", "risk", "utility"]
type Unit = Literal["%", "records", ""]
type Better = Literal["lower", "higher"]
type Need = Literal["manifest", "class", "earlier", "keys"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a masked file.

    Attributes
    ----------
    name : str
        For tables, JSON, limits and options.
    group : {"contract", "risk", "utility"}
        What masking promised; what an intruder may learn; what the data are still good for.
    better : {"lower", "higher"}
        A limit is the most that a figure may be where lower is better, and else the least.
    meaning : str
        What it says and what is usual, without a formula. It is shown to people who decide on a release.
    unit : str
        ``%``, ``records``, or empty for a bare number.
    needs : tuple of {"manifest", "class", "earlier", "keys"}
        What has to be known besides the two files: the manifest, which field is the class, an earlier release, and
        which fields others may know.
    unasked : float
        Records up to which `mask` computes it unasked; for more it would take longer than a second or two.
    paired : bool
        Whether it compares record by record; else it is the same whatever the order of the masked records.
    """

    name: str
    group: Group
    better: Better
    meaning: str
    unit: Unit = "%"
    needs: tuple[Need, ...] = ()
    unasked: float = 0
    paired: bool = True

    def meets(self, value: float, bound: float) -> bool:
        """Whether a value is within a limit; a figure that does not exist (NaN) meets none."""
        return value <= bound if self.better == "lower" else value >= bound


FIGURES: tuple[Figure, ...] = (
    Figure(
        "block_k",
        "contract",
        "higher",
        "Fields that were masked together form a block; in every block, each combination of values is shared by at "
        "least this many records. It has to be the k that was asked for, or more; 3 to 10 are usual.",
        unit="records",
        needs=("manifest",),
        unasked=math.inf,
    ),
    Figure(
        "medoid_share",
        "contract",
        "lower",
        "Of 100 groups of records, this many show the values of one real respondent, because no average obeyed the "
        "rules. 0 to 1 is usual.",
        needs=("manifest",),
        unasked=math.inf,
    ),
    Figure(
        "dominance",
        "contract",
        "lower",
        "Of 100 totals of a group in a field, this many consist so much of one respondent that the second largest "
        "can work out the largest value to within 10 per cent. 0 to 10 is usual, more among businesses, where a few "
        "are very large. Fields with negative values are left out.",
        needs=("manifest",),
    ),
    Figure(
        "whole_record_k",
        "risk",
        "higher",
        "Every record is the same as at least this many records, itself included, in all masked fields at once. 1 "
        "means that some record has no double: usual where fields were masked block by block. One partition of all "
        "fields together gives k or more.",
        unit="records",
        unasked=math.inf,
        paired=False,
    ),
    Figure(
        "linkage",
        "risk",
        "lower",
        "Somebody holds all original numbers, and no categories, and picks for each masked record the nearest "
        "respondent, all fields on one scale. Of 100 picks, this many are right. Others find more: "
        "strongest_linkage. More than 90 is usual block by block; whole records in groups of k: at most 100/k.",
        unasked=math.inf,
    ),
    Figure(
        "strongest_linkage",
        "risk",
        "lower",
        "As linkage, by the most successful of eight intruders, who also know original categories and unmasked "
        "fields. They may compare ranks, know how far masking moves values, or pick nobody twice. Up to twice "
        "linkage is usual, more where categories stay, 100 where unmasked fields tell records apart. Large files: "
        "estimated from 500 records; linking all at once finds more.",
        unasked=math.inf,
    ),
    Figure(
        "linkage_second",
        "risk",
        "lower",
        "As linkage, but a pick also counts as right where the right respondent comes second: how many are nearly "
        "found. Never less than linkage; up to twice as high is usual, hardly higher where linkage is near 100.",
    ),
    Figure(
        "linkage_groups",
        "risk",
        "lower",
        "As linkage, but somebody knows the fields of one block only; the average over all blocks. Of 100 picks, "
        "this many are right. Up to 100 divided by k is usual, since k records share the values of a block.",
        needs=("manifest",),
    ),
    Figure(
        "linkage_knowledge",
        "risk",
        "lower",
        "As linkage, but somebody knows only the first number of each respondent, or the first two, and so on up to "
        "six; the average of these cases. It depends on the order of the fields. Less than linkage is usual, as who "
        "knows less finds less: up to two thirds of it where fields were masked block by block.",
    ),
    Figure(
        "interval_ranks",
        "risk",
        "lower",
        "Of 100 original numbers, this many are close to the published one: when respondents are lined up by size, "
        "at most 1 to 10 per cent of them stand between the two (the average over these widths). 40 to 90 is usual. "
        "Where it is lower, a published number tells less about the person.",
        unasked=100_000,
    ),
    Figure(
        "interval_deviation",
        "risk",
        "lower",
        "Of 100 original numbers, this many are close to the published one: not further from it than 1 to 10 per "
        "cent of the spread of the field, its standard deviation (the average over these widths). 15 to 80 is "
        "usual.",
        unasked=100_000,
    ),
    Figure(
        "disclosure_risk",
        "risk",
        "lower",
        "One figure for two ways to learn from the file: the average of linkage (who is it?) and interval_ranks "
        "(how near is the published number?). 65 to 95 is usual where fields were masked block by block, 25 to 60 "
        "where whole records come in groups.",
        unasked=100_000,
    ),
    Figure(
        "unchanged",
        "risk",
        "lower",
        "Of 100 values, this many are published exactly as the respondent gave them. A few are usual for amounts of "
        "money; most for small counts such as children, where neighbours are equal anyway.",
        unasked=math.inf,
    ),
    Figure(
        "revealed",
        "risk",
        "lower",
        "Of 100 values, this many are known of everybody in a group, however large k is. All members have the "
        "published value, such as 0. Or a rule says that one amount is at most another, and their published means "
        "are equal, so both are equal for all members. A few are usual for amounts of money; most for counts.",
        needs=("manifest",),
        unasked=math.inf,
    ),
    Figure(
        "sole_values",
        "risk",
        "lower",
        "Of 100 published numbers, this many are the true value of exactly one respondent in that field, in any "
        "record. Somebody who knows such a value can tell that this respondent took part. 0 to 15 is usual for "
        "amounts from a model, by chance alone; up to 100 where values change places among the records.",
        unasked=math.inf,
        paired=False,
    ),
    Figure(
        "differencing",
        "risk",
        "lower",
        "Somebody puts this file together with earlier releases of the same respondents and solves the totals of "
        "their groups. Of 100 original numbers, this many come out, exactly or to a tenth of the spread of the "
        "field. None is usual for the same release twice; some where a respondent came, went or changed his group.",
        needs=("manifest", "earlier"),
    ),
    Figure(
        "homogeneous_groups",
        "risk",
        "lower",
        "Of 100 records, this many are in a group all of one class (such as a diagnosis): whoever knows the group "
        "knows the class. This is the block where it is most. Few are usual where classes are equally frequent, "
        "most where one is frequent or goes with the masked fields.",
        needs=("manifest", "class"),
    ),
    Figure(
        "class_imbalance",
        "risk",
        "lower",
        "How far the classes within groups are from those of the whole file, in the block where it is most. 0: "
        "every group mirrors the file. The number of classes less one is usual where the masked fields have nothing "
        "to do with the class; more gives it away.",
        unit="",
        needs=("manifest", "class"),
    ),
    Figure(
        "key_k",
        "risk",
        "higher",
        "Others may know some fields of a respondent, such as age and region: the keys. Every record is the same as "
        "at least this many records, itself included, in all keys at once. 1 is usual where keys were not changed: "
        "somebody can be singled out; 3 to 5 is asked of public files.",
        unit="records",
        needs=("keys",),
        unasked=math.inf,
        paired=False,
    ),
    Figure(
        "key_uniques",
        "risk",
        "lower",
        "This many records are like no other one in the keys: whoever knows these fields of a respondent, and that "
        "he is in the file, finds his record. None is usual where keys were recoded; a large part of the file with "
        "six keys or an unrounded weight.",
        unit="records",
        needs=("keys",),
        unasked=math.inf,
        paired=False,
    ),
    Figure(
        "key_population_uniques",
        "risk",
        "lower",
        "Of the records that are like no other one in the keys, this many are expected to be the only ones in the "
        "whole population too: nobody else can be meant. It is the larger of two estimates, by weights and by a "
        "log-linear model. As many as key_uniques without weights; hardly any is usual for samples with few keys.",
        unit="records",
        needs=("keys",),
        unasked=math.inf,
        paired=False,
    ),
    Figure(
        "individual_risk",
        "risk",
        "lower",
        "The average probability, from 0 to 1, that somebody who knows the keys of a respondent and seeks him "
        "picks his record: one divided by how many people have these keys. The larger of two estimates counts, by "
        "weights and by a log-linear model. 0.001 to 0.05 is usual for samples, 1 without weights "
        "where all records differ.",
        unit="",
        needs=("keys",),
        unasked=math.inf,
        paired=False,
    ),
    Figure(
        "global_risk",
        "risk",
        "lower",
        "Of 100 records, an intruder who tries them all and knows the keys is expected to re-identify this many. It "
        "is the larger of two estimates, by the survey weights and by a log-linear model. Below 1 is usual for files "
        "that researchers get, 0.1 and less for public ones.",
        needs=("keys",),
        unasked=math.inf,
        paired=False,
    ),
    Figure(
        "prosecutor_risk",
        "risk",
        "lower",
        "Of 100 records, an intruder who knows the keys, and who took part in the survey, is expected to re-identify "
        "this many. The same as global_risk without weights. For a sample with weights, ten times as much and more "
        "is usual.",
        needs=("keys",),
        unasked=math.inf,
        paired=False,
    ),
    Figure(
        "joint_risk",
        "risk",
        "lower",
        "What numbers and keys give away in one figure, to compare ways of protecting the same file: the average of "
        "disclosure_risk and global_risk. 10 to 50 is usual: half of disclosure_risk for samples with weights, whose "
        "keys say little.",
        needs=("keys",),
    ),
    Figure(
        "suda_share",
        "risk",
        "lower",
        "Of 100 records, this many have one, two or three values of keys that no other record has together: who "
        "knows so little finds them. They stand out by few facts, and so likely in the population as well. 0 to 10 "
        "is usual where keys were recoded.",
        needs=("keys",),
        unasked=10_000,
        paired=False,
    ),
    Figure(
        "l_diversity",
        "risk",
        "higher",
        "Records with the same keys have at least this many different values in a masked field; this is the field "
        "where they are fewest. 1 means that whoever knows the keys of somebody knows the published value of that "
        "field, whether or not he finds the record. 1 is usual unless every combination of keys is frequent.",
        unit="",
        needs=("keys",),
        unasked=10_000,
        paired=False,
    ),
    Figure(
        "information_loss",
        "utility",
        "lower",
        "How much of the differences between respondents is lost in the numbers. 0: nothing has moved; 100: as if "
        "everybody had the average. 1 to 15 is usual for groups of 3 to 10 records, more where many fields share "
        "one partition. Every record counts once, whatever its survey weight.",
        unasked=math.inf,
    ),
    Figure(
        "total_change",
        "utility",
        "lower",
        "How far the total of a field over all respondents (all wages, say) has moved, up or down; this is the "
        "field where it has moved most. Survey weights count where they are known. Less than 0.5 is usual, as "
        "averages keep totals but for rounding; medians, and the averages for fields that rules multiply, move them "
        "further.",
        unasked=math.inf,
        paired=False,
    ),
    Figure(
        "category_change",
        "utility",
        "lower",
        "How far the shares of the categories of a field have moved: of 100 respondents, this many would have to "
        "change category to get the old shares back; this is the field where it is most. Less than 10 is usual. Rare "
        "categories are the first to get lost. Survey weights count where they are known.",
        unasked=math.inf,
        paired=False,
    ),
    Figure(
        "il1s",
        "utility",
        "lower",
        "How far a number has moved on average, measured by how far two respondents usually are apart. 0: nothing "
        "has moved; 100: as far as that. 2 to 20 is usual for groups of 3 to 10 records. Every record counts once, "
        "whatever its survey weight.",
        unasked=math.inf,
    ),
    Figure(
        "pil",
        "utility",
        "lower",
        "How sure one can be that published results (percentiles, averages, spreads, how fields go together) differ "
        "by more than the luck of drawing a sample. 0: no difference; 100: certain. 10 to 55 is usual, more in "
        "large files, where luck plays a smaller part. Survey weights count where they are known.",
        unasked=100_000,
        paired=False,
    ),
    Figure(
        "score",
        "utility",
        "lower",
        "Risk and damage in one figure, to compare ways of masking the same file: the average of disclosure_risk and "
        "pil; the lower, the better. 35 to 60 is usual. The original itself, with all risk and no damage, has about "
        "50: above that, damage has grown more than risk has fallen. Survey weights count in pil.",
        unasked=100_000,
    ),
    Figure(
        "key_loss",
        "utility",
        "lower",
        "How much less is known of the keys (fields that others may know, such as age and region) than before they "
        "were recoded or left out. 0: they are written as they were; 100: not at all. Rare values count more. 5 to "
        "40 is usual where ages are in classes and few cells are left out.",
        needs=("keys",),
    ),
    Figure(
        "joint_loss",
        "utility",
        "lower",
        "Damage to numbers and to keys in one figure, to compare ways of protecting the same file: the average of "
        "pil and key_loss. Half of pil where keys are written as they were; 10 to 50 is usual. Survey weights count "
        "in pil.",
        needs=("keys",),
    ),
    Figure(
        "mean_bias",
        "utility",
        "lower",
        "By how many per cent the average of a field has changed, averaged over the numeric fields. Less than 0.1 "
        "is usual for averages of groups, up to 2 with medians. Survey weights count where they are known.",
        unasked=100_000,
        paired=False,
    ),
    Figure(
        "deviation_bias",
        "utility",
        "lower",
        "By how many per cent the spread of a field (its standard deviation) has changed, averaged over the numeric "
        "fields. 1 to 10 is usual: averages of groups are less spread than people. Survey weights count where they "
        "are known.",
        unasked=100_000,
        paired=False,
    ),
    Figure(
        "correlation_change",
        "utility",
        "lower",
        "How far the relation between two fields (their correlation, from -1 over 0 to 1) has moved, up or down; "
        "these are the two where it has moved most. 0.01 to 0.1 is usual with a thousand records, more with fewer. "
        "Survey weights count where they are known.",
        unit="",
        unasked=100_000,
        paired=False,
    ),
    Figure(
        "eta_squared_change",
        "utility",
        "lower",
        "How far categories, such as regions, explain a number: of 100 parts of the differences between respondents, "
        "so many lie between categories, and this is by how many parts that has changed (eta squared) for the two "
        "fields where it changed most. 1 to 10 is usual, 50 where values are drawn without regard to a field. Survey "
        "weights count.",
        unasked=100_000,
    ),
    Figure(
        "subdomain_means",
        "utility",
        "lower",
        "What somebody sees who studies only a tenth of the file: by how many per cent averages of random tenths "
        "have changed. 1 to 10 is usual, more where a few respondents are very large. Every record counts once, "
        "whatever its survey weight.",
    ),
    Figure(
        "subdomain_correlations",
        "utility",
        "lower",
        "What somebody sees who studies only a tenth of the file: by how many per cent the strength of relations "
        "between two fields has changed in random tenths. 3 is usual where all fields are closely related, 100 to "
        "300 where some hardly are, since a small number has soon doubled. Every record counts once.",
    ),
    Figure(
        "pmse",
        "utility",
        "lower",
        "How well a statistical model can tell masked from original records. 0: not at all; 0.25: every single one. "
        "0.002 to 0.15 is usual; 0.25 where all original records obey a sum, say, that no rule demands and masking "
        "broke. It sees averages, spreads and relations only, and every record counts once.",
        unit="",
        paired=False,
    ),
    Figure(
        "pmse_ratio",
        "utility",
        "lower",
        "The same as a multiple of what a new sample of the same people would show by luck. 1: no difference can be "
        "seen. 1 to 25 is usual with thousands of records, hundreds with a hundred thousand; 0 where averages and "
        "relations are kept exactly. Where pmse is 0.25, it says nothing more.",
        unit="",
        paired=False,
    ),
    Figure(
        "pmse_cubic",
        "utility",
        "lower",
        "As pmse_ratio, by a model that also sees lopsidedness, such as a few very large incomes. 1: no difference "
        "can be seen; 1 to 25 is usual with thousands of records, hundreds with a hundred thousand. Where pmse is "
        "0.25, it says nothing more, even if lower than pmse_ratio.",
        unit="",
        paired=False,
    ),
    Figure(
        "pmse_tree",
        "utility",
        "lower",
        "As pmse_ratio, by a model that asks yes-or-no questions (a decision tree), and so sees what averages hide, "
        "such as values that many records share. 1: no difference can be seen; 1 to 20 is usual.",
        unit="",
        paired=False,
    ),
)
"""Every figure, in the order of tables: contract, risk, utility."""

NAMES: tuple[str, ...] = tuple(figure.name for figure in FIGURES)
OF_KEYS_ALONE = (
    "key_k",
    "key_uniques",
    "key_population_uniques",
    "individual_risk",
    "global_risk",
    "prosecutor_risk",
    "suda_share",
)
"""Figures that tell of the keys and of nothing else: masking other fields does not change them."""


def figure_of(name: str) -> Figure:
    """Return the figure of this name.

    Raises
    ------
    KeyError
        There is none; names that a user gives are checked first.
    """
    for figure in FIGURES:
        if figure.name == name:
            return figure
    raise KeyError(name)
