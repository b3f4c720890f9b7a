"""Some rows of a table, with a gradient that holds those rows alone: a step costs what it reads, whatever n is."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

__all__ = ["take_rows"]

_checks: Any = torch.sparse.check_sparse_tensor_invariants
if not _checks.is_enabled():
    _checks.disable()  # as it is anyway; torch 2.11 warns until it has been said


def take_rows(table: Tensor, nodes: Tensor) -> Tensor:
    """The rows of a table (n x d) for distinct nodes: m x d.

    Their gradient becomes the table's `grad` as a sparse tensor of m rows (`RowAdagrad` takes those), and is added to
    what is there already.
    """
    made: Tensor = _Rows.apply(table, nodes)  # type: ignore[no-untyped-call]
    return made


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, nodes: Tensor) -> Tensor:
        ctx.table, ctx.nodes = table, nodes
        return table.detach().index_select(0, nodes)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        table, before = ctx.table, ctx.table.grad
        if before is not None and not before.is_sparse:
            before.index_add_(0, ctx.nodes, grad)
        elif before is None or before._nnz() == 0:
            table.grad = _sparse(table, ctx.nodes, grad, distinct=True)
        else:
            nodes, rows = torch.cat([before._indices()[0], ctx.nodes]), torch.cat([before._values(), grad])
            table.grad = _sparse(table, nodes, rows, distinct=False).coalesce()
        return None, None


def _sparse(table: Tensor, nodes: Tensor, rows: Tensor, *, distinct: bool) -> Tensor:
    """A gradient of some rows. Where those are distinct there is nothing to add up, whatever their order."""
    return torch.sparse_coo_tensor(nodes[None], rows, tuple(table.shape), is_coalesced=distinct, check_invariants=False)
