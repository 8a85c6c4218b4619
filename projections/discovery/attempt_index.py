"""The inventory projection: the model that each attempt claims, and the model that its endpoint reports.

The state has one row per attempt (run, number, time, claim and outcome, digest of the output: about 60 bytes) and what
owners said about names. Claimed names are resolved when the view is computed (`model_names.py`), from copies of the
columns (`model_inventory.py`).
"""

from array import array
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import structs

from events.discovery import DiscoveryAttempted, DiscoveryStarted
from events.envelope import EventFacts
from events.model import ModelAliased, ModelIdentity, ModelRegistered, WrapperDeclared, WrapperWithdrawn
from events.model_names import claim_key
from events.payload import Payload
from projections.columns import as_array, microseconds_column
from projections.discovery.model_names import OWNER_EVENTS, ModelNames, RegisteredModel, StatedWrapper
from projections.projection import Projection
from projections.saved_state import Part, keyed, numbered, rebuilt, saved_column, saved_names

DIGEST_BYTES = 32
NO_DIGEST = "00" * DIGEST_BYTES
"""The hex digest of an unknown output."""

RunRequest = tuple[str | None, str | None]
"""The router of a run, and the model requested from it."""

AttemptClaim = tuple[str, ModelIdentity | None, str | None]
"""The outcome of an attempt, the identity that the answer claims, and the model that the endpoint reports."""


class AttemptColumns(NamedTuple):
    """Copies of the columns of attempts, in the order of the log, and the tables that they refer to by number."""

    run: npt.NDArray[np.uint32]
    number: npt.NDArray[np.int64]
    time_us: npt.NDArray[np.int64]
    claim: npt.NDArray[np.uint32]
    digest: npt.NDArray[np.bytes_]
    runs: Sequence[str]
    run_request: npt.NDArray[np.uint32]
    requests: Sequence[RunRequest]
    claims: Sequence[AttemptClaim]
    names: ModelNames


class AttemptIndex(Projection):
    """The claimed and reported identity in each attempt, and what owners said about names."""

    name: ClassVar[str] = "inventory"
    version: ClassVar[int] = 2
    reads: ClassVar[tuple[type[Payload], ...]] = (
        DiscoveryAttempted, DiscoveryStarted, ModelRegistered, ModelAliased, WrapperDeclared, WrapperWithdrawn,
    )  # fmt: skip

    parts: ClassVar[Mapping[str, Part]] = {
        "models": rebuilt(
            "_names.models",
            list[RegisteredModel],
            # Without a version as before there were versions: states of the same events stay the same.
            lambda models: [one if one.version is not None else structs.astuple(one)[:-1] for one in models.values()],
            lambda models: {model.key: model for model in models},
        ),
        "said": rebuilt(
            "_names.by_claim",
            list[tuple[str, str]],
            lambda aliases: list(aliases.values()),
            lambda pairs: {claim_key(name): (name, key) for name, key in pairs},
        ),
        "hosts": keyed("_names.wrappers", StatedWrapper, "key"),
        "runs": saved_names("_index"),
        "run_asked": saved_column("_run_request"),
        "asked": numbered("_requests", RunRequest),
        "claims": numbered("_claims", AttemptClaim),
        "run": saved_column("_run"),
        "number": saved_column("_number"),
        "time_us": saved_column("_time_us"),
        "claim": saved_column("_claim"),
        "digest": saved_column("_digest"),
    }

    def __init__(self) -> None:
        self._names = ModelNames()
        self._index: dict[str, int] = {}
        """Number of the run by its stream."""
        self._run_request = array("I")
        self._requests: dict[RunRequest, int] = {}
        self._claims: dict[AttemptClaim, int] = {}
        self._run = array("I")
        self._number = array("q")
        self._time_us = array("q")
        self._claim = array("I")
        self._digest = array("B")

    def fold(self, events: Sequence[EventFacts]) -> None:
        index, claims = self._index, self._claims
        add_run, add_number, add_claim = self._run.append, self._number.append, self._claim.append
        times: list[str] = []
        digests: list[str] = []
        for event in events:
            data = event.data
            if type(data) is DiscoveryAttempted:
                key = (data.outcome, data.claimed, data.reported_model)
                try:
                    claim_number = claims[key]
                except KeyError:
                    claim_number = claims[key] = len(claims)
                add_claim(claim_number)
                add_run(index[event.subject])
                add_number(data.attempt)
                times.append(event.time)
                digests.append(data.output_digest or NO_DIGEST)
            elif type(data) is DiscoveryStarted:
                index[event.subject] = len(index)
                request = (data.router, data.requested_model)
                self._run_request.append(self._requests.setdefault(request, len(self._requests)))
            elif type(data) in OWNER_EVENTS:
                self._names.fold(data)
        self._time_us.frombytes(microseconds_column(times))
        self._digest.frombytes(bytes.fromhex("".join(digests)))

    def complete(self) -> None:
        self._names = self._names.copy()  # which also finds the models by other forms of their names
        lengths = {len(self._run), len(self._number), len(self._time_us), len(self._claim)}
        assert lengths == {len(self._digest) // DIGEST_BYTES}, "columns of unlike length"
        assert len(self._index) == len(self._run_request), "runs and requests of unlike number"

    def summary(self) -> Mapping[str, object]:
        return {"runs": len(self._index), "attempts": len(self._run), "registered": sorted(self._names.models)}

    @property
    def names(self) -> ModelNames:
        """The registered models and their aliases. Copy it before folding continues."""
        return self._names

    def claims_of(self, run_id: str) -> list[tuple[int, AttemptClaim]]:
        """Return the number and the claim of each attempt of a run, in the order of the log."""
        rows = np.flatnonzero(as_array(self._run, np.uint32) == self._index[f"discovery/{run_id}"])
        numbers, of_run = as_array(self._number, np.int64)[rows], as_array(self._claim, np.uint32)[rows]
        claims = list(self._claims)
        return [(number, claims[claim]) for number, claim in zip(numbers.tolist(), of_run.tolist(), strict=True)]

    def attempts(self) -> AttemptColumns:
        """Return copies of the columns for the inventory."""
        return AttemptColumns(
            run=as_array(self._run, np.uint32).copy(),
            number=as_array(self._number, np.int64).copy(),
            time_us=as_array(self._time_us, np.int64).copy(),
            claim=as_array(self._claim, np.uint32).copy(),
            digest=np.frombuffer(bytes(self._digest), dtype=f"S{DIGEST_BYTES}"),
            runs=[subject.removeprefix("discovery/") for subject in self._index],
            run_request=as_array(self._run_request, np.uint32).copy(),
            requests=list(self._requests),
            claims=list(self._claims),
            names=self._names.copy(),
        )
