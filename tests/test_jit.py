"""Compiled loops are kept on disk, and what is damaged there is written anew."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from netwright.jit import compiled


def test_a_damaged_file_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "double.py"
    source.write_text("def double(x):\n    for i in range(x.size):\n        x[i] *= 2\n")
    spec = importlib.util.spec_from_file_location("double", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "double", module)
    spec.loader.exec_module(module)
    numbers = np.array([1, 2], dtype=np.int64)
    compiled(module.double, numbers[:0]).loop(numbers)
    assert numbers.tolist() == [2, 4]
    kept = list(tmp_path.rglob("*.nbc"))
    assert len(kept) == 1
    size = kept[0].stat().st_size
    kept[0].write_bytes(kept[0].read_bytes()[:100])
    compiled(module.double, numbers[:0]).loop(numbers)
    assert numbers.tolist() == [4, 8]
    assert [file.stat().st_size for file in tmp_path.rglob("*.nbc")] == [size]
