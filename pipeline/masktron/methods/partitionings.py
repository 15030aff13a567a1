"""The methods whose groups share one prototype; other methods can take their groups."""

from __future__ import annotations

from masktron.methods.base import Partitioning
from masktron.methods.crest import CrestMethod
from masktron.methods.fuzzy import FuzzyMethod
from masktron.methods.mdav import MdavMethod
from masktron.methods.mdav_generic import MdavGenericMethod
from masktron.methods.mst import MstMethod
from masktron.methods.mu_approx import MuApproxMethod
from masktron.methods.t_closeness import TClosenessMethod
from masktron.methods.univariate import UnivariateMethod

PARTITIONINGS: tuple[type[Partitioning], ...] = (
    MdavMethod,
    MdavGenericMethod,
    UnivariateMethod,
    MuApproxMethod,
    MstMethod,
    TClosenessMethod,
    CrestMethod,
    FuzzyMethod,
)
"""The first is the default of all methods."""
