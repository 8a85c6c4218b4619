"""The pages of calibration: the verdict with its evidence, and every figure, each part at an address of its own."""
