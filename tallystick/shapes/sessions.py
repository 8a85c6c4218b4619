"""Sessions of coding agents, as their files on disk show them. Answers and calls are counted once over all files."""

from datetime import datetime

import msgspec

from tallystick.shapes.parts import AsOf, Interval, UnknownName


class TokenCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of answers, each counted once, though its lines repeat them."""

    input: int
    """Read by the model, and not from the cache."""
    cache_read: int
    """Read from the cache."""
    cache_write: int
    """Written to the cache."""
    output: int
    """Written by the model."""


class ModelSwitches(msgspec.Struct, frozen=True, kw_only=True):
    """Answers by another model than the one before in the session, by what the files say about it."""

    announced: int
    """A person or the program set another model."""
    explained: int
    """A plan had been approved, or the program was replaced by another version."""
    unexplained: int
    """The files do not say why."""


class ServedOnDay(msgspec.Struct, frozen=True, kw_only=True):
    """Answers on one day, of one version of a program, by one model."""

    day: str
    """The day, UTC."""
    version: str | None
    """The version; None if files do not have it."""
    served: str | None
    """The model that answered; None if files do not have it."""
    requested: str | None
    """The model that was asked for; None if files do not have it."""
    answers: int
    """How many answers."""


class MixChange(msgspec.Struct, frozen=True, kw_only=True):
    """An alarm: the model that answers most of a session is no longer the one that it was."""

    first: str
    """When the first session after the likeliest moment of the change began, as its file has it."""
    alarm: str
    """When the session began that raised the alarm."""
    before: dict[str, int]
    """Sessions before, since an earlier alarm, by the model that answered most in each."""
    since: dict[str, int]
    """Sessions from then to the next alarm, by that model."""
    e_value: float
    """The e-value against "the mix never changed": at least 40. Without a change, at most 5% ever raise an alarm."""


class ModelAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """The answers of one model."""

    served: str | None
    """The model that answered, as the provider's answer names it; None if files do not have it."""
    requested: str | None
    """The model that was asked for; None if files do not have it."""
    answers: int
    """How many answers."""
    share: float
    """Their share of the program's answers, 0 to 1."""
    interval: Interval
    """Its 95% interval. Answers of one session may depend on each other."""
    sessions: int
    """Sessions with such answers."""
    switches: ModelSwitches
    """Of these answers, those before which another model answered in the session."""
    tokens: TokenCounts
    """Their tokens."""


class SessionModels(msgspec.Struct, frozen=True, kw_only=True):
    """The models that answered in the sessions of one program."""

    program: str
    """claude-code, codex, gemini-cli, opencode."""
    models: list[ModelAnswers]
    """The models, those with most answers first."""


class ToolCalls(msgspec.Struct, frozen=True, kw_only=True):
    """The calls of one tool."""

    tool: str
    """The tool; `other` stands for tools that users and servers define."""
    calls: int
    """How many calls."""
    failed: int
    """Calls that ended with an error, and were not denied."""
    denied: int
    """Calls that a person, a rule, a hook or the program denied."""
    interrupted: int
    """Calls that were stopped."""
    without_result: int
    """Calls of which the files have no result."""


class Denials(msgspec.Struct, frozen=True, kw_only=True):
    """Calls that were denied. Files never have who allowed a call."""

    by: str
    """Who denied them: person, rule, hook, model, program (nobody was there to ask), or unknown."""
    basis: str
    """recorded: the file says it; inferred: it follows from a text."""
    calls: int
    """How many calls."""


class ProgramSessions(msgspec.Struct, frozen=True, kw_only=True):
    """The sessions of one program."""

    program: str
    """claude-code, codex, gemini-cli, opencode."""
    versions: list[str]
    """Its versions."""
    sessions: int
    """How many sessions."""
    missing_sessions: int
    """Sessions that the program's list of prompts names, and whose file is not there: it was deleted, or moved."""
    headless: int
    """Sessions in which a program asked, and no person."""
    subagents: int
    """Files of sub-agents, which count for their session."""
    missing_subagents: int
    """Sub-agents that a session names, and whose file is not there."""
    first: datetime | None
    """When the first of them began, UTC; None if no line has a time."""
    last: datetime | None
    """The newest line, UTC."""
    prompts: int
    """What people or programs asked."""
    answers: int
    """How many answers of models."""
    tokens: TokenCounts
    """The tokens of all answers."""
    models: list[ModelAnswers]
    """The models, those with most answers first."""
    days: list[ServedOnDay]
    """The answers of each day."""
    mix_changes: list[MixChange]
    """When the mix of served models changed."""
    calls: int
    """Calls of tools."""
    with_result: int
    """Calls of which the files have a result."""
    tools: list[ToolCalls]
    """The tools, those with most calls first."""
    denials: list[Denials]
    """Calls that were denied, by whom."""
    interruptions: int
    """How often a person stopped a turn."""
    compactions: int
    """How often a history was shortened."""
    api_errors: int
    """Errors of the provider."""
    model_changes: int
    """How often another model was chosen."""
    pull_requests: int
    """Pull requests that sessions opened or worked on; one of two sessions counts for both."""
    commits: int
    """Commits that were made in sessions."""


class SessionsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded sessions, program by program."""

    programs: list[ProgramSessions]
    """The programs, in the order in which they were recorded first."""
    coverage: str
    """Which calls have a result, as a sentence."""
    caveats: list[str]
    """What limits the figures."""
    as_of: AsOf
    """The position as of which the answer is."""
    unknown_names: tuple[UnknownName, ...] = ()
    """The program that was asked for, if nothing recorded has it."""
