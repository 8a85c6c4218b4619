"""The HTTP interface: the Starlette application, its server, its routes and its OpenAPI document."""
