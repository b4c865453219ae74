"""Draws regreen's icon: a white tick on a green square with round corners. Arithmetic alone: always the same bytes."""

from __future__ import annotations

import math
import struct
import zlib
from itertools import pairwise

SIZE = 512
GREEN = (22, 130, 75)
_CORNER = 96.0
_TICK = ((140.0, 268.0), (224.0, 352.0), (376.0, 176.0))
_HALF_STROKE = 27.0


def icon_png() -> bytes:
    """The icon as a PNG of 512 x 512 pixels."""
    rows = b"".join(b"\0" + b"".join(_pixel(x + 0.5, y + 0.5) for x in range(SIZE)) for y in range(SIZE))
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 6, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _pixel(x: float, y: float) -> bytes:
    """Red, green, blue, opacity; edges are one pixel soft."""
    inset = [max(_CORNER - at, at - (SIZE - _CORNER), 0.0) for at in (x, y)]
    inside = _soft(_CORNER - math.hypot(*inset))
    white = _soft(_HALF_STROKE - min(_distance(x, y, a, b) for a, b in pairwise(_TICK)))
    return bytes([*(round(c + (255 - c) * white) for c in GREEN), round(255 * inside)])


def _soft(depth: float) -> float:
    return min(1.0, max(0.0, depth + 0.5))


def _distance(x: float, y: float, start: tuple[float, float], end: tuple[float, float]) -> float:
    """From a point to a line between two others."""
    (x1, y1), (x2, y2) = start, end
    along = ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / ((x2 - x1) ** 2 + (y2 - y1) ** 2)
    along = min(1.0, max(0.0, along))
    return math.hypot(x - x1 - along * (x2 - x1), y - y1 - along * (y2 - y1))
