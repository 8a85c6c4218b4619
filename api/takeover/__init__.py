"""Taking a CSTP installation over: its decision files and its SQLite store, with all they say."""

from api.takeover.report import Contradiction, Loss, TakenOver
from api.takeover.takeover import Takeover
from api.takeover.words import in_words, warnings

__all__ = ["Contradiction", "Loss", "TakenOver", "Takeover", "in_words", "warnings"]
