"""The stream of sessions: what the files of a coding agent's session show, besides its calls of models and tools.

These calls are events of their own (`call.py`). No text, path, title or name that a user chose is in either.
"""

from typing import Annotated

import msgspec

from events.limits import ITEMS_MAX
from events.payload import Count, Digest, Label, Labels, Payload, PayloadPart, StreamId, TimeText


class SessionFile(PayloadPart, frozen=True, kw_only=True):
    """A file of a session, up to the end of its last complete line."""

    size_bytes: Count
    """How many bytes that is. Source: the importer."""
    digest: Digest
    """SHA-256 of these bytes, by which it is known again when it has grown. Source: the importer, computed."""
    evidence: Annotated[tuple[Digest, ...], msgspec.Meta(max_length=ITEMS_MAX)] = ()
    """The evidence that has the bytes, piece after piece. Source: the importer."""
    lines: Count = 0
    """How many lines. Source: the importer, counted."""
    repaired: Count = 0
    """Damaged lines of which every record could be read. Source: the importer, counted."""
    lost: Count = 0
    """Records, or parts of some, that could not be read. Source: the importer, counted."""


class SessionRecorded(Payload, frozen=True, kw_only=True):
    """What the files of a session show by now; a later event of its stream replaces it."""

    session_id: StreamId
    """Names the stream `session/ID`: the program's short name and the session's own id. Source: the file."""
    program: Label
    """The program: `claude-code`, `codex`, `gemini-cli`, `opencode`. Source: the importer."""
    reader: Count
    """The version of what read the files. Source: the importer."""
    versions: Labels = ()
    """Versions of the program. Source: the files."""
    first_time: TimeText | None = None
    """The first time in the files. Source: the files."""
    last_time: TimeText | None = None
    """The last time in the files. Source: the files."""
    headless: bool = False
    """Whether a program asked, and no person. Source: the files."""
    prompts: Count = 0
    """What people or programs asked. Source: the files, counted."""
    interruptions: Count = 0
    """How often a person stopped a turn. Source: the files, counted."""
    compactions: Count = 0
    """How often the history was shortened. Source: the files, counted."""
    api_errors: Count = 0
    """Errors of the provider. Source: the files, counted."""
    model_changes: Count = 0
    """How often another model was chosen. Source: the files, counted."""
    subagents: Count = 0
    """Files of sub-agents. Source: the files, counted."""
    missing_subagents: Count = 0
    """Sub-agents that are named, and whose file is not there. Source: the files, counted."""
    pull_requests: Count = 0
    """Pull requests that it opened or worked on. Source: the files, counted."""
    commits: Labels = ()
    """Ids of commits that were made in it, perhaps shortened. Source: the files."""
    unknown_lines: Count = 0
    """Lines of kinds that the reader does not know. Source: the files, counted."""
    unfinished: Count = 0
    """Answers and calls that may still change, and are recorded later. Source: the importer, counted."""
    files: Annotated[tuple[SessionFile, ...], msgspec.Meta(max_length=ITEMS_MAX)] = ()
    """The files. Source: the importer."""
