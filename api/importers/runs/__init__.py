"""Import run reports of discovery."""
