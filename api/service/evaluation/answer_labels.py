"""Read the labels of people on answers, as far as the caller may review as these people."""

from collections.abc import Sequence

from api.service.evaluation.judge_decisions import AnswerLabel
from api.service.evaluation.judge_permission import may_review_as
from api.service.store import EventStore
from events.judge import EvalLabelled
from events.registry import VOCABULARY

_types = VOCABULARY.names_of(EvalLabelled)


class LabelReader:
    """Reads the labels of answers; remembers for which people the caller may record reviews."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._permitted: dict[str, bool] = {}

    async def read(self, label_ids: Sequence[str]) -> dict[str, AnswerLabel]:
        """Return the latest label of each id that has one, if the caller may review as its author.

        Errors: those of reading and appending.
        """
        subjects = [f"label/{label_id}" for label_id in label_ids]
        latest: dict[str, AnswerLabel] = {}
        for event in VOCABULARY.events(await self._store.streams(subjects, _types)):
            assert isinstance(event.data, EvalLabelled)
            latest[event.data.label_id] = AnswerLabel(event.id, event.source, event.data.passed)
        for source in {label.source for label in latest.values()} - self._permitted.keys():
            self._permitted[source] = await may_review_as(self._store, source)
        return {name: label for name, label in latest.items() if self._permitted[label.source]}
