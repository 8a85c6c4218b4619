"""The pages of decisions and of reviews, from a real server."""
