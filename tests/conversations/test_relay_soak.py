"""A short form of tests/soak/soak.py; `tools/test --soak` runs the long one."""

import os
import sys
from pathlib import Path

import pytest
from relay_process import release_path
from relay_under_test import raydbg_path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "soak"))

from soak import soak_fake  # noqa: E402


@pytest.mark.parametrize("build", ["sanitized", "released"])
def test_a_minute_of_everything(build):
    seed = int(os.environ.get("RAYDBG_SEED", "4713"))
    binary = raydbg_path() if build == "sanitized" else release_path()
    print(f"seed {seed}:", soak_fake(60, seed, binary, check_rss=build == "released"))
