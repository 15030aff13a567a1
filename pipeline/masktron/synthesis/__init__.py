"""Drawn values for records: arrays in, arrays out, no rule known.

Begin with `regression`, which most ways to draw are made of, and `within`, which draws group by group; `model_based`
fits a mixture (`mixture`, `em`) and draws from its clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from masktron.synthesis.bootstrap import bayesian_bootstrap
from masktron.synthesis.cart import draw_trees
from masktron.synthesis.em import expect
from masktron.synthesis.exchanging import exchanged
from masktron.synthesis.free_columns import FreeColumns, basis
from masktron.synthesis.hierarchical import mark, replace_marked
from masktron.synthesis.imputation import imputed
from masktron.synthesis.ipso import ipso
from masktron.synthesis.microperturbation import microperturb
from masktron.synthesis.mixture import fit_mixture, starts
from masktron.synthesis.model_based import draw_clusters
from masktron.synthesis.moments import lacking, square_root
from masktron.synthesis.rank_swapping import rank_swapped
from masktron.synthesis.regression import regress
from masktron.synthesis.regressions import draw_regressions
from masktron.synthesis.shuffling import shuffled
from masktron.synthesis.threads import blas_in_one_thread
from masktron.synthesis.within import draw_normal, synthesise

ALL: tuple[Callable[..., Any], ...] = (
    square_root,
    regress,
    lacking,
    ipso,
    imputed,
    synthesise,
    draw_clusters,
    bayesian_bootstrap,
    basis,
    draw_regressions,
    draw_trees,
    mark,
    replace_marked,
    microperturb,
    expect,
    fit_mixture,
    starts,
    draw_normal,
    blas_in_one_thread,
    exchanged,
    FreeColumns.of,
    rank_swapped,
    shuffled,
)
"""The entry of every module."""
