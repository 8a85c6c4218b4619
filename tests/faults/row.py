"""A row of the table of faults: what was done to a ledger, how often, from which seed, and what came of it."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

Tell = Callable[[int, int], None]
"""Told how many doses are done, of how many."""

Figures = dict[str, int | float | str]
"""What was counted and measured, in words that stand in the table."""


class Outcome(NamedTuple):
    """What came of a fault: whether what must hold did, and the figures that say so."""

    held: bool
    figures: Figures


class Fault(NamedTuple):
    """A fault that can be done again: from its dose and its seed everything follows.

    `run` is given an empty folder, the dose, the numbers that its seed makes, and whom to tell how far it is.
    `unfit` says why this machine cannot do it, or nothing.
    """

    name: str
    title: str
    must_hold: str
    dose: int
    unit: str
    run: Callable[[Path, int, random.Random, Tell], Outcome]
    unfit: Callable[[], str | None] = lambda: None


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured of one fault."""

    name: str
    title: str
    must_hold: str
    dose: int
    unit: str
    seed: int
    held: bool
    figures: Figures
    elapsed_s: float
