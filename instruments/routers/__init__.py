"""Routers: adapters that send a prompt to a program or to an HTTP endpoint."""

from instruments.routers.router import Router
from instruments.routers.spec import FORMS, BadRouter, parse_router

__all__ = ["FORMS", "BadRouter", "Router", "parse_router"]
