"""Speed: compare every figure with its lower limit and with its peers, measured in the same run."""
