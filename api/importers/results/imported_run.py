"""The form that results of other tools have before they become events: files, runs and scores.

A reader of a tool's format makes an `ImportedFile`; everything after that is the same for every tool. A reader keeps
what a field here can hold, counts everything else in `NotKept`, and invents nothing: what the file does not state is
None.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Literal

import msgspec

from api.importers.results.lenient_json import number, time_of
from events.errors import InvalidEvent
from events.evaluation import COST_USD_MAX, POINTS_MAX, Component, Failure, PatternFinding, ScoreState
from events.limits import LABEL_CHARS_MAX
from events.payload import COUNT_MAX
from instruments.stored_text import count_of, text_of

Format = Literal["inspect", "lm-eval", "promptfoo", "deepeval"]
"""The names of the formats, as `--format` takes them."""

TEXT_CHARS_MAX = 2_000
"""Characters of a reason and of an expected text that are kept."""

ERROR_CHARS_MAX = 4_000
"""Characters of an error that are kept."""

EXAMPLE_CHARS_MAX = 80
"""Characters of an example of what was not kept."""

RUN_ID_CHARS = 16
"""Hexadecimal digits of a run's id that follow from the identity of the tool's run and from its scorer."""


_encode = msgspec.json.Encoder(order="sorted").encode


class NotKept(msgspec.Struct, kw_only=True):
    """One kind of thing that the ledger cannot hold: `what` in words, how many of them, and the first as an example."""

    what: str
    count: int
    example: str | None = None


class ImportedScore(msgspec.Struct, frozen=True, kw_only=True):
    """One score of one sample.

    `sample` is the tool's own id of the sample; `attempt` counts from 1 (epochs, repeats). `points` are 0..100 and
    stated together with `passed` exactly in the state `scored`; `threshold` is the lowest number of points that
    passes, if the tool states one. `answer` is the text of the agent, `detail` why there is no score. `fixture_digest`
    changes when input or expectation change, `expectation_digest` with the expectation alone (`content_digest`).
    """

    sample: str
    attempt: int = 1
    state: ScoreState
    points: float | None = None
    passed: bool | None = None
    threshold: float | None = None
    failure: Failure | None = None
    detail: str | None = None
    answer: str | None = None
    components: tuple[Component, ...] = ()
    reported_model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    elapsed_ns: int | None = None
    fixture_digest: str | None = None
    expectation_digest: str | None = None
    time: datetime | None = None


class ImportedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluation: an agent, a suite and one scorer, with all scores in an order that follows from their content.

    `identity` is what the tool itself calls this evaluation (the id of its run), so that the same evaluation in another
    file or file format is found again; None if the tool has no id: the digest of the file is used. Together with
    `scorer_id` and `part` (anything else that tells the runs of one file apart: the agent, the provider) it gives the
    run's id. `samples` are the ids of all samples that were to be scored, if the file states them. `finished` is False
    for a file that is still being written. `reason` says why the evaluation ended early.
    `stated_mean` is the mean that the tool itself computed, in points 0..100, over the same scores.
    """

    identity: str | None
    part: str = ""
    suite: str
    agent: str | None = None
    agent_version: str | None = None
    model: str | None = None
    scorer_id: str
    scorer_version: str | None = None
    samples: tuple[str, ...] = ()
    attempts: int | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    finished: bool = True
    reason: str | None = None
    stated_mean: float | None = None
    meta: dict[str, str] = {}
    scores: tuple[ImportedScore, ...]


class ImportedFile(msgspec.Struct, kw_only=True):
    """A file of results: its format, the program that wrote it, its digest (SHA-256), runs, and what was not kept."""

    file: str
    format: Format
    program: str
    program_version: str | None = None
    source_digest: str
    runs: list[ImportedRun] = []
    not_kept: list[NotKept] = []

    @property
    def imported_from(self) -> str:
        """The program and its version, as an event states it."""
        text = self.program if self.program_version is None else f"{self.program} {self.program_version}"
        return text[:LABEL_CHARS_MAX]

    def leave_out(self, what: str, count: int = 1, example: str | None = None) -> None:
        """Count things that are not kept, under a name in the plural ("messages of conversations")."""
        if count == 0:
            return
        for each in self.not_kept:
            if each.what == what:
                each.count += count
                return
        short = None if example is None else " ".join(example.split())[:EXAMPLE_CHARS_MAX]
        self.not_kept.append(NotKept(what=what, count=count, example=short or None))

    def shorten(self, text: str, what: str, chars_max: int = TEXT_CHARS_MAX) -> str:
        """Return the beginning of a text; count its end, under a name in the plural, if that is cut off."""
        is_long = len(text) > chars_max
        self.leave_out(f"ends of {what} that are longer than {chars_max:,} characters", int(is_long), text)
        return text[:chars_max]

    def cost(self, cost_usd: float | None) -> float | None:
        """Return a cost; None, and count it, if no event can state it."""
        if cost_usd is None or 0 <= cost_usd <= COST_USD_MAX:
            return cost_usd
        self.leave_out(f"costs outside of 0 to {COST_USD_MAX:,.0f} dollars", 1, f"{cost_usd:g}")
        return None

    def tokens(self, *counts: Any) -> int | None:  # noqa: ANN401 - any JSON values
        """Return the sum of the counts of tokens that are stated; None, and count it, if no event can state it."""
        stated = [count for count in counts if count is not None]
        if not stated:
            return None
        total = None if None in map(count_of, stated) else count_of(sum(stated))
        what = f"counts of tokens that are not whole numbers within 0 to {COUNT_MAX:,}"
        self.leave_out(what, int(total is None), ", ".join(map(text_of, stated)))
        return total

    def elapsed_ns(self, value: Any, what: str, per_second: float = 1.0) -> int | None:  # noqa: ANN401 - any JSON value
        """Return a stated duration in nanoseconds; None, and count it, if no event can state it."""
        duration = number(value)
        elapsed_ns = None if duration is None else nanoseconds(duration / per_second)
        is_lost = value is not None and elapsed_ns is None
        self.leave_out(f"{what} that are not within 0 to {COUNT_MAX / 1e9:,.0f} seconds", int(is_lost), text_of(value))
        return elapsed_ns

    def time(self, text: str | None, what: str) -> datetime | None:
        """Return a time that the file states; None, and count it, for a text that is none."""
        moment = time_of(text)
        self.leave_out(f"{what} that are not a date or an RFC 3339 time", int(bool(text) and moment is None), text)
        return moment

    def time_after(self, start: datetime, seconds: float, name: str) -> datetime:
        """Return the time that is some seconds after another. Errors: InvalidEvent, if there is no such date."""
        try:
            return start + timedelta(seconds=seconds)
        except (OverflowError, ValueError):
            detail = f"{self.file}: {name} gives a date that is not within the years 1 to 9999."
            raise InvalidEvent(detail, "Correct the value.") from None

    def end_after(self, start: datetime | None, seconds: float | None, name: str, *, stated: bool) -> datetime | None:
        """Return the end of what took some seconds; None if it is unknown, and count a `stated` duration that is none.

        Errors: InvalidEvent, if no date is the end.
        """
        if seconds is None or seconds < 0:
            self.leave_out(f"durations ({name}) that are not a number from 0", int(stated))
            return None
        return None if start is None else self.time_after(start, seconds, name)

    def run_id(self, run: ImportedRun) -> str:
        """Return the id of a run: the same for the same evaluation, whatever file it was read from."""
        identity = self.source_digest if run.identity is None else run.identity
        parts = msgspec.json.encode([self.program, identity, run.scorer_id, run.part])
        return f"{self.format}-{sha256(parts).hexdigest()[:RUN_ID_CHARS]}"


def content_digest(*parts: object) -> str:
    """Return the digest of values that JSON can hold: of the input and the expectation of a sample, for example."""
    return sha256(_encode(parts)).hexdigest()


def points_of(fraction: float) -> float | None:
    """Return the points of a score in 0..1; None for one outside, which has no scale that is known."""
    return fraction * POINTS_MAX if 0.0 <= fraction <= 1.0 else None


def nanoseconds(seconds: float | None) -> int | None:
    """Return a duration in nanoseconds; None if no event can state it."""
    return round(seconds * 1e9) if seconds is not None and 0 <= seconds * 1e9 <= COUNT_MAX else None


def mean_over_scenarios(mean: float | None, count: int, scores: Sequence[ImportedScore]) -> float | None:
    """Return a mean over `count` answers that a tool computed; None if it cannot be compared with ours, over scenarios.

    It can be if every answer with a score was kept, and all scenarios that have any score have equally many.
    """
    scored = Counter(score.sample for score in scores if score.state == "scored")
    if mean is None or sum(scored.values()) != count or len(set(scored.values())) != 1:
        return None
    return mean


def checked_component(
    name: str,
    *,
    points: float | None = None,
    passed: bool | None = None,
    mark: float | None = None,
    expected: str | None = None,
    match_type: str | None = None,
    note: str | None = None,
) -> Component:
    """Return a component for one check of another tool; with what it expected, its finding states that and a remark.

    `name` and `match_type` are cut to the length of a label.
    """
    finding = (
        PatternFinding(
            expectation="target",
            pattern=expected,
            match_type=(match_type or name)[:LABEL_CHARS_MAX],
            matched=bool(passed),
            note=note or None,
        )
        if expected
        else None
    )
    return Component(
        name=name[:LABEL_CHARS_MAX] or "score",
        applicable=points is not None,
        score=points,
        mark=mark,
        passed=passed,
        findings=() if finding is None else (finding,),
    )
