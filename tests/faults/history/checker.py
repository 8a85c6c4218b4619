"""Check a history against the final log: which of ten rules do not hold, and where.

 1 Every acknowledged event is at its position: as the client posted it, and as the log answered.
 2 Nothing that was definitely refused is in the log, and nothing that no client posted.
 3 What was complete before something else was invoked has a lower position.
 4 Every line ever read is in the final log at its position, byte-equal.
 5 A read contains all that was acknowledged before it began, or that a read of its kind (page, head) has shown.
 6 One event wins each expected version; the reason of each conflict was true between its invocation and its answer.
 7 An id has one position, and every retry is answered with it.
 8 All checkpoints of all nodes are those of the final log.
 9 I1 and I6: positions and stream versions are contiguous, in each page too, and recordedtime never decreases.
10 A batch is whole and contiguous, in the log and for every reader.

Rule 0: the log raised only errors that its interface names. The log states its own order, so no order is searched for:
the time is that of sorting the records and the lines. An event is posted in one batch only, and retried in the same.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from tests.faults.history.append_rules import (
    acknowledged_lines,
    conflicts,
    expected_versions,
    identities,
    inner_positions,
    real_time_order,
    refused_lines,
    whole_batches,
)
from tests.faults.history.final_log import FinalLog, Timeline, Violation, order_of_lines
from tests.faults.history.read_rules import checkpoints, complete_reads, read_lines
from tests.faults.history.records import AnyRecord, AppendFailed, AppendOk, History, merged

SHOWN = 5
"""Violations of each rule that a report shows."""


class Verdict(NamedTuple):
    """The violations of a history, and figures of what it contains."""

    violations: list[Violation]
    figures: dict[str, int]

    @property
    def rules(self) -> set[int]:
        """The numbers of the rules that do not hold."""
        return {violation.rule for violation in self.violations}

    def __str__(self) -> str:
        counts = Counter(violation.rule for violation in self.violations)
        shown = [
            str(violation)
            for rule in sorted(counts)
            for violation in [one for one in self.violations if one.rule == rule][:SHOWN]
        ]
        head = ", ".join(f"rule {rule}: {number}" for rule, number in sorted(counts.items())) or "no violations"
        return "\n".join([f"{head}; {self.figures}", *shown])


def check(
    records: Iterable[AnyRecord], lines: Iterable[tuple[int, bytes]], *, existing: int = 0, across_nodes: bool = True
) -> Verdict:
    """Check the records of all processes against the final log, whose lines come in order with their positions.

    `existing`: lines up to this position were there before the history. `across_nodes`: a read at one node must contain
    what another has acknowledged before; False: only what its own node has.
    """
    history, log = History.of(merged(records)), FinalLog(lines)
    timeline = Timeline(history, log)
    violations = [
        *(Violation(0, f"the log raised {one.error}", None, (one.name,)) for one in history.unexpected),
        *acknowledged_lines(history, log),
        *refused_lines(history, log, existing),
        *real_time_order(history, log, timeline),
        *read_lines(history, log),
        *complete_reads(history, timeline, inner_positions(history, log), across_nodes=across_nodes),
        *expected_versions(history, log),
        *conflicts(history, log, timeline),
        *identities(history, log, timeline),
        *checkpoints(history, log),
        *order_of_lines(log),
        *whole_batches(history, log),
    ]
    return Verdict(violations, _figures(history, log))


def _figures(history: History, log: FinalLog) -> dict[str, int]:
    answers = [call.answer for call in history.appends]
    acknowledged = [answer for answer in answers if isinstance(answer, AppendOk)]
    failed = [answer.error for answer in answers if isinstance(answer, AppendFailed)]
    return {
        "lines": len(log.raw),
        "appends acknowledged": len(acknowledged),
        "events acknowledged": len({place.position for answer in acknowledged for place in answer.places}),
        "duplicates": sum(place.duplicate for answer in acknowledged for place in answer.places),
        "refused": len(failed),
        "conflicts": failed.count("StreamConflict"),
        "unknown": len(answers) - len(acknowledged) - len(failed),
        "pages": len(history.pages),
        "lines read": sum(len(page.positions) for _, page in history.pages),
        "heads": len(history.heads),
        "checkpoints": len(history.checkpoints),
    }
