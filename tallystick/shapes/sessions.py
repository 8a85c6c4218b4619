"""Sessions of coding agents, as their files on disk show them. Answers and calls are counted once over all files."""

from datetime import datetime

import msgspec

from tallystick.shapes.parts import AsOf


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


class ModelAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """The answers of one model."""

    served: str | None
    """The model that answered, as the provider's answer names it; None if files do not have it."""
    requested: str | None
    """The model that was asked for; None if files do not have it."""
    answers: int
    """How many answers."""
    tokens: TokenCounts
    """Their tokens."""


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
