"""Make a screenshot small: a PNG of few colours, as files in a repository should be."""

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOURS_MAX = 256
NEAR_BITS = 4
"""Colours whose channels differ only in so many low bits are near: the palette has the most frequent one of them."""

BLOCK = 1 << 14

Pixels = NDArray[np.uint8]


def with_palette(png: bytes, colours_max: int = COLOURS_MAX) -> bytes:
    """Return a PNG with a palette: frequent colours, and rare ones that differ. Others become the nearest one."""
    pixels = decode(png)
    height, width, _ = pixels.shape
    packed = pixels[:, :, 0].astype(np.uint32) << 16 | pixels[:, :, 1].astype(np.uint32) << 8 | pixels[:, :, 2]
    colours, place, counts = np.unique(packed, return_inverse=True, return_counts=True)
    by_count = np.argsort(counts)[::-1]
    _, firsts = np.unique(unpacked(colours[by_count]) >> NEAR_BITS, axis=0, return_index=True)
    chosen = np.unique(np.concatenate([np.arange(min(len(colours), colours_max // 4)), np.sort(firsts)])[:colours_max])
    kept = colours[by_count][chosen]
    rgb = unpacked(kept)
    nearest = np.empty(len(colours), np.uint8)
    for first in range(0, len(colours), BLOCK):
        distance = unpacked(colours[first : first + BLOCK])[:, None, :] - rgb[None, :, :]
        nearest[first : first + BLOCK] = (distance**2).sum(axis=2).argmin(axis=1)
    indexes = nearest[place].reshape(height, width)
    rows = np.concatenate([np.zeros((height, 1), np.uint8), indexes], axis=1).tobytes()
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    palette = rgb.astype(np.uint8).tobytes()
    parts = ((b"IHDR", header), (b"PLTE", palette), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return SIGNATURE + b"".join(chunk(kind, data) for kind, data in parts)


def unpacked(colours: NDArray[np.uint32]) -> NDArray[np.int32]:
    """Red, green and blue of colours that are one number each."""
    return np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=1).astype(np.int32)


def chunk(kind: bytes, data: bytes) -> bytes:
    """A chunk of a PNG."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def decode(png: bytes) -> Pixels:
    """The pixels of a PNG without interlacing, with 8 bits for each of three or four channels."""
    assert png.startswith(SIGNATURE)
    at, data = len(SIGNATURE), b""
    width = height = channels = 0
    while at < len(png):
        (size,), kind = struct.unpack_from(">I", png, at), png[at + 4 : at + 8]
        body = png[at + 8 : at + 8 + size]
        at += size + 12
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert (depth, interlaced) == (8, 0)
            channels = {2: 3, 6: 4}[colour]
        elif kind == b"IDAT":
            data += body
    lines = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + width * channels)
    pixels = np.zeros((height + 1, (width + 1) * channels), np.int32)  # with a black row above, and a column before
    for row in range(height):
        unfilter(int(lines[row, 0]), lines[row, 1:].astype(np.int32), pixels, row + 1, channels)
    return pixels[1:, channels:].reshape(height, width, channels)[:, :, :3].astype(np.uint8)


def unfilter(kind: int, line: NDArray[np.int32], pixels: NDArray[np.int32], row: int, channels: int) -> None:
    """Undo the filter of a row: PNG, section 9."""
    above, target = pixels[row - 1], pixels[row]
    if kind in (0, 2):
        target[channels:] = (line + (above[channels:] if kind == 2 else 0)) & 255
        return
    for at in range(channels, len(target)):
        left, up, corner = int(target[at - channels]), int(above[at]), int(above[at - channels])
        target[at] = (int(line[at - channels]) + predicted(kind, left, up, corner)) & 255


def predicted(kind: int, left: int, up: int, corner: int) -> int:
    """What a filter expects of a byte."""
    if kind == 1:
        return left
    if kind == 3:
        return (left + up) // 2
    distances = [abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)]
    return (left, up, corner)[distances.index(min(distances))]
