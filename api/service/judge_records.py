"""The verdicts of judges and the labels of people, as of a position."""

from collections.abc import Mapping

from api.service.ledger import LedgerService
from projections.evaluation.judge_index import JudgeIndex, LabelKey


async def find_judging(ledger: LedgerService, as_of: int | None) -> JudgeIndex:
    """Return the state of judging. Use it before the next `await`.

    If `as_of` is None, it is at the position of the projection that the caller requested last, with JudgeIndex in
    `also`, since there is no pause in between.
    """
    if as_of is not None:
        return (await ledger.engine.at(JudgeIndex, as_of))[0]
    index = ledger.engine.live[JudgeIndex.name]
    assert isinstance(index, JudgeIndex)
    return index


async def find_labels(ledger: LedgerService, as_of: int | None) -> Mapping[LabelKey, bool]:
    """Return the latest label of each answer and criterion. `as_of`: see `find_judging`."""
    return (await find_judging(ledger, as_of)).labels()
