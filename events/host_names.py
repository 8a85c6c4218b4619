"""Names of hosts (wrappers): editors, agents, gateways and routers that answer with their own name, not a model's.

The default list is data. A name is a host's if it consists of names of hosts, of filler words and
of version numbers. So `GitHub Copilot` and `openrouter/auto` are hosts, while `azure/gpt-4o` and `gpt-5-codex` are
models. Owners state further hosts, or that a name of the list is a model's: events of the stream `wrapper/KEY`.
"""

import re
from functools import lru_cache

from events.limits import STREAM_ID_CHARS_MAX

CACHED_NAMES_MAX = 4_096
"""Names whose results are cached. A history has few names; the bound is for clients that invent many."""

_word = re.compile(r"[a-z0-9]+")
_version = re.compile(r"v?\d+")


HOSTS = frozenset({
    "auto", "azure", "composer", "copilot", "cursor",
    "aider", "amazon q", "amazon q developer", "amp", "augment code", "bedrock", "chatgpt", "claude code",
    "claude desktop", "cline", "codeium", "codex", "cody", "continue dev", "devin", "gemini cli", "gemini code assist",
    "goose", "jetbrains", "jules", "junie", "kilo code", "kiro", "litellm", "lm studio", "lovable", "manus", "ollama",
    "opencode", "openhands", "openrouter", "perplexity", "poe", "portkey", "replit", "roo code", "sourcegraph",
    "tabnine", "trae", "vertex", "visual studio code", "vs code", "vscode", "warp", "windsurf", "windsurf cascade",
    "zed",
})  # fmt: skip
"""The default list: names in lower case, their words separated by a space. Sources: the reference implementation of
discovery (the first line), and products that answer so."""

FILLERS = frozenset({
    "agent", "ai", "amazon", "anthropic", "app", "assistant", "aws", "by", "chat", "cli", "cognition", "default",
    "desktop", "editor", "extension", "foundry", "github", "google", "ide", "in", "microsoft", "mode", "model",
    "openai", "plugin", "router", "select", "service", "via",
})  # fmt: skip
"""Words that a host's name may also have: `github copilot`, `azure-openai`, `cursor agent`."""

MODEL_SERIES = frozenset({"chatgpt", "codex", "composer"})
"""Hosts whose name with a number names a model: `codex-1`, `composer-1`."""

_WORDS_MAX = max(len(host.split()) for host in HOSTS)


def host_key(name: str) -> str:
    """Return the key of a host's name: its words of letters and digits, in lower case, joined by hyphens.

    Two spellings of a name (`Acme Gateway`, `acme/gateway`) have one key. It is valid as the id of a stream, or empty.
    """
    return "-".join(_words(name))[:STREAM_ID_CHARS_MAX].rstrip("-")


@lru_cache(CACHED_NAMES_MAX)
def is_wrapper(model_name: str) -> bool:
    """Return whether a name is a host's own by the default list."""
    words = _words(model_name)
    at, found, previous = 0, False, ""
    while at < len(words):
        length = next((n for n in range(_WORDS_MAX, 0, -1) if " ".join(words[at : at + n]) in HOSTS), 0)
        if length:
            found, previous = True, " ".join(words[at : at + length])
            at += length
            continue
        if _version.fullmatch(words[at]):
            if previous in MODEL_SERIES:
                return False
        elif words[at] not in FILLERS:
            return False
        previous = ""
        at += 1
    return found


def _words(name: str) -> list[str]:
    return _word.findall(name.lower())
