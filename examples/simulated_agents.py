"""Print decisions of four invented agents as a table (CSV): the same table on every computer.

python examples/simulated_agents.py > agents.csv

All four answer the same 600 questions in 2025 and state their confidence. Nothing is measured: names, questions and
outcomes are made up. The figures of `tallystick calibration` should find what is invented here:

- pilot and ranger are calibrated, and equally good.
- novice is overconfident by 25 points in operations and by 3 in tooling.
- scout is calibrated until its model changes in July; then it is overconfident by 30 points. Half of the decisions that
  it states above 85%, and few of the others, are never reviewed.
"""

import csv
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random

SEED = 16
QUESTIONS = 600
CATEGORIES = ("architecture", "operations", "tooling")
AGENTS = {"novice": "vega", "pilot": "orion", "ranger": "orion", "scout": "lyra-1"}
"""The agents and their models."""
CHANGED = datetime(2025, 7, 10, tzinfo=UTC)
COLUMNS = ("time", "agent", "model", "category", "question", "confidence", "outcome")


def rows() -> Iterator[tuple[str, ...]]:
    """Yield a row for each agent and question, in the order of time."""
    random = Random(SEED)
    start = datetime(2025, 1, 1, 9, tzinfo=UTC)
    for number in range(QUESTIONS):
        category = CATEGORIES[int(len(CATEGORIES) * random.random())]
        for place, (agent, model) in enumerate(AGENTS.items()):
            time = start + timedelta(hours=14.6 * number, minutes=place)
            confidence = round(0.50 + 0.48 * random.random() ** 0.6, 2)
            chance, unreviewed, used = confidence, 0.0, model
            if agent == "novice":
                chance -= {"operations": 0.25, "tooling": 0.03}.get(category, 0.0)
            if agent == "scout":
                unreviewed = 0.5 if confidence > 0.85 else 0.05
                if time >= CHANGED:
                    used, chance = "lyra-2", chance - 0.30
            outcome = "success" if random.random() < chance else "failure"
            reviewed = random.random() >= unreviewed
            yield (
                time.isoformat(timespec="seconds"), agent, used, category, f"question {number + 1}",
                f"{confidence:.2f}", outcome if reviewed else "",
            )  # fmt: skip


if __name__ == "__main__":
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(COLUMNS)
    table.writerows(rows())
