"""The optimizers of the training loop: those of torch, and Adagrad by rows for tables too large for more state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

__all__ = ["OPTIMIZERS", "AdamAndRows", "RowAdagrad", "adam_state"]


def _bare(method: Any) -> Any:
    """A method of torch's optimizers without what torch.compile has around it.

    Around it stands an import of the compiler, which takes as long as that of torch itself: a second of every fit.
    """
    return getattr(method, "__wrapped__", method)


class _Bare(torch.optim.Optimizer):
    """torch's optimizer, which does not load a compiler that nothing here is compiled by."""

    add_param_group = _bare(torch.optim.Optimizer.add_param_group)
    zero_grad = _bare(torch.optim.Optimizer.zero_grad)
    state_dict = _bare(torch.optim.Optimizer.state_dict)
    load_state_dict = _bare(torch.optim.Optimizer.load_state_dict)


class _Adam(_Bare, torch.optim.Adam):
    """torch's, in one pass over the parameters: no temporary is as large as a table."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Take one step."""
        return _bare(torch.optim.Adam.step)(self, closure)


class _SGD(_Bare, torch.optim.SGD):
    """The same of plain descent."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Take one step."""
        return _bare(torch.optim.SGD.step)(self, closure)


class _RMSprop(_Bare, torch.optim.RMSprop):
    """And of that by the mean of squares."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Take one step."""
        return _bare(torch.optim.RMSprop.step)(self, closure)


class RowAdagrad(_Bare):
    """Adagrad with one step size per row of a table: 4 bytes of state a row instead of 8 bytes a number.

    s_i += mean_j g_ij²;  w_i -= lr g_i / (√s_i + eps). A vector is a table of rows of one number. s_i begins at
    `prior`: until squares have summed to more than that, a row descends at the plain rate lr / √prior. A sparse
    gradient moves the rows that it holds, and costs no more than those.
    """

    def __init__(self, params: Iterable[Tensor], lr: float = 0.1, eps: float = 1e-8, prior: float = 0.0):
        super().__init__(params, {"lr": lr, "eps": eps, "prior": prior})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Take one step on all parameters that have a gradient."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self._update(p, p.grad, self.state[p], group)

    @staticmethod
    def _update(p: Tensor, grad: Tensor, state: dict[str, Tensor], group: dict[str, Any]) -> None:
        lr, eps = group["lr"], group["eps"]
        if not state:
            state["squares"] = p.new_full((len(p) if p.ndim == 2 else p.numel(), 1), group["prior"])
        if grad.is_sparse:
            _update_rows(p, grad.coalesce(), state["squares"], lr, eps)
            return
        rows, g = (p, grad) if p.ndim == 2 else (p.view(-1, 1), grad.view(-1, 1))
        norms = torch.linalg.vector_norm(g, dim=1, keepdim=True)
        state["squares"].addcmul_(norms, norms, value=1 / g.shape[1])
        rows.addcmul_(g, 1 / (state["squares"].sqrt() + eps), value=-lr)


def _update_rows(p: Tensor, grad: Tensor, squares: Tensor, lr: float, eps: float) -> None:
    """The same at the rows that a sparse gradient holds."""
    at, g = grad.indices()[0], grad.values()
    norms = torch.linalg.vector_norm(g, dim=1, keepdim=True)
    sums = squares.index_select(0, at).addcmul_(norms, norms, value=1 / g.shape[1])
    rows = p.index_select(0, at).addcmul_(g, 1 / (sums.sqrt() + eps), value=-lr)
    if p.is_cuda:
        squares[at], p[at] = sums, rows
    else:  # numpy copies rows where torch goes number by number: a quarter of the time
        squares.numpy()[at.numpy()], p.detach().numpy()[at.numpy()] = sums.numpy(), rows.numpy()


class AdamAndRows(RowAdagrad):
    """Adam for parameters and, in the same step, row-wise Adagrad for tables whose gradients hold some rows.

    `row_lr` is the learning rate of the tables where `lr` is that of the others; they fall together.
    """

    def __init__(self, params: Iterable[Tensor], lr: float = 1e-3, row_lr: float = 0.1, prior: float = 0.0):
        super().__init__(params, lr, prior=prior)
        for group in self.param_groups:
            group["row_share"] = row_lr / lr

    @staticmethod
    def _update(p: Tensor, grad: Tensor, state: dict[str, Tensor], group: dict[str, Any]) -> None:
        if grad.is_sparse:
            RowAdagrad._update(p, grad, state, {**group, "lr": group["lr"] * group["row_share"]})
        else:
            _adam_step(p, grad, state, group["lr"])


def _adam_step(p: Tensor, grad: Tensor, state: dict[str, Tensor], lr: float) -> None:
    """As `torch.optim.Adam` does with its defaults."""
    if not state:
        state |= {"mean": torch.zeros_like(p), "squares": torch.zeros_like(p), "step": torch.zeros(())}
    state["step"] += 1
    steps = float(state["step"])
    state["mean"].lerp_(grad, 0.1)
    state["squares"].mul_(0.999).addcmul_(grad, grad, value=0.001)
    size = (state["squares"] / (1 - 0.999**steps)).sqrt_().add_(1e-8)
    p.addcdiv_(state["mean"], size, value=-lr / (1 - 0.9**steps))


def _adam(params: Iterable[Tensor], lr: float) -> torch.optim.Optimizer:
    return _Adam(params, lr=lr, fused=True)


def adam_state(optimizer: torch.optim.Optimizer, empty: Callable[[Tensor], Tensor]) -> None:
    """Give Adam the arrays of its state before the first step, as it would make them itself."""
    for group in optimizer.param_groups:
        for p in group["params"]:
            step = torch.zeros((), dtype=torch.float32, device=p.device)
            optimizer.state[p] = {"step": step, "exp_avg": empty(p), "exp_avg_sq": empty(p)}


OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": _adam,
    "sgd": lambda params, lr: _SGD(params, lr=lr, fused=True),
    "rmsprop": lambda params, lr: _RMSprop(params, lr=lr),
    "row_adagrad": RowAdagrad,
    "adam_and_rows": AdamAndRows,
}
"""By name, what makes one of parameters, a learning rate `lr`, and settings of its own."""
