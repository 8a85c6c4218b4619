"""Routers: adapters that send a prompt to a program or to an HTTP endpoint."""

from instruments.routers.router import Router
from instruments.routers.spec import FORMS, parse_router

__all__ = ["FORMS", "Router", "parse_router"]
