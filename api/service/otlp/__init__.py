"""OpenTelemetry: log records and spans by OTLP, the scores and calls in them, and scores as log records."""
