"""Some rows of a table, with a gradient that holds those rows alone: a step costs what it reads, whatever n is."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

__all__ = ["take_rows"]


def take_rows(table: Tensor, nodes: Tensor) -> Tensor:
    """The rows of a table (n x d) for distinct nodes, in order: m x d.

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
        made = torch.sparse_coo_tensor(
            ctx.nodes[None], grad, tuple(table.shape), is_coalesced=True, check_invariants=False
        )
        if before is None or (before.is_sparse and before._nnz() == 0):
            table.grad = made
        elif before.is_sparse:
            table.grad = (before + made).coalesce()
        else:
            before += made
        return None, None
