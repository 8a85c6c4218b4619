"""The messages between the pytest plugin and its worker process: JSON objects, one per line, over two pipes.

The plugin writes a call to the worker's standard input and waits for the answer, which has the number of the call. A
worker answers one call at a time. `Cancel` stops the current call; it is not answered itself. When its input ends, the
worker stops the current call, closes the ledger and exits.

Texts may contain lone surrogates, from paths and environment variables that are not UTF-8. Therefore the standard
library writes the JSON, in ASCII, and msgspec only checks the types.
"""

import json
from typing import Literal

import msgspec

AttemptKey = tuple[str, int]
"""A scenario's id, and the number of an attempt at it, from 1."""

AttemptOutcome = Literal["passed", "failed", "error", "skipped"]


class Message(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """A call or an answer."""


class Load(Message, frozen=True):
    """Load the scenarios and check the options; answered by Loaded. The first call of a session."""

    fixtures: str
    """The absolute path of the suite's folder."""
    folder: str
    """The folder in which the session was started; paths in messages are relative to it."""
    agent: str | None = None
    suite: str | None = None
    selection: str | None = None
    attempts: int = 1
    agent_name: str | None = None
    agent_version: str | None = None
    model: str | None = None
    enable_llm: bool | None = None
    timeout_s: float = 600.0


class Open(Message, frozen=True):
    """Open the ledger, or a client of the server at `url`, to record a run; answered by Done."""

    ledger: str
    url: str | None = None


class Begin(Message, frozen=True):
    """Record the scenarios and begin a run of these attempts; answered by Begun. Open comes first."""

    attempts: tuple[AttemptKey, ...]
    keep_files: bool = True
    """Whether the files of the suite are stored as evidence."""


class Score(Message, frozen=True):
    """Score the agent's answer, or without an agent the captured analysis; answered by Scored."""

    scenario_id: str
    attempt: int


class Skip(Message, frozen=True):
    """Make the score of a skipped attempt; answered by Scored."""

    scenario_id: str
    attempt: int
    reason: str


class Record(Message, frozen=True):
    """Add a score to the run; answered by Recorded. Begin comes first."""

    score: str
    """The `score` of a Scored answer; under xdist, from the worker of another process."""


class Close(Message, frozen=True):
    """End the run if every attempt is scored, and close the ledger; answered by Closed."""


class LoadedScenario(msgspec.Struct, frozen=True, kw_only=True):
    """What pytest needs of a scenario."""

    id: str
    title: str
    description: str
    """The path of its scenario.yaml."""
    keywords: tuple[str, ...]
    """Its name, family and failure type, for -k."""
    skipped: str | None
    """Why attempts at it are skipped; None if there is an agent or a captured analysis."""


class Loaded(Message, frozen=True):
    """The suite, and the agent that answers; None if the captured analyses are scored."""

    suite: str
    agent: str | None
    scenarios: tuple[LoadedScenario, ...]


class Done(Message, frozen=True):
    """The call is done, and has no result."""


class Begun(Message, frozen=True):
    """The run's id."""

    run_id: str


class Scored(Message, frozen=True):
    """A score, and the text and properties that pytest reports."""

    score: str
    """The score as JSON, for Record."""
    outcome: AttemptOutcome
    text: str
    """The report of a failure or an error; empty otherwise."""
    properties: tuple[tuple[str, str | float], ...]
    """The properties of the test in JUnit XML."""


class Recorded(Message, frozen=True):
    """How many attempts are scored in the run."""

    scores: int


class Closed(Message, frozen=True):
    """Whether the run has ended."""

    finished: bool


class CallRefused(Message, frozen=True):
    """The call was refused or could not be done; `text` gives the user the reason."""

    text: str


class Failed(Message, frozen=True):
    """The worker failed because of a bug."""

    traceback: str


class Cancelled(Message, frozen=True):
    """The call was cancelled."""


class Cancel(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Stop answering a call."""

    number: int


WorkerRequest = Load | Open | Begin | Score | Skip | Record | Close
WorkerReply = Loaded | Done | Begun | Scored | Recorded | Closed | CallRefused | Failed | Cancelled


class Call(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """A numbered request, from 1. `environment` is the session's, so that the agent gets the same one."""

    number: int
    request: WorkerRequest
    environment: dict[str, str]


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reply to the call with this number."""

    number: int
    reply: WorkerReply


def encode(message: Call | Cancel | Answer) -> bytes:
    """Return a message as a line. A line feed comes first, so that a message cut off before is a line of its own."""
    return b"\n" + json.dumps(msgspec.to_builtins(message)).encode() + b"\n"


def decode_call(line: bytes) -> Call | Cancel | None:
    """Return the call in a line; None if it is empty or was cut off. Errors: msgspec.ValidationError."""
    try:
        return msgspec.convert(json.loads(line), Call | Cancel)
    except json.JSONDecodeError:
        return None


def decode_answer(line: bytes) -> Answer | None:
    """Return the answer in a line; None if it is empty or was cut off. Errors: msgspec.ValidationError."""
    try:
        return msgspec.convert(json.loads(line), Answer)
    except json.JSONDecodeError:
        return None
