"""How fast it is: every figure beside its own floor and its peers, measured in one run."""
