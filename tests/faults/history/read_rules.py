"""The rules about reads and checkpoints: what was read stays, what was acknowledged is read, and every root fits."""

from collections.abc import Iterator, Mapping

from ledger.transparency.merkle import leaf_hashes
from ledger.transparency.tiles import TreeEdge
from tests.faults.history.final_log import FinalLog, Timeline, Violation
from tests.faults.history.records import DIGEST_BYTES, FollowInvoked, History, PageOk, ReadInvoked


def read_lines(history: History, log: FinalLog) -> Iterator[Violation]:
    """(4) Every line ever read, and every newest position, is in the final log, byte-equal."""
    for asked, page in history.pages:
        if len(page.digests) != len(page.positions) * DIGEST_BYTES:
            yield Violation(4, f"{len(page.positions)} positions have other lines", None, (asked.name,))
        elif not log.has_page(page.positions, page.digests):
            for index, position in enumerate(page.positions):
                if log.digests.get(position) != page.digests[index * DIGEST_BYTES : (index + 1) * DIGEST_BYTES]:
                    state = "has another line" if position in log.digests else "does not have it"
                    yield Violation(4, f"a line was read, and the log {state}", position, (asked.name,))
    for _, head in history.heads:
        if head.position > log.newest:
            yield Violation(4, f"the head was there, and the log ends at {log.newest}", head.position, (head.name,))


def complete_reads(
    history: History, timeline: Timeline, inner: Mapping[int, str], *, across_nodes: bool
) -> Iterator[Violation]:
    """(5) A read contains all that was acknowledged before; (9) it has no gaps, (10) and whole batches."""
    followed: dict[tuple[str, int], int] = {}
    for asked, page in history.pages:
        if isinstance(asked, FollowInvoked):
            key = asked.process, asked.call
            last = followed.get(key, asked.after)
            if page.positions != list(range(last + 1, last + 1 + len(page.positions))):
                detail = f"a follower at {last} was given {_range(page)}"
                yield Violation(9, detail, last + 1, (asked.name,))
            followed[key] = max([last, *page.positions])
        else:
            known = timeline.known_before(asked.at_ns, "page", None if across_nodes else asked.node)
            yield from _complete_page(asked, page, known)
            yield from _whole_page(asked, page, inner)
    for invoked, head in history.heads:
        known = timeline.known_before(invoked.at_ns, "head", None if across_nodes else invoked.node)
        if head.position < known:
            yield Violation(5, f"the head was {head.position}, and {known} was known before", known, (head.name,))
        if head.position in inner:
            yield Violation(10, "the head was within a batch", head.position, (head.name, inner[head.position]))


def _complete_page(asked: ReadInvoked, page: PageOk, known: int) -> Iterator[Violation]:
    read, names = page.positions, (asked.name,)
    end = known if asked.before is None else min(known, asked.before - 1)
    first, last = asked.after + 1, min(asked.after + asked.limit, end)
    if asked.order == "desc":
        read = read[::-1]
        last = end
        first = max(asked.after + 1, read[-1] - asked.limit + 1) if read else asked.after + 1
    gap = read != list(range(first, read[-1] + 1)) if read else False
    short = first <= last and (not read or read[-1] < last)
    if gap:
        yield Violation(9, f"a page after {asked.after} has {_range(page)}", asked.after + 1, names)
    if short:
        detail = f"a page after {asked.after} has {_range(page)}, and {last} was known before"
        yield Violation(5, detail, last, names)
    elif asked.order == "asc" and not page.more and read and read[-1] < end:
        yield Violation(5, f"a page ends at {read[-1]} without more, and {end} was known before", end, names)


def _whole_page(asked: ReadInvoked, page: PageOk, inner: Mapping[int, str]) -> Iterator[Violation]:
    """A page without an upper limit that nothing follows ends with a whole batch."""
    if asked.before is not None or not page.positions or (asked.order == "asc" and page.more):
        return
    newest = max(page.positions)
    if newest in inner:
        yield Violation(10, "a page ends within a batch", newest, (asked.name, inner[newest]))


def _range(page: PageOk) -> str:
    if not page.positions:
        return "nothing"
    return f"{page.positions[0]}..{page.positions[-1]} ({len(page.positions)} lines)"


def checkpoints(history: History, log: FinalLog) -> Iterator[Violation]:
    """(8) The checkpoints of all nodes are of one tree: that of the final log."""
    edge = TreeEdge()
    leaves = leaf_hashes(log.raw)
    roots: dict[int, tuple[bytes, str]] = {}
    for seen in sorted(history.checkpoints, key=lambda seen: seen.size):
        named = f"{seen.name} of {seen.node}"
        root, first = roots.setdefault(seen.size, (seen.root, named))
        if root != seen.root:
            yield Violation(8, "two checkpoints of one size have different roots", seen.size, (first, named))
        if seen.size > len(leaves):
            yield Violation(8, f"a checkpoint is beyond the log, which has {len(leaves)}", seen.size, (named,))
            continue
        if seen.size > edge.size:
            edge, _ = edge.grow(leaves[edge.size : seen.size])
        if edge.root() != seen.root:
            yield Violation(8, "a checkpoint has another root than the log", seen.size, (named,))
