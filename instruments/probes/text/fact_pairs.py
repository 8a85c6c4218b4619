"""Pair subjects with values in a sentence: `cyclists from 3 August, cars from 30 November`.

Subjects and values alternate, whichever comes first. Subjects of one kind in a row (`cyclists and pedestrians`) are one
subject. If all subjects come first (`cyclists and cars on 3 August and 30 November`), they are paired in order.
"""

from typing import NamedTuple

from instruments.probes.text.prose import Sentence, phrase_spans
from instruments.probes.text.tokens import Phrases


class Pair(NamedTuple):
    """A subject, its value, and where the value is."""

    subject: str
    value: str
    start: int
    end: int


class _Group(NamedTuple):
    name: str
    start: int
    end: int
    is_value: bool


def pair_up(sentence: Sentence, subjects: Phrases, values: Phrases) -> list[Pair]:
    """Return the pairs of a sentence, in the order of their values."""
    groups: list[_Group] = []
    found = [(span, False) for span in phrase_spans(sentence, subjects)]
    found += [(span, True) for span in phrase_spans(sentence, values)]
    for (start, end, name), is_value in sorted(found):
        if not is_value and groups and groups[-1].name == name and not groups[-1].is_value:
            groups[-1] = groups[-1]._replace(end=end)
        else:
            groups.append(_Group(name, start, end, is_value))
    kinds = [group.is_value for group in groups]
    at_values = [group for group in groups if group.is_value]
    at_subjects = [group for group in groups if not group.is_value]
    if not at_values or not at_subjects:
        return []
    if kinds == sorted(kinds) and len(at_values) == len(at_subjects):
        return [_pair(*both) for both in zip(at_subjects, at_values, strict=True)]
    step = 1 if kinds[0] else -1
    pairs = []
    for index, group in enumerate(groups):
        if group.is_value and 0 <= index + step < len(groups) and not groups[index + step].is_value:
            pairs.append(_pair(groups[index + step], group))
    return pairs


def _pair(subject: _Group, value: _Group) -> Pair:
    return Pair(subject.name, value.name, value.start, value.end)
