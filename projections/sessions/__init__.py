"""What sessions of coding agents did."""
