"""The page of the proof."""
