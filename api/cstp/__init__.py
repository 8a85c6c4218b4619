"""CSTP: JSON-RPC 2.0 methods for agents that speak the protocol already."""
