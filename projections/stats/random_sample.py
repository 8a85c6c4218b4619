"""Random samples that anyone can draw again, from a seed."""

from hashlib import sha256


def draw_sample(population: int, size: int, seed: int) -> list[int]:
    """Return `size` different numbers 0..population-1, drawn uniformly without replacement, in the order of drawing.

    Draw i is SHA-256("SEED:i"), read as a big-endian number, modulo `population`; a number that was drawn before is
    skipped. So the result depends on no library, and a smaller sample is the beginning of a larger one. It has all
    numbers if `size` is not below `population`.
    """
    drawn: dict[int, None] = {}
    attempt = 0
    while len(drawn) < min(size, population):
        digest = sha256(f"{seed}:{attempt}".encode()).digest()
        drawn.setdefault(int.from_bytes(digest) % population)
        attempt += 1
    return list(drawn)
