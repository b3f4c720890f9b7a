"""DRNE on a GPU: orders that are sorted there, and the recurrence in one launch, against the plain ways."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from drne_networks import random_matrix
from netfold.models.drne.batches import Packed, Sequences, colors, colors_on, starts_of
from netfold.models.drne.network import Cell, _FusedRecurrence, _is_fused, _Recurrence


def matrices() -> list[sparse.csr_array]:
    rng = np.random.default_rng(0)
    some = sparse.csr_array(sparse.random_array((300, 300), density=0.01, rng=rng, dtype=np.float32))
    return [random_matrix(), sparse.csr_array(some + some.T), sparse.csr_array((3, 3), dtype=np.float32)]


@pytest.mark.parametrize("which", range(3))
def test_colors_and_orders_by_sorts_of_tensors_are_those_of_numpy(which):
    matrix = matrices()[which]
    color = colors(matrix)
    rows = (torch.from_numpy(x.astype(np.int64)) for x in (matrix.indptr, matrix.indices))
    assert np.array_equal(colors_on(*rows).numpy(), color)
    plain, sorted_on = Sequences.of(matrix, color), Sequences._sorted_on(matrix, torch.from_numpy(color))
    assert torch.equal(plain.nodes, sorted_on.nodes) and torch.equal(plain.starts, sorted_on.starts)


def packed_on(device: str) -> Packed:
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(0, 9, (70,), generator=generator).sort(descending=True).values
    lengths[0] = 40
    nodes = torch.randint(50, (int(lengths.sum()),), generator=generator)
    return Packed.of(Sequences(starts_of(lengths).to(device), nodes.to(device)))


def test_a_packed_step_starts_where_the_one_before_ends():
    packed = packed_on("cpu")
    assert packed.starts.tolist() == [now.start for now, _ in packed.steps] + [len(packed.entries)]
    assert [int((packed.lengths > t).sum()) for t in range(len(packed.alive))] == packed.alive


def test_there_is_no_kernel_for_the_cpu():
    assert not _is_fused(torch.zeros(3, 64), Cell(), packed_on("cpu"))


@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA")
@pytest.mark.parametrize("width", [16, 32, 64])
def test_the_recurrence_in_one_launch_is_the_plain_one(width):
    def numbers(dtype: torch.dtype) -> list[torch.Tensor]:
        generator = torch.Generator().manual_seed(1)
        shapes = (50, 4 * width), (width, 4 * width), (width,)
        return [torch.randn(shape, generator=generator).to("cuda", dtype) * 0.4 for shape in shapes]

    def both_ways(recurrence, dtype: torch.dtype, *more) -> list[torch.Tensor]:
        inputs = [x.requires_grad_(True) for x in numbers(dtype)]
        last = recurrence.apply(*inputs, packed_on("cuda"), *more)
        (last * torch.linspace(-1, 1, last.numel(), device="cuda", dtype=dtype).view_as(last)).sum().backward()
        return [last.detach(), *(x.grad for x in inputs)]

    assert _is_fused(numbers(torch.float32)[0], Cell(), packed_on("cuda"))
    exact = both_ways(_Recurrence, torch.float64, Cell())
    for one, other in zip(both_ways(_FusedRecurrence, torch.float32), exact, strict=True):
        assert float((one - other).norm() / other.norm()) < 1e-5
