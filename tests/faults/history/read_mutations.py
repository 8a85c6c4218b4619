"""Mutations of reads and checkpoints. Each breaks one rule; others may break too."""

from collections import Counter

from msgspec.structs import replace

from tests.faults.history.append_rules import inner_positions
from tests.faults.history.history_change import HistoryChange
from tests.faults.history.records import DIGEST_BYTES, CheckpointSeen, FollowInvoked, PageOk, ReadInvoked


def vanished_line(change: HistoryChange) -> None:
    page = change.pick(change.pages(1)).page
    at = change.rng.randrange(len(page.digests))
    digests = page.digests[:at] + bytes([page.digests[at] ^ 1]) + page.digests[at + 1 :]
    change.change(page, replace(page, digests=digests))


def missing_line(change: HistoryChange) -> None:
    """A page has a position without its line."""
    page = change.pick(change.pages(1)).page
    change.change(page, replace(page, digests=page.digests[:-DIGEST_BYTES]))


def vanished_head(change: HistoryChange) -> None:
    head = change.pick(change.history.heads).answer
    change.change(head, replace(head, position=len(change.lines) + change.rng.randint(1, 100)))


def stale_head(change: HistoryChange) -> None:
    known = [(change.timeline.known_before(asked.at_ns, "head"), head) for asked, head in change.history.heads]
    position, head = change.pick([one for one in known if one[0]])
    change.change(head, replace(head, position=position - 1))


def stale_page(change: HistoryChange) -> None:
    """A page lacks its newest line, which was known before."""
    known = change.timeline.known_before
    pages = [
        call
        for call in change.pages(1)
        if isinstance(call.invoked, ReadInvoked)
        and call.invoked.before is None
        and max(call.page.positions) <= known(call.invoked.at_ns, "page")
    ]
    call = change.pick(pages)
    change.without(call, call.page.positions.index(max(call.page.positions)))


def untrue_end(change: HistoryChange) -> None:
    """A page states that nothing follows it, and more was known before."""
    known = change.timeline.known_before
    pages = [
        call.page
        for call in change.pages(1)
        if isinstance(call.invoked, ReadInvoked)
        and call.invoked.before is None
        and call.invoked.order == "asc"
        and call.page.positions[-1] < known(call.invoked.at_ns, "page")
    ]
    page = change.pick(pages)
    change.change(page, replace(page, more=False))


def skipped_in_page(change: HistoryChange) -> None:
    call = change.pick([one for one in change.pages(3) if isinstance(one.invoked, ReadInvoked)])
    change.without(call, change.rng.randrange(1, len(call.page.positions) - 1))


def skipped_by_follower(change: HistoryChange) -> None:
    call = change.pick([one for one in change.pages(3) if isinstance(one.invoked, FollowInvoked)])
    change.without(call, change.rng.randrange(1, len(call.page.positions) - 1))


def torn_head(change: HistoryChange) -> None:
    head = change.pick(change.history.heads).answer
    position = change.pick(list(inner_positions(change.history, change.log)))
    change.change(head, replace(head, position=position))


def torn_page(change: HistoryChange) -> None:
    """A page ends within a batch, and states that nothing follows."""
    inner = inner_positions(change.history, change.log)
    pages: list[PageOk] = [
        call.page
        for call in change.pages(2)
        if isinstance(call.invoked, ReadInvoked)
        and (call.invoked.before, call.invoked.order) == (None, "asc")
        and inner.keys() & set(call.page.positions)
    ]
    page = change.pick(pages)
    end = page.positions.index(change.pick(sorted(inner.keys() & set(page.positions)))) + 1
    digests = page.digests[: end * DIGEST_BYTES]
    change.change(page, replace(page, positions=page.positions[:end], digests=digests, more=False))


def forked_checkpoint(change: HistoryChange) -> None:
    seen = change.pick(seen_once(change))
    change.change(seen, replace(seen, root=bytes([seen.root[0] ^ 1]) + seen.root[1:]))


def checkpoint_beyond(change: HistoryChange) -> None:
    seen = change.pick(change.history.checkpoints)
    change.change(seen, replace(seen, size=len(change.lines) + 1))


def two_roots(change: HistoryChange) -> None:
    """Another node states another root for a size."""
    seen = change.pick(change.history.checkpoints)
    change.records.append(replace(seen, node="other", process="other", root=bytes(DIGEST_BYTES)))


def seen_once(change: HistoryChange) -> list[CheckpointSeen]:
    """The checkpoints of sizes that have only one."""
    sizes = Counter(seen.size for seen in change.history.checkpoints)
    return [seen for seen in change.history.checkpoints if sizes[seen.size] == 1]
