"""Routers: the adapters to whoever answers a prompt, be it a program or an endpoint."""

from instruments.routers.router import Router
from instruments.routers.spec import FORMS, BadRouter, router_of

__all__ = ["FORMS", "BadRouter", "Router", "router_of"]
