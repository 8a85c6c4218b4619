"""The pages of evaluations: runs, one run, two compared, the scoreboard, and one scenario."""
