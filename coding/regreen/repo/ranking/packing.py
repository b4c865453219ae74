"""The graph and its ranks as bytes, to be kept from one process to the next.

Columns of all files one after the other. Bytes that are not what `pack` makes, here and now, are taken for nothing.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any, TypeAlias
from zlib import crc32

from regreen.repo.facts import FileRole
from regreen.repo.ranking.nodes import FileNode, Graph
from regreen.repo.ranking.ranks import Ranks

VERSION = 1  # another one whenever weights, edges, ranks or columns are made in another way

_ROLES: tuple[FileRole, ...] = ("source", "test", "generated", "vendored", "minified", "binary", "huge")
_HEAD = struct.Struct("<16sIqd d I")
_MAGIC = f"regreen {VERSION} {sys.byteorder}".encode()[:16].ljust(16)
_Column: TypeAlias = "array[Any]"  # of whole numbers or floats, as its code says

_DEFINITIONS = "IBBBiid"  # identifiers, pull, show, private, parent, name, part
_EDGES = "IdId"  # uses, use_weight, to, to_weight


def pack(graph: Graph, ranks: Ranks) -> bytes:
    """All of it, for the same version of this program on the same kind of machine."""
    files = graph.files
    paths = "\0".join(file.path for file in files).encode("utf-8", "surrogateescape")
    columns: list[_Column] = [
        array("B", paths),
        array("B", [_ROLES.index(file.role) for file in files]),
        array("q", [file.content for file in files]),
        array("d", [file.total for file in files]),
        graph.names,
        ranks.files,
        ranks.names,
        _joined("d", ranks.scores),
        *(array("I", map(len, column)) for column in (
            [file.identifiers for file in files], [file.uses for file in files], [file.to for file in files])),
        *_joined_all(_DEFINITIONS, [_definitions(file) for file in files]),
        *_joined_all(_EDGES, [_edges(file) for file in files]),
    ]  # fmt: skip
    body = b"".join(struct.pack("<Q", len(column) * column.itemsize) + column.tobytes() for column in columns)
    return _HEAD.pack(_MAGIC, len(files), graph.generation, *ranks.sums, crc32(body)) + body


def unpack(data: bytes | None) -> tuple[Graph, Ranks] | None:
    """What was packed; None for anything else."""
    if not data or len(data) < _HEAD.size or not data.startswith(_MAGIC):
        return None
    _, count, generation, low, high, check = _HEAD.unpack_from(data)
    if not count or crc32(memoryview(data)[_HEAD.size :]) != check:
        return None
    paths, roles, content, totals, names, file_ranks, name_ranks, scores, *rest = _columns(data)
    sizes, rest = [list(column) for column in rest[:3]], rest[3:]
    defined, used, to = ([0, *accumulate(size)] for size in sizes)
    bounds = [defined] * len(_DEFINITIONS) + [used, used, to, to]
    cut = [_cut(column, bound) for column, bound in zip(rest, bounds, strict=True)]
    files = [
        FileNode(path, _ROLES[int(role)], number, *columns, total=total)
        for path, role, number, total, columns in zip(
            paths.tobytes().decode("utf-8", "surrogateescape").split("\0"), roles, content, totals,
            zip(*cut, strict=True), strict=True,
        )
    ]  # fmt: skip
    graph = Graph(generation, files, names)
    return graph, Ranks(file_ranks, name_ranks, _cut(scores, defined), (low, high))


def _columns(data: bytes) -> list[_Column]:
    codes = "BBqdQdddIII" + _DEFINITIONS + _EDGES
    view = memoryview(data)
    at = _HEAD.size
    columns: list[_Column] = []
    for code in codes:
        (size,) = struct.unpack_from("<Q", view, at)
        column: _Column = array(code)
        column.frombytes(view[at + 8 : at + 8 + size])
        columns.append(column)
        at += 8 + size
    return columns


def _cut(column: _Column, bounds: Sequence[int]) -> list[_Column]:
    return [column[start:end] for start, end in pairwise(bounds)]


def _joined_all(codes: str, rows: Sequence[Sequence[_Column]]) -> Iterable[_Column]:
    return (_joined(code, [row[number] for row in rows]) for number, code in enumerate(codes))


def _joined(code: str, columns: Iterable[_Column]) -> _Column:
    return array(code, b"".join(column.tobytes() for column in columns))


def _definitions(file: FileNode) -> tuple[_Column, ...]:
    return file.identifiers, file.pull, file.show, file.private, file.parent, file.name, file.part


def _edges(file: FileNode) -> tuple[_Column, ...]:
    return file.uses, file.use_weight, file.to, file.to_weight
