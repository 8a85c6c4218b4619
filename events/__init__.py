"""The vocabulary of the ledger: every event type, the envelope, limits and model names. No clock and no I/O."""

from events.breaker import BreakersConfigured
from events.decision import (
    DecisionAmended,
    DecisionAsked,
    DecisionPreserved,
    DecisionRecorded,
    DecisionRetracted,
    DecisionReviewed,
    DecisionThought,
)
from events.discovery import DiscoveryAttempted, DiscoveryFinished, DiscoverySignalled, DiscoveryStarted
from events.envelope import Draft, Event, EventFacts, Line, agent_of, encode_line, source_of, timestamp
from events.errors import InvalidEvent, MalformedInput, TallystickError
from events.evaluation import EvalFinished, EvalScenarioCaptured, EvalScenarioRevised, EvalScored, EvalStarted
from events.evidence import EvidenceErased, EvidenceStored
from events.host_names import is_wrapper
from events.life import Life
from events.link import DecisionLinked
from events.model import ModelAliased, ModelIdentity, ModelRegistered
from events.model_names import (
    canonical_name,
    claim_key,
    is_unresolved,
)
from events.payload import Payload
from events.probe import ProbeScored
from events.registry import VOCABULARY
from events.schema import json_schema
from events.thought import ThoughtAdopted, ThoughtRecorded
from events.vector import DecisionEmbedded, ThoughtEmbedded
from events.vocabulary import EventType, Vocabulary

__all__ = [
    "VOCABULARY",
    "BreakersConfigured",
    "DecisionAmended",
    "DecisionAsked",
    "DecisionEmbedded",
    "DecisionLinked",
    "DecisionPreserved",
    "DecisionRecorded",
    "DecisionRetracted",
    "DecisionReviewed",
    "DecisionThought",
    "DiscoveryAttempted",
    "DiscoveryFinished",
    "DiscoverySignalled",
    "DiscoveryStarted",
    "Draft",
    "EvalFinished",
    "EvalScenarioCaptured",
    "EvalScenarioRevised",
    "EvalScored",
    "EvalStarted",
    "Event",
    "EventFacts",
    "EventType",
    "EvidenceErased",
    "EvidenceStored",
    "InvalidEvent",
    "Life",
    "Line",
    "MalformedInput",
    "ModelAliased",
    "ModelIdentity",
    "ModelRegistered",
    "Payload",
    "ProbeScored",
    "TallystickError",
    "ThoughtAdopted",
    "ThoughtEmbedded",
    "ThoughtRecorded",
    "Vocabulary",
    "agent_of",
    "canonical_name",
    "claim_key",
    "encode_line",
    "is_unresolved",
    "is_wrapper",
    "json_schema",
    "source_of",
    "timestamp",
]
