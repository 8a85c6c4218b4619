"""The stakes of bets on groups of decisions after their first reviews, and those that are kept.

The stakes after the last review are kept for each selection of decisions, so the next question costs what is new. They
are saved with the state: a million reviews take a second to be followed again.
"""

from collections.abc import Hashable
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from projections.arrays import Floats, Ints
from projections.calibration.cell_groups import GroupBy
from projections.calibration.cells import KeyFilter
from projections.calibration.cluster_sums import ClusterSums
from projections.calibration.first_reviews import ReviewOrder
from projections.calibration.gap_evidence import GapEvidence, GapSums, evidence_of_sums
from projections.stats.gap_martingale import FRACTIONS, log_mean_exp
from projections.stats.gap_sequence import log_e_within
from projections.stats.intervals import GapSide

STAKES_KEPT_MAX: Final = 20_000
"""Groups whose stakes are kept, over all selections: about 10 MB. CLUSTERS_PER_GROUP clusters count as one."""

CLUSTERS_PER_GROUP: Final = 4

CLUSTERS_STORED_MAX: Final = 16_384
"""Sums of clusters that are stored for a grouping, those of the newest reviews; others are made again if needed."""

Numbers = npt.NDArray[np.intp]

_K = len(FRACTIONS)
OVER, UNDER, STAKES = slice(0, _K), slice(_K, 2 * _K), slice(0, 2 * _K)
SUMS = slice(2 * _K, 2 * _K + 6)
DIFFERENCE, CONFIDENCE, SQUARE, CLUSTER_SQUARE, CLUSTER_PRODUCT, CLUSTER_SIZE = range(SUMS.start, SUMS.stop)
"""The rows of `Stakes.totals`."""

ROWS: Final = SUMS.stop
CLUSTER_ROWS: Final = STAKES.stop + 1
_TINY: Final = 1e-300
SIDES: Final[tuple[GapSide, ...]] = ("over", "under", "well")


class Stakes(NamedTuple):
    """The state after `size` first reviews: a column for each group, none for groups without a review.

    `totals` has logarithms of stakes, then sums: of outcome minus confidence, of confidence, of the square of that
    difference; and over clusters, of the square of the sum of differences, of this sum times the number of reviews, and
    of the square of this number. `clusters` counts clusters, `largest` the reviews of the largest. A review without a
    cluster is one of its own. `supported_at` has a row for each of SIDES: a number of reviews, 0 if not supported yet.
    `open` has the sums of named clusters, by group and cluster.
    """

    size: int
    retractions: int
    totals: Floats
    reviewed: Ints
    clusters: Ints
    largest: Ints
    supported_at: Ints
    open: ClusterSums

    @classmethod
    def before(cls, order: ReviewOrder) -> "Stakes":
        """Return the stakes before the first review of an order."""
        none = np.zeros(0, np.int64)
        totals, supported_at = np.zeros((ROWS, 0)), np.zeros((len(SIDES), 0), np.int64)
        return cls(0, order.retractions, totals, none, none, none, supported_at, ClusterSums.empty(CLUSTER_ROWS))

    def begins(self, order: ReviewOrder) -> bool:
        """Return whether these are the stakes after some reviews of an order."""
        return self.retractions == order.retractions and self.size <= order.size

    def follows(self, other: "Stakes") -> bool:
        """Return whether these are the stakes after more reviews of the same order."""
        return self.retractions == other.retractions and self.size > other.size

    def with_groups(self, groups: int) -> "Stakes":
        """Return a copy with columns for at least so many groups."""
        missing = max(0, groups - len(self.reviewed))
        return self._replace(
            totals=np.pad(self.totals, ((0, 0), (0, missing))),
            reviewed=np.pad(self.reviewed, (0, missing)),
            clusters=np.pad(self.clusters, (0, missing)),
            largest=np.pad(self.largest, (0, missing)),
            supported_at=np.pad(self.supported_at, ((0, 0), (0, missing))),
        )

    @property
    def weight(self) -> int:
        """How many groups these count as, to keep them."""
        return len(self.reviewed) + len(self.open.key) // CLUSTERS_PER_GROUP

    @property
    def stored_weight(self) -> int:
        """How many groups these count as, to store them."""
        return len(self.reviewed) + min(len(self.open.key), CLUSTERS_STORED_MAX) // CLUSTERS_PER_GROUP


def log_means(sums: Floats) -> Floats:
    """Return the logarithms of clusters' mean factors, given their sums; 0 for a cluster without a review."""
    n = sums[-1]
    return np.asarray(np.where(n > 0, np.log(np.maximum(sums[STAKES], _TINY) / np.maximum(n, 1)), 0))


class SelectionKey(NamedTuple):
    """What tells a grouping of a selection from others. `resolved` says more where names of models are resolved."""

    key_filter: KeyFilter
    group_by: GroupBy | None
    resolved: Hashable = None


class StakesKept:
    """The stakes of the selections that were asked for last, by key. Threads share it.

    Those of `always` are never dropped, however many others there are.
    """

    def __init__(self, always: "frozenset[Hashable]" = frozenset()) -> None:
        self._always = always
        self._kept: dict[Hashable, Stakes] = {}

    def get(self, key: Hashable, order: ReviewOrder) -> Stakes:
        """Return the newest stakes that are a part of an order, or those before the first review."""
        kept = self._kept.get(key)
        return kept if kept is not None and kept.begins(order) else Stakes.before(order)

    def put(self, key: Hashable, stakes: Stakes) -> None:
        """Keep stakes that were asked for, and drop the oldest ones that are too many."""
        older = self._kept.pop(key, None)
        self._kept[key] = stakes if older is None or not older.follows(stakes) else older
        items = list(self._kept.items())
        weight = sum(kept.weight for one, kept in items if one in self._always)
        for one, kept in reversed(items):
            if one not in self._always:
                weight += kept.weight
                if weight > STAKES_KEPT_MAX and one != key:
                    self._kept.pop(one, None)

    def renew(self, key: Hashable, stakes: Stakes) -> None:
        """Replace stakes that are kept by newer ones, which nobody asked for."""
        older = self._kept.get(key)
        if (older is None and key in self._always) or (older is not None and not older.follows(stakes)):
            self._kept[key] = stakes

    def lagging(self, order: ReviewOrder, reviews: int) -> list[SelectionKey]:
        """Return the keys of what is kept, and can be continued, that lacks so many reviews of an order or more."""
        return [
            key
            for key, kept in list(self._kept.items())
            if isinstance(key, SelectionKey) and key.resolved is None and kept.begins(order)
            if order.size - kept.size >= reviews
        ]

    def encode(self, order: ReviewOrder) -> bytes:
        """Return what is kept for an order, as bytes: STAKES_KEPT_MAX at most, the newest."""
        stored, weight = [], 0
        items = sorted(self._kept.items(), key=lambda item: item[0] in self._always)
        for key, kept in reversed(items):
            weight += kept.stored_weight
            if isinstance(key, SelectionKey) and key.resolved is None and kept.begins(order):
                if weight > STAKES_KEPT_MAX:
                    break
                stored.append(_StoredStakes.of(key, kept))
        return msgspec.msgpack.encode(_Stored(_FORMAT, order.size, order.retractions, stored[::-1]))

    def restore(self, cache: bytes, order: ReviewOrder) -> None:
        """Take up what `encode` returned for the same order. Anything else is ignored, or an error."""
        stored = msgspec.msgpack.decode(cache, type=_Stored)
        if (stored.format, stored.size, stored.retractions) == (_FORMAT, order.size, order.retractions):
            kept: dict[Hashable, Stakes] = {
                SelectionKey(one.key_filter, one.group_by): one.stakes() for one in stored.stakes
            }
            if all(one.begins(order) for one in kept.values()):
                self._kept = kept


_FORMAT: Final = 1
"""Increase it if stakes mean something else: older ones are then not taken up."""


class _StoredStakes(msgspec.Struct, array_like=True):
    """Stakes as they are stored: arrays as the bytes of 64-bit numbers."""

    key_filter: KeyFilter
    group_by: GroupBy | None
    size: int
    retractions: int
    clusters_most: int
    totals: bytes
    reviewed: bytes
    clusters: bytes
    largest: bytes
    supported_at: bytes
    open_key: bytes
    open_sums: bytes
    open_last: bytes
    dropped: bytes

    @classmethod
    def of(cls, key: SelectionKey, stakes: Stakes) -> "_StoredStakes":
        *open_arrays, most = stakes.open.trimmed(CLUSTERS_STORED_MAX)
        arrays = [each.tobytes() for each in (*stakes[2:7], *open_arrays)]
        return cls(key.key_filter, key.group_by, stakes.size, stakes.retractions, most, *arrays)

    def stakes(self) -> Stakes:
        reviewed, clusters, largest, open_key, open_last = (
            np.frombuffer(each, "<i8")
            for each in (self.reviewed, self.clusters, self.largest, self.open_key, self.open_last)
        )
        groups = len(reviewed)
        assert len(clusters) == len(largest) == groups, "columns of unlike length"
        assert len(open_key) == len(open_last), "columns of unlike length"
        return Stakes(
            self.size,
            self.retractions,
            np.frombuffer(self.totals, "<f8").reshape(ROWS, groups),
            reviewed,
            clusters,
            largest,
            np.frombuffer(self.supported_at, "<i8").reshape(len(SIDES), groups),
            ClusterSums(
                open_key,
                np.frombuffer(self.open_sums, "<f8").reshape(CLUSTER_ROWS + 1, len(open_key)),
                open_last,
                np.frombuffer(self.dropped, bool),
                self.clusters_most,
            ),
        )


class _Stored(msgspec.Struct, array_like=True):
    format: int
    size: int
    retractions: int
    stakes: list[_StoredStakes]


def evidence_of(stakes: Stakes, group: int) -> GapEvidence | None:
    """Return the evidence of a group by its number; None without a review."""
    if group >= len(stakes.reviewed) or not stakes.reviewed[group]:
        return None
    totals, at = stakes.totals[:, group], stakes.supported_at[:, group].tolist()
    return evidence_of_sums(
        (float(log_mean_exp(totals[OVER])), float(log_mean_exp(totals[UNDER]))),
        GapSums(*(int(n[group]) for n in (stakes.reviewed, stakes.clusters, stakes.largest)), *totals[SUMS].tolist()),
        {side: review for side, review in zip(SIDES, at, strict=True) if review},
    )


def log_e_values_of(stakes: Stakes, groups: Numbers) -> tuple[Floats, Floats, Floats]:
    """Return the logarithms of the e-values of groups with reviews: over, under, and within GAP_MARGIN."""
    totals, n = stakes.totals[:, groups], stakes.reviewed[groups].astype(np.float64)
    largest = stakes.largest[groups].astype(np.float64)
    within = log_e_within(n, totals[DIFFERENCE], totals[CLUSTER_SQUARE], largest)
    return log_mean_exp(totals[OVER]), log_mean_exp(totals[UNDER]), within
