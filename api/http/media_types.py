"""Media types of requests and answers."""

JSON = "application/json"
EVENT = "application/cloudevents+json"
BATCH = "application/cloudevents-batch+json"
LINES = "application/x-ndjson"
FEED = "text/event-stream"
PROBLEM = "application/problem+json"
PROTOBUF = "application/x-protobuf"
OCTETS = "application/octet-stream"
ZIP = "application/zip"
NOTE = "text/plain; charset=utf-8"
"""The type of signed notes and receipts."""
HTML = "text/html; charset=utf-8"
SVG = "image/svg+xml"

EVENT_MEDIA_TYPES = (JSON, EVENT, BATCH, LINES)
"""The media types that POST /events accepts."""
