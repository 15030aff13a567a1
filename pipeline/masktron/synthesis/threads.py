"""BLAS in one thread, where it is asked at all.

What draws are made of is `masktron.kernels.linear_algebra`, which asks nobody.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from masktron.kernels.cores import blas_alone


def blas_in_one_thread() -> AbstractContextManager[object]:
    """Return a context in which BLAS uses one thread, scipy's too."""
    import scipy.linalg  # noqa: F401, PLC0415 -- listing the methods must not wait for it

    return blas_alone()
