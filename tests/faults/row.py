"""A row of the table of faults: the fault, its dose, its seed, and its result."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

Report = Callable[[int, int], None]
"""Told how many doses are done, of how many."""

Figures = dict[str, int | float | str]
"""Counts and measurements, by their names in the table."""


class Outcome(NamedTuple):
    """The result of a fault: whether the guarantee held, and the figures that show it."""

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
    run: Callable[[Path, int, random.Random, Report], Outcome]
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
