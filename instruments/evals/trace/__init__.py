"""The recorded steps of an agent: read from its answer, or from OpenTelemetry spans in a file."""
