"""The messages between the pytest plugin and its worker process: JSON objects, one a line, over two pipes.

The plugin writes calls to the worker's standard input, and waits for the answer to each, which has its number. A worker
answers one call at a time. `Cancel` stops a call that is being answered, and has no answer of its own. When its input
ends, the worker stops what it does, closes the ledger and ends.

Texts may hold lone surrogates, as paths and environment variables that are not UTF-8 do; so JSON is written in ASCII by
the standard library, and msgspec checks the types.
"""

import json
from typing import Literal

import msgspec

AttemptKey = tuple[str, int]
"""A scenario's id, and the number of an attempt at it, from 1."""

Outcome = Literal["passed", "failed", "error", "skipped"]


class Message(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """A call or an answer."""


class Load(Message, frozen=True):
    """Load the scenarios and check the options; answered by Loaded. The first call of a session."""

    fixtures: str
    """The suite's folder, absolute."""
    folder: str
    """The folder that the session was started in; left out of the paths in messages."""
    agent: str | None = None
    suite: str | None = None
    selection: str | None = None
    attempts: int = 1
    agent_name: str | None = None
    agent_version: str | None = None
    enable_llm: bool | None = None
    timeout_s: float = 600.0


class Open(Message, frozen=True):
    """Open the ledger file, or a client of the server at `url`, to record a run; answered by Done."""

    ledger: str
    url: str | None = None


class Begin(Message, frozen=True):
    """Record the scenarios and begin a run of these attempts; answered by Begun. Open comes first."""

    attempts: tuple[AttemptKey, ...]


class Score(Message, frozen=True):
    """Ask the agent, or take the captured analysis, and score it; answered by Scored."""

    scenario_id: str
    attempt: int


class Skip(Message, frozen=True):
    """Make the score of an attempt that is skipped; answered by Scored."""

    scenario_id: str
    attempt: int
    reason: str


class Record(Message, frozen=True):
    """Add a score to the run; answered by Recorded. Begin comes first."""

    score: str
    """As a worker gave it in Scored: another process's worker, under xdist."""


class Close(Message, frozen=True):
    """End the run if every attempt is scored, and close the ledger; answered by Closed."""


class LoadedScenario(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario as pytest needs it."""

    id: str
    title: str
    description: str
    """The path of its scenario.yaml."""
    keywords: tuple[str, ...]
    """Its name, family and failure type, for -k."""
    skipped: str | None
    """Why attempts at it are skipped; None if there is an agent or a captured analysis."""


class Loaded(Message, frozen=True):
    """The suite, and who answers: None for the captured analyses."""

    suite: str
    agent: str | None
    scenarios: tuple[LoadedScenario, ...]


class Done(Message, frozen=True):
    """Nothing to say but that it is done."""


class Begun(Message, frozen=True):
    """The run's id."""

    run_id: str


class Scored(Message, frozen=True):
    """A score, and what pytest reports of it."""

    score: str
    """The score as JSON, for Record."""
    outcome: Outcome
    text: str
    """The report of a failure or an error; empty without."""
    properties: tuple[tuple[str, str | float], ...]
    """For JUnit."""


class Recorded(Message, frozen=True):
    """How many attempts are scored in the run."""

    scores: int


class Closed(Message, frozen=True):
    """Whether the run has ended."""

    finished: bool


class Refused(Message, frozen=True):
    """The call was refused, or could not be done; the text is for the user."""

    text: str


class Failed(Message, frozen=True):
    """The worker met an error of its own."""

    traceback: str


class Cancelled(Message, frozen=True):
    """The call was cancelled."""


class Cancel(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Stop answering a call."""

    number: int


Request = Load | Open | Begin | Score | Skip | Record | Close
Reply = Loaded | Done | Begun | Scored | Recorded | Closed | Refused | Failed | Cancelled


class Call(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """A request. Numbers grow from 1; the environment is the session's, so that the agent's is the same."""

    number: int
    request: Request
    environment: dict[str, str]


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reply to the call of a number."""

    number: int
    reply: Reply


def encode(message: Call | Cancel | Answer) -> bytes:
    """One line, with a line feed before it too: what was cut off by an interrupt stays a line of its own."""
    return b"\n" + json.dumps(msgspec.to_builtins(message)).encode() + b"\n"


def decode_call(line: bytes) -> Call | Cancel | None:
    """The call of a line; None for an empty line, and for one that was cut off. Errors: msgspec.ValidationError."""
    try:
        return msgspec.convert(json.loads(line), Call | Cancel)
    except json.JSONDecodeError:
        return None


def decode_answer(line: bytes) -> Answer | None:
    """The answer of a line; None for an empty line, and for one that was cut off. Errors: msgspec.ValidationError."""
    try:
        return msgspec.convert(json.loads(line), Answer)
    except json.JSONDecodeError:
        return None
