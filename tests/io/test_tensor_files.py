"""The file of tensors: what the safetensors library reads, written with little memory or not at all."""

from __future__ import annotations

import json
import os
import resource
import signal
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from memory import peak_memory
from netfold.errors import InputError
from netfold.io import tensors as store
from netfold.io.files import staged_file

ARRAYS: dict[str, Any] = {
    "bytes": np.arange(5, dtype=np.uint8),
    "a matrix": np.arange(6, dtype=np.float32).reshape(2, 3),
    "transposed": np.arange(6, dtype=np.float32).reshape(2, 3).T,
    "every other": np.arange(10, dtype=np.int64)[::2],
    "scalar": np.array(1.5, dtype=np.float64),
    "empty": np.zeros((0, 3), np.float32),
    "big-endian": np.arange(4, dtype=">i4"),
    "big-endian floats": np.array([1.5, -2.25], dtype=">f8"),
    "truth": np.array([True, False]),
    "ünï \"quoted\"": np.array([-1], dtype=np.int32),
    "tensor": torch.arange(6, dtype=torch.float32).reshape(2, 3).T,
    "trained": torch.ones(2, requires_grad=True),
    "count": torch.tensor(7, dtype=torch.int64),
}  # fmt: skip


def as_array(x: Any) -> Any:
    return x.detach().numpy() if isinstance(x, torch.Tensor) else x


def test_tensors_are_what_the_safetensors_library_reads(tmp_path: Path) -> None:
    store.write_tensors(tmp_path / "x", ARRAYS)
    for found in (load_file(tmp_path / "x"), store.read_tensors(tmp_path / "x")):
        assert set(found) == set(ARRAYS)
        for name, given_ in ARRAYS.items():
            assert found[name].shape == tuple(given_.shape), name
            assert found[name].dtype == as_array(given_).dtype.newbyteorder("="), name
            np.testing.assert_array_equal(found[name], as_array(given_), err_msg=name)


def test_the_layout_of_the_file(tmp_path: Path) -> None:
    store.write_tensors(tmp_path / "x", {"b": np.array([7], np.uint8), "a": np.array([1.0, 2.0], ">f4")})
    raw = (tmp_path / "x").read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    assert size % 8 == 0
    assert json.loads(raw[8 : 8 + size]) == {
        "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
        "b": {"dtype": "U8", "shape": [1], "data_offsets": [8, 9]},
    }
    assert raw[8 + size :] == struct.pack("<ff", 1.0, 2.0) + b"\x07"


def test_no_tensors_at_all(tmp_path: Path) -> None:
    store.write_tensors(tmp_path / "x", {})
    assert store.read_tensors(tmp_path / "x") == {} == load_file(tmp_path / "x")


def test_equal_tensors_give_equal_bytes_in_any_order(tmp_path: Path) -> None:
    store.write_tensors(tmp_path / "x", ARRAYS)
    store.write_tensors(tmp_path / "y", dict(reversed(ARRAYS.items())))
    assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()


def test_writing_takes_no_memory_of_the_size_of_what_is_written(tmp_path: Path) -> None:
    tensors: dict[str, Any] = {str(i): np.zeros((1000, 500), np.float32) for i in range(10)}  # 2 MB each
    tensors["tensor"] = torch.zeros(1000, 500)
    with peak_memory() as peak:
        store.write_tensors(tmp_path / "x", tensors)
    assert peak[0] < 200_000


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk: the system call fails as it would there."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with (
            pytest.raises(InputError, match="x cannot be written: File too large"),
            staged_file(tmp_path / "x") as part,
        ):
            store.write_tensors(part, {"a": np.zeros(1_000_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert os.listdir(tmp_path) == []
