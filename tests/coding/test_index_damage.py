"""A database with wrong bytes in it costs time, never an error."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from support.indexing import KEY, bulky, listed
from support.listings import write

from regreen.repo.index import Index
from regreen.workspace import Workspace


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    root = write(folder / "root", {f"m{n}.py": bulky(n, 40) for n in range(12)})
    with Workspace(root) as workspace:
        index = Index(folder / "cache", KEY, workspace)
        index.refresh(listed(workspace))
        index.close()
    return folder


@pytest.mark.parametrize("seed", range(40))
def test_wrong_bytes_anywhere_are_never_an_error(made: Path, tmp_path: Path, seed: int) -> None:
    cache = tmp_path / "cache"
    shutil.copytree(made / "cache", cache)
    (database,) = cache.glob("*.db")
    chance = random.Random(seed)
    data = bytearray(database.read_bytes())
    for _ in range(chance.randint(1, 40)):
        at = chance.randrange(len(data) - 8)
        data[at : at + 8] = chance.randbytes(8)
    database.write_bytes(data)
    with Workspace(made / "root") as workspace:
        index = Index(cache, KEY, workspace)
        try:
            index.definitions("name_3_7")
            index.file("m3.py")
            index.names_like("nme_3")
            index.files_using("name_3_7")
            list(index.facts())
            files = listed(workspace)
            progress = index.refresh(files)
            assert progress.done == progress.total == 12
            index.symbols([("m3.py", 0)])
        finally:
            index.close()
