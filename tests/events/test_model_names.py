"""What names say: keys, wrappers, names that name nothing, and the names of one model."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.host_names import is_wrapper
from events.model_names import canonical_name, claim_key, is_unresolved
from events.payload import STREAM_ID_PATTERN
from tests.events.payloads import CHARACTERS

WRAPPERS = [
    "Auto", "cursor", "Cursor Composer", "GitHub Copilot", "azure-openai", "cursor-agent 1.0", "copilot_chat",
    "openrouter/auto", "OpenRouter", "Claude Code", "claude-code 2.0.1", "Windsurf", "windsurf/cascade", "ChatGPT",
    "Codex", "Codex CLI", "codex-cli 0.46", "openai/codex", "Gemini CLI", "google/gemini-cli", "Cline", "Aider",
    "Devin",
    "Amp", "Sourcegraph Amp", "Zed", "Replit Agent", "Perplexity AI", "Poe", "VS Code", "GitHub Copilot in VS Code",
]  # fmt: skip
MODELS = [
    "gpt-5-codex",
    "gpt-5.1-codex-max",
    "codex-mini-latest",
    "openai/codex-mini",
    "codex-1",
    "composer-1",
    "Composer 1.5",
    "chatgpt-4o-latest",
    "codestral",
    "codestral-2508",
    "command-r",
    "command-r-plus-08-2024",
    "azure/gpt-4o",
    "openrouter/anthropic/claude-sonnet-4",
    "openrouter/sonoma-sky-alpha",
    "perplexity/sonar-pro",
    "replit-code-v1-3b",
    "gemini-2.5-pro",
    "claude-sonnet-4",
    "bedrock/anthropic.claude-3-5-sonnet-20241022-v2:0",
    "windsurf-swe-1",
    "copilot-gpt-4o",
    "cursor/claude-3.7-sonnet",
    "autocoder-33b",
    "goose-70b",
    "amplify",
    "zed-industries/zeta",
    "gpt-4o",
    "azure/gpt-4o",
    "auto-gpt",
    "agent-router",
    "cursor-small",
    "autobahn",
    "Claude 3.5 Sonnet",
    "openai",
]
NOTHING = ["unknown", " Unknown ", "", "  ", "N/A", "<your model name>", "[model]", "???", "assistant"]

ONE_MODEL = [
    [
        "claude-sonnet-4",
        "claude-sonnet-4-20250514",
        "Claude Sonnet 4",
        "anthropic/claude-sonnet-4",
        "claude_sonnet_4-latest",
        "us.anthropic.claude-sonnet-4-20250514-v1:0",
        "claude-sonnet-4@20250514",
    ],
    ["claude-3-5-sonnet", "claude-3.5-sonnet", "claude-3-5-sonnet-20241022", "Claude 3.5 Sonnet"],
    ["gpt-3.5-turbo", "gpt-3.5-turbo-0125", "openai/gpt-3.5-turbo"],
    ["deepseek-r1", "deepseek/deepseek-r1:free", "DeepSeek-R1-0528"],
    ["deepseek-v3"],
    ["mistral-large-2411"],
    ["mistral.mistral-7b", "mistral-7b"],
    ["gpt-4o", "GPT-4o", "gpt-4o-2024-08-06", "openai/gpt-4o:latest"],
    ["gpt-4o-mini", "gpt-4o-mini-2024-07-18"],
    ["llama-3-8b", "meta/llama-3-8b"],
    ["llama-3.8b"],
    ["gpt-4-32k"],
    ["gpt-4"],
    ["gemini-2.0-flash", "models/gemini-2.0-flash"],
]

PIECES = [
    "us.", "anthropic.", "meta/", "model", "3-5", "-4", "-0613", "-20250514", "-v1:0", ":free", "-latest", "-preview",
    "-", ".",
]  # fmt: skip


def test_the_key_is_lower_case() -> None:
    assert claim_key(" GPT-4o ") == "gpt-4o"


@pytest.mark.parametrize("name", WRAPPERS)
def test_hosts_are_wrappers(name: str) -> None:
    assert is_wrapper(name)


@pytest.mark.parametrize("name", MODELS + NOTHING)
def test_models_are_not(name: str) -> None:
    assert not is_wrapper(name)


@pytest.mark.parametrize("name", NOTHING)
def test_names_that_name_nothing(name: str) -> None:
    assert is_unresolved(name)


@pytest.mark.parametrize("name", MODELS + WRAPPERS)
def test_names_that_name_something(name: str) -> None:
    assert not is_unresolved(name)


def test_the_names_of_one_model_are_one_and_those_of_others_are_not() -> None:
    keys = [{canonical_name(name) for name in names} for names in ONE_MODEL]
    assert [len(key) for key in keys] == [1] * len(ONE_MODEL)
    assert len(set().union(*keys)) == len(ONE_MODEL)


@given(st.text(CHARACTERS))
def test_a_canonical_name_has_no_capitals_and_may_name_a_stream(name: str) -> None:
    key = canonical_name(name)
    assert key == "" or (re.fullmatch(STREAM_ID_PATTERN, key) and len(key) <= 64)
    assert canonical_name(key.upper()) == key


@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join))
def test_a_canonical_name_is_its_own(name: str) -> None:
    key = canonical_name(name)
    assert canonical_name(key) == canonical_name(key.upper()) == key
