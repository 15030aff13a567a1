"""Masking methods: which records form a group, and in which space they are near."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from masktron.methods.encode import encode_nominal
from masktron.methods.grouping import group_records
from masktron.methods.mdav import partition

ALL: tuple[Callable[..., Any], ...] = (partition, encode_nominal, group_records)
"""The entry of every module."""
