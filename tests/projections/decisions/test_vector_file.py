"""Distances of vectors: those of a plain computation, equal for equal vectors, and the same from a file read again."""

from pathlib import Path

import numpy as np

from projections.decisions.vector_file import DISTANCE_UNIT, VectorFile

SECRET = bytes(32)


def test_distances_are_those_of_cosines_and_equal_vectors_tie(tmp_path: Path) -> None:
    numbers = np.random.default_rng(1).standard_normal((3_000, 19)).astype(np.float32)
    numbers[1_500:] = numbers[:1_500]
    numbers[7] = 0
    sought = numbers[3] + numbers[4]
    keys = [b"%032d" % row for row in range(len(numbers))]
    vectors = {key: row.tolist() for key, row in zip(keys, numbers, strict=True)}
    written = VectorFile(tmp_path / "v.db", "m", SECRET)
    written.open()
    written.put(vectors | {b"of another size": [1.0, 2.0]})
    written.close()
    again = VectorFile(tmp_path / "v.db", "m", SECRET)
    again.open()
    again.close()
    in_memory = VectorFile(tmp_path / "none.db", "m", None)
    in_memory.open()
    in_memory.put(vectors)
    expected = [1 - row @ sought / np.linalg.norm(row) / np.linalg.norm(sought) if row.any() else 1 for row in numbers]
    for file in (written, again, in_memory):
        found = file.distances(sought.tolist())
        assert np.abs(found[[file.ids[key] for key in keys]] - expected).max() < 1e-6
        twice = [found[[file.ids[key] for key in half]] for half in (keys[8:1_500], keys[1_508:])]
        assert (twice[0] == twice[1]).all()
        assert np.isinf(found[-1])
    assert np.isinf(again.distances(sought.tolist())[again.ids[b"of another size"]])
    assert again.distances([2.0, 4.0])[again.ids[b"of another size"]] < DISTANCE_UNIT
    assert not (tmp_path / "none.db").exists()
