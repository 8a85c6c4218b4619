"""The terms of the glossary, from the file that the web pages read."""

from pathlib import Path

GLOSSARY = Path(__file__).parents[2] / "api" / "http" / "pages" / "glossary.md"


def terms() -> str:
    """Return every section of the glossary, without its title."""
    text = GLOSSARY.read_text(encoding="utf-8")
    return text[text.index("\n## ") + 1 :]
