"""The CSTP door: JSON-RPC 2.0 over POST /cstp, for agents that already speak it, and its two routes without a token."""

from api.cstp.door import get_agent_card, get_health, post_cstp

__all__ = ["get_agent_card", "get_health", "post_cstp"]
