"""Media types of requests and answers."""

JSON = "application/json"


EVENT = "application/cloudevents+json"


BATCH = "application/cloudevents-batch+json"


LINES = "application/x-ndjson"


MEDIA = (JSON, EVENT, BATCH, LINES)
