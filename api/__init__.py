"""The doors: HTTP, JSON-RPC, command line. Thin; they translate and call operations."""
