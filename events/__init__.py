"""The words: everything that can be said. No clock, no I/O, nothing of ours beneath."""

from events.decision import DecisionAmended, DecisionAsked, DecisionRecorded, DecisionReviewed, DecisionThought
from events.envelope import Draft, Event, Fact, Line, agent_of, encode_line, source_of, timestamp
from events.errors import InvalidEvent, MalformedInput, TallystickError
from events.payload import Payload
from events.registry import VOCABULARY, Kind, Life, Vocabulary
from events.schema import json_schema
from events.thought import ThoughtAdopted, ThoughtRecorded

__all__ = [
    "VOCABULARY",
    "DecisionAmended",
    "DecisionAsked",
    "DecisionRecorded",
    "DecisionReviewed",
    "DecisionThought",
    "Draft",
    "Event",
    "Fact",
    "InvalidEvent",
    "Kind",
    "Life",
    "Line",
    "MalformedInput",
    "Payload",
    "TallystickError",
    "ThoughtAdopted",
    "ThoughtRecorded",
    "Vocabulary",
    "agent_of",
    "encode_line",
    "json_schema",
    "source_of",
    "timestamp",
]
