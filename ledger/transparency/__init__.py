"""The Merkle tree over the log, signed checkpoints, proofs and receipts."""
