"""Read models: pure folds over events, and the engine that replays them."""
