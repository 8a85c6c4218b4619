"""An imported run as the ledger has it, and how a file differs from it."""

from typing import Any

import msgspec
from msgspec import structs

from api.importers.results.run_events import AttemptKey, PreparedRun
from api.service.store import EventStore
from api.text_format import pluralize
from events.evaluation import EvalFinished, EvalScored, EvalStarted
from events.registry import VOCABULARY

VALUE_CHARS_MAX = 60
"""Characters of a value that a difference quotes."""


class StoredRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of the ledger: its start, the last score of each attempt, and its end, if it has one."""

    started: EvalStarted
    scores: dict[AttemptKey, EvalScored]
    finished: EvalFinished | None

    def has_all(self, run: PreparedRun) -> bool:
        """Tell whether nothing of a file is missing."""
        return run.scores.keys() <= self.scores.keys() and (run.finished is None or self.finished is not None)

    def difference(self, run: PreparedRun) -> str | None:
        """Return in words how a file contradicts the run; None if it is equal, or states more scores."""
        # those of the first file that was imported: the same results in another file may state others
        ours, theirs = (
            structs.replace(start, imported_from=None, source_digest=None, meta=None)
            for start in (self.started, run.started)
        )
        if ours != theirs:
            return _difference("the start", ours, theirs)
        ours_meta, theirs_meta = self.started.meta or {}, run.started.meta or {}
        for name in ours_meta.keys() & theirs_meta.keys():  # a file that was still growing states fewer figures
            if ours_meta[name] != theirs_meta[name]:
                return f"{name} is {_quote(ours_meta[name])} there and {_quote(theirs_meta[name])} in the file"
        for key, graded in run.scores.items():
            stored = self.scores.get(key)
            if stored is not None and stored != graded.score:
                return _difference(f"scenario {key[0]}, attempt {key[1]}", stored, graded.score)
        if extra := self.scores.keys() - run.scores.keys():
            return f"it has {pluralize(len(extra), 'score')} that the file lacks, the first of scenario {min(extra)[0]}"
        if self.finished is not None:
            if run.scores.keys() - self.scores.keys():
                return "it has ended with fewer scores than the file has"
            if run.finished is not None and run.finished != self.finished:
                return _difference("the end", self.finished, run.finished)
        return None


async def read_stored(store: EventStore, run_id: str) -> StoredRun | None:
    """Return a run of the ledger; None for an unknown id. Errors: those of reading."""
    events = list(VOCABULARY.events(await store.streams([f"evaluation/{run_id}"])))
    if not events:
        return None
    started, last = events[0].data, events[-1].data
    assert isinstance(started, EvalStarted)
    scores = [event.data for event in events if isinstance(event.data, EvalScored)]
    return StoredRun(
        started=started,
        scores={(score.scenario_id, score.attempt): score for score in scores},
        finished=last if isinstance(last, EvalFinished) else None,
    )


def _difference(place: str, stored: msgspec.Struct, file: msgspec.Struct) -> str:
    """Return the first field that differs, with both values."""
    for name in stored.__struct_fields__:
        ours, theirs = getattr(stored, name), getattr(file, name)
        if ours != theirs:
            return f"{name} of {place} is {_quote(ours)} there and {_quote(theirs)} in the file"
    return place


def _quote(value: Any) -> str:  # noqa: ANN401 - a value of a field
    text = str(value) if isinstance(value, str | int | float | bool) or value is None else repr(value)
    return text if len(text) <= VALUE_CHARS_MAX else f"{text[:VALUE_CHARS_MAX]}..."
