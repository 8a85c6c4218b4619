"""Every mutation of a correct history or its log, and the rule that it breaks."""

from collections.abc import Callable

from tests.faults.history import append_mutations as appends
from tests.faults.history import read_mutations as reads
from tests.faults.history.history_change import HistoryChange

MUTATIONS: dict[Callable[[HistoryChange], None], int] = {
    appends.unnamed_error: 0,
    appends.lost_tail: 1,
    appends.altered_line: 1,
    appends.altered_answer: 1,
    appends.acknowledged_elsewhere: 1,
    appends.missing_answer: 1,
    appends.refused_and_there: 2,
    appends.invented_line: 2,
    appends.reordered: 3,
    reads.vanished_line: 4,
    reads.vanished_head: 4,
    reads.missing_line: 4,
    reads.stale_head: 5,
    reads.stale_page: 5,
    reads.untrue_end: 5,
    appends.baseless_conflict: 6,
    appends.conflict_with_the_expected: 6,
    appends.conflict_with_the_past: 6,
    appends.conflict_with_the_future: 6,
    appends.two_winners: 6,
    appends.wrong_version: 6,
    appends.won_elsewhere: 6,
    appends.duplicated_line: 7,
    appends.retry_elsewhere: 7,
    appends.new_again: 7,
    appends.first_as_duplicate: 7,
    appends.refused_retry: 7,
    appends.baseless_identity: 7,
    appends.new_though_known: 7,
    reads.forked_checkpoint: 8,
    reads.checkpoint_beyond: 8,
    reads.two_roots: 8,
    appends.gap: 9,
    appends.gap_before_the_last: 9,
    reads.skipped_in_page: 9,
    appends.version_gap: 9,
    appends.earlier_time: 9,
    appends.misplaced_line: 9,
    appends.unreadable_line: 9,
    appends.line_twice: 9,
    reads.skipped_by_follower: 9,
    appends.torn_batch: 10,
    appends.split_batch: 10,
    reads.torn_head: 10,
    reads.torn_page: 10,
    appends.scattered_answer: 10,
    appends.half_a_duplicate: 10,
}
"""The numbers are those of `checker.py`."""
