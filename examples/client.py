"""Record a decision, review it, print the agent's gap. However often it runs, it adds two events."""

import tallystick

# Without a server: tallystick.local("scout.db", agent="scout")
with tallystick.Client("http://127.0.0.1:8321", agent="scout") as client:
    client.record("Cache the catalogue for an hour", decision_id="cache-1", confidence=0.8, category="architecture")
    client.review("cache-1", "success", event_id="cache-1-review")
    print(f"gap {client.calibration(min_decisions=1).gap:+.2f}")
