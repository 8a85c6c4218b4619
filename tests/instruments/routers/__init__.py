"""The routers: programs and endpoints, well-behaved and not."""
