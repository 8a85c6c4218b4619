"""A recorded session: requests to a real server, and the answers that a change of the code must not change.

`scenes.py` lists the requests and `answers.jsonl` the answers, one per line. `python -m tests.recorded` records the
answers again: every line in `git diff` is then a change of a published shape, and needs a reason.

Answers are compared byte for byte, except for three things: texts for people (`texts.py`), values that differ in every
recording, such as generated ids and durations (`answer.py`), and the last digits of long numbers (`difference.py`).
Figures in the command line's output are compared in the same way, on a ledger that version 0.1.0 wrote
(`old_ledger.py`).
"""
