"""Find what the receivers of webhooks want to know, and record each finding once, as an alert.

Whether an alert was recorded already is decided by the log: after a restart, the same checks find the same things, and
append only what is missing.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from datetime import datetime, time, timedelta
from hashlib import sha256
from typing import Final

import numpy as np
from msgspec import structs

from api.service.decisions import count_decisions, decision_states
from api.service.evaluation.evaluation_params import GateParams
from api.service.evaluation.gate import get_gate
from api.service.ledger import LedgerService
from api.service.recent_drift import detect_recent_drift
from api.service.shared_fields import shared_fields
from api.service.webhooks.event_kinds import Kind
from api.service.webhooks.server_events import ServerEvents
from events.alert import AlertCheckpointUnsigned, AlertDriftDetected, AlertGateJudged, AlertReviewOverdue
from events.envelope import Event, timestamp
from events.payload import Payload
from ledger.errors import NotFound
from ledger.log import Query
from projections.alert_index import AlertIndex
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.window_comparison import RECENT, DriftLimits, examined_range
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_selection import DecisionSelection
from projections.time_range import TimeRange

UNSIGNED_S: Final = 10.0
"""Seconds without a new checkpoint, although the log has grown, after which it is an alert."""

OVERDUE_EVERY_S: Final = 60.0
DRIFT_EVERY_S: Final = 86_400.0
"""Seconds between two looks whether a new week has begun, and whether decisions of the old one were reviewed."""

DRIFT_LEVEL: Final = 0.002
"""The largest share of checks of drift that raise an alert without a change.

Each check may raise a false alarm: with one check a week, 3% to 9% of agents without a change raise one in a year. With
a check a day at the level of `checkDrift`, 5%, they were 48% to 94%.
"""

DRIFT_AGAIN_AFTER: Final = RECENT
"""A drift that was reported is reported again after this time, if it goes on."""

OVERDUE_AT_ONCE: Final = 200
"""Alerts of overdue reviews that one check records; the next one continues."""


class AlertChecks:
    """The checks of one server. `wanted` names the kinds that endpoints get, each with the time of the first of them.

    `clock_s` is monotonic, in seconds.
    """

    def __init__(self, ledger: LedgerService, events: ServerEvents, clock_s: Callable[[], float]) -> None:
        self._ledger = ledger
        self._events = events
        self._clock_s = clock_s
        self._due_s: dict[Kind, float] = {}
        self._judged: int | None = None
        self._signed = (0, float("inf"))

    async def run(self, wanted: Mapping[Kind, datetime], since: int) -> None:
        """Run the checks that are due. `since` is the position from which evaluations are judged."""
        if "unsigned-checkpoint" in wanted:
            await self._record(self._check_signing())
        if "gate" in wanted:
            await self._check_evaluations(since)
        if "overdue-review" in wanted and self._is_due("overdue-review", OVERDUE_EVERY_S):
            await self._record(await self._check_reviews(wanted["overdue-review"]))
        if "drift" in wanted and self._is_due("drift", DRIFT_EVERY_S):
            await self._record([alert async for alert in self._check_drift()])

    def _is_due(self, kind: Kind, every_s: float) -> bool:
        now_s = self._clock_s()
        if now_s < self._due_s.get(kind, now_s):
            return False
        self._due_s[kind] = now_s + every_s
        return True

    async def _record(self, alerts: Iterable[Payload]) -> None:
        found = list(alerts)
        index, _ = await self._ledger.engine.at(AlertIndex) if found else (AlertIndex(), 0)
        for alert in found:
            if not index.has(getattr(alert, "alert_id", "")):
                await self._events.record([alert])

    def _check_signing(self) -> Iterable[Payload]:
        log, proving, now_s = self._ledger.log, self._ledger.proving, self._clock_s()
        head, signed = log.newest.position if log is not None else 0, proving.signed_size
        if signed != self._signed[0] or head <= signed:
            self._signed = (signed, now_s)
        self._signed = (signed, min(self._signed[1], now_s))
        if now_s - self._signed[1] < UNSIGNED_S:
            return
        reason = str(proving.refusal) if proving.refusal is not None else f"no checkpoint was made for {UNSIGNED_S:g} s"
        yield AlertCheckpointUnsigned(
            alert_id=_alert_id("unsigned", str(signed), reason), signed_events=signed, head_position=head, reason=reason
        )

    async def _check_evaluations(self, since: int) -> None:
        """Judge the evaluations that ended after a position against the latest ones before, as `eval gate` does.

        A run that was reopened is judged again at its next end, with an alert of its own; not while it is open.
        """
        after = since if self._judged is None else self._judged
        page = await self._ledger.reader.read(Query(types=("eval.finished.v1",), after=after))
        for event in self._ledger.usable_events(page):
            run_id = event.subject.partition("/")[2]
            index, _ = await self._ledger.engine.at(AlertIndex)
            alert_id = await self._gate_alert_id(event)
            if alert_id is not None and not index.has(alert_id):
                alert = await self._judge(run_id, alert_id)
                await self._record([alert] if alert is not None else [])
            self._judged = event.position

    async def _gate_alert_id(self, end: Event) -> str | None:
        """Return the id of the alert on the end of an evaluation; None if the run was reopened since then."""
        page = await self._ledger.reader.read(Query(subjects=(end.subject,), types=("eval.reopened.v1",)))
        reopened = page.positions
        if any(position > end.position for position in reopened):
            return None
        run_id = end.subject.partition("/")[2]
        return _alert_id("gate", run_id, str(end.streamversion)) if reopened else _alert_id("gate", run_id)

    async def _judge(self, run_id: str, alert_id: str) -> Payload | None:
        """Return the verdict on an evaluation; None if there is nothing to compare it with."""
        try:
            found = await get_gate(self._ledger, GateParams(baseline="latest", run=run_id))
        except NotFound:
            return None
        baseline, candidate = found.baseline, found.candidate
        if candidate.baseline is not None:  # it scores a baseline answer, not an agent
            return None
        return AlertGateJudged(
            alert_id=alert_id,
            run_id=run_id,
            baseline_id=baseline.run_id,
            suite=candidate.suite,
            agent=candidate.agent,
            verdict=found.judgement.verdict,
            reasons=found.judgement.reasons,
            regressions=found.regressions,
            errors=candidate.errors,
            mean=candidate.mean,
            baseline_mean=baseline.mean,
        )

    async def _check_reviews(self, since: datetime) -> list[Payload]:
        """Find decisions whose review became overdue after a time, or that were recorded after it."""
        now = self._ledger.clock()
        index, position = await self._ledger.engine.at(DecisionIndex)
        overdue = DecisionSelection(status="pending", due_before=now)
        new = index.find(structs.replace(overdue, range=TimeRange(since, None)))
        later = np.setdiff1d(index.find(overdue), index.find(structs.replace(overdue, due_before=since)))
        rows = np.union1d(new, later)
        recorded, dues = index.positions(rows), index.review_times(rows)
        subjects = await self._ledger.engine.names.subjects(recorded)
        alerts, _ = await self._ledger.engine.at(AlertIndex)
        missing: dict[str, tuple[str, str]] = {}
        for row, subject in zip(rows.tolist(), subjects, strict=True):
            due = timestamp(dues[row])
            alert_id = _alert_id("overdue", subject, due)
            if not alerts.has(alert_id) and len(missing) < OVERDUE_AT_ONCE:
                missing[subject] = (alert_id, due)
        return [
            AlertReviewOverdue(
                alert_id=missing[f"decision/{state.decision_id}"][0],
                decision_id=state.decision_id,
                agent=state.agent,
                review_by=missing[f"decision/{state.decision_id}"][1],
            )
            for state in await decision_states(self._ledger, list(missing), position)
        ]

    async def _check_drift(self) -> AsyncIterator[Payload]:
        """Find agents that had got worse by the beginning of the week, and were not reported within DRIFT_AGAIN_AFTER.

        A server that is started again in the same week examines the same days again, so that it raises no more false
        alarms.
        """
        now = self._ledger.clock()
        week = datetime.combine(now.date() - timedelta(days=now.weekday()), time(), now.tzinfo)
        reviewed = DecisionSelection(status="reviewed", range=examined_range(week))
        for agent in sorted((await count_decisions(self._ledger, reviewed)).by_agent):
            drift = await detect_recent_drift(self._ledger, CalibrationFilter(agent=agent), week, DriftLimits())
            index, _ = await self._ledger.engine.at(AlertIndex)
            for alert in drift.alerts:
                if alert.p > DRIFT_LEVEL / 2:
                    continue
                last = index.last_drift(agent, alert.type)
                if last is not None and datetime.fromisoformat(last) > now - DRIFT_AGAIN_AFTER + timedelta(hours=1):
                    continue
                yield AlertDriftDetected(
                    alert_id=_alert_id("drift", agent, alert.type, timestamp(week)),
                    **shared_fields(alert, AlertDriftDetected),
                    agent=agent,
                    score=alert.type,
                    recent_reviews=drift.found[0],
                    historical_reviews=drift.found[1],
                    until=timestamp(week),
                    level=DRIFT_LEVEL,
                )


def _alert_id(kind: str, *about: str) -> str:
    """Return the id of an alert: the same for the same finding."""
    return f"{kind}-{sha256(chr(0).join(about).encode()).hexdigest()[:24]}"
