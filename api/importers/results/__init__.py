"""Import results of evaluations by other tools: Inspect AI, lm-evaluation-harness, promptfoo, DeepEval."""
