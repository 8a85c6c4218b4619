"""The names of agents."""

import re

from events.limits import AGENT_NAME_CHARS_MAX

_agent_name = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._:@/+-]{{0,{AGENT_NAME_CHARS_MAX - 1}}}")


def is_valid_agent(name: str) -> bool:
    """Return whether a text can name an agent: 1..64 letters, digits and `._:@/+-`, the first a letter or a digit."""
    return _agent_name.fullmatch(name) is not None
