"""The documents are run: README and every page of the manual, each from its beginning in a fresh folder."""
