"""Secrets in the bytes of sessions."""

import pytest

from instruments.sessions.secrets import count_secrets

LONG = "aB3" * 20
"""Letters and digits; no secret by themselves, and joined with the beginnings of secrets only when a test runs."""


@pytest.mark.parametrize(
    ("begins", "kind"),
    [
        ("-----BEGIN " + "RSA PRIVATE KEY-----", "private key"),
        ("-----BEGIN " + "PRIVATE KEY-----", "private key"),
        ("AKIA" + "ABCDEFGH12345678 ", "key of AWS"),
        ("ghp_" + LONG[:36] + " ", "token of GitHub"),
        ("github_pat_" + LONG, "token of GitHub"),
        ("glpat-" + LONG[:20], "token of GitLab"),
        ("sk-ant-" + LONG, "key of Anthropic"),
        ("sk-proj-" + LONG, "key of OpenAI"),
        ("sk-" + LONG[:48] + '"', "key of OpenAI"),
        ("AIza" + LONG[:35], "key of Google"),
        ("xoxb-" + LONG, "token of Slack"),
        ("sk_live_" + LONG, "key of Stripe"),
        (f"eyJ{LONG}.eyJ{LONG}.{LONG}", "JSON Web Token"),
    ],
)
def test_a_secret_is_known_by_its_form(begins: str, kind: str) -> None:
    assert count_secrets(f'{{"stdout":"KEY={begins}\\n {begins}"}}'.encode()) == {kind: 1}


def test_ordinary_texts_are_none() -> None:
    text = f"desk-anthropic sk-learn toolu_{LONG} msg_{LONG} {LONG} eyJ0 ghp_short BEGIN PUBLIC KEY"
    assert not count_secrets(text.encode())
