"""The suite itself, played by processes and by a store that never locks: see `file_store`."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from foliot.protocols import Store
from foliot.testing.contract import Damage, Sharing, StoreContract
from stores.file_store import FileStore, open_file

pytestmark = pytest.mark.prove


async def damage_one(store: Store, key: str) -> None:
    await cast("FileStore", store).damage(key)


class TestFileStore(StoreContract):
    head_start = 10

    @pytest.fixture
    def sharing(self, tmp_path: Path) -> Sharing:
        return Sharing(open_file, str(tmp_path / "jobs"))

    @pytest.fixture
    def damage(self) -> Damage:
        return damage_one
