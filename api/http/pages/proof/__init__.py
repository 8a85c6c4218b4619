"""The page of the proof: the newest checkpoint, its continuation of an older one, and the check of a receipt."""
