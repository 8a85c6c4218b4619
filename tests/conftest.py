"""For every test: no example is too slow to be right. Under CI, hypothesis draws the same examples each time."""

from hypothesis import settings

settings.register_profile("house", parent=settings(), deadline=None)
settings.load_profile("house")
