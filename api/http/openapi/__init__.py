"""Build the OpenAPI document."""
