"""CSTP: JSON-RPC 2.0 methods for agents that already use the protocol."""
