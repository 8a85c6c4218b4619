"""Generators of the reference pages: each makes Markdown from the program itself."""
