"""The optimizers of the training loop: those of torch, and Adagrad by rows for tables too large for more state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

__all__ = ["OPTIMIZERS", "Adam16", "AdamAndRows", "RowAdagrad", "adam_state", "grad_of", "rounded_at_random"]


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
    """torch's, in one pass over the parameters: no temporary is as large as a table.

    Its `weight_decay` λ is that of λ ½ Σ ‖W‖² over the matrices alone, whose gradient λ W the pass adds, to the bit as
    if it had been added before.
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Take one step."""
        whole = self.param_groups
        self.param_groups = [part for group in whole for part in _by_decay(group)]
        try:
            return _bare(torch.optim.Adam.step)(self, closure)
        finally:
            self.param_groups = whole


def _by_decay(group: dict[str, Any]) -> list[dict[str, Any]]:
    """A group of parameters as it is or, where weights decay, matrices apart from the others, which do not."""
    if not group["weight_decay"]:
        return [group]
    weights, others = ([p for p in group["params"] if (p.ndim == 2) is wanted] for wanted in (True, False))
    return [{**group, "params": weights}, {**group, "params": others, "weight_decay": 0.0}]


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


_IN_CACHE = 1 << 18
"""Numbers of a table's rows that are stepped at a time on the CPU, so that a second pass finds them in the cache."""


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
    if p.is_cuda:
        at = grad.indices()[0]
        squares[at], p[at] = _moved_rows(p, at, grad.values(), squares, lr, eps)
        return
    some = max(1, _IN_CACHE // grad.shape[1])
    own, table = squares.numpy(), p.detach().numpy()
    for at, g in zip(torch.split(grad.indices()[0], some), torch.split(grad.values(), some), strict=True):
        sums, rows = _moved_rows(p, at, g, squares, lr, eps)
        own[at.numpy()], table[at.numpy()] = sums.numpy(), rows.numpy()  # in a quarter of torch's time


def _moved_rows(p: Tensor, at: Tensor, g: Tensor, squares: Tensor, lr: float, eps: float) -> tuple[Tensor, Tensor]:
    """The sums of squares of some rows with their gradients (m x d), and where these move the rows to."""
    norms = torch.linalg.vector_norm(g, dim=1, keepdim=True)
    sums = squares.index_select(0, at).addcmul_(norms, norms, value=1 / g.shape[1])
    return sums, p.index_select(0, at).addcmul_(g, 1 / (sums.sqrt() + eps), value=-lr)


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


_AT_ONCE = {"cpu": 1 << 16, "cuda": 1 << 23}
"""How many numbers of a table are stepped at a time: what stays in a cache, or is little beside a GPU's memory."""
_PERIOD = 4096
"""After so many rows the numbers that rounding is decided by come again."""


class Adam16(_Bare):
    """Adam whose moments are kept in 16 bits (bfloat16): 4 bytes of state a number instead of 8.

    All is computed in float32. The mean of gradients, which changes by a tenth, is rounded to the nearest; that of
    squares changes by a thousandth, less than half a step of 16 bits, and is rounded up or down by chance, so that its
    expectation is right. So is a parameter that itself has 16 bits (its gradient has 32: `grad_of`). What decides is
    drawn by the number of the step. A vector, a bias say, is stepped as Adam does.
    """

    def __init__(self, params: Iterable[Tensor], lr: float = 1e-3):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Take one step on all parameters that have a gradient."""
        for group in self.param_groups:
            for p in group["params"]:
                grad = wide_grad(p)
                if grad is not None and p.ndim == 2:
                    self._update(p, grad, self.state[p], group["lr"])
                elif grad is not None:
                    _adam_step(p, grad, self.state[p], group["lr"])

    @staticmethod
    def _update(p: Tensor, grad: Tensor, state: dict[str, Tensor], lr: float) -> None:
        if not state:
            empty = torch.zeros_like(p, dtype=torch.int16)
            state |= {"mean": empty, "squares": empty.clone(), "step": torch.zeros(())}
        state["step"] += 1
        steps, size = float(state["step"]), max(1, _AT_ONCE[p.device.type] // p.shape[1])
        chances, by_column = _chances(int(steps), p)
        for start in range(0, len(p), size):
            own, g = p[start : start + size], grad[start : start + size]
            mean, squares = (state[name][start : start + size] for name in ("mean", "squares"))
            m = mean.view(torch.bfloat16).float().lerp_(g, 0.1)
            v = squares.view(torch.bfloat16).float().mul_(0.999).addcmul_(g, g, value=0.001)
            mean.copy_(m.bfloat16().view(torch.int16))
            squares.copy_(rounded_at_random(v, by_column))
            moved = m.div_(v.div_(1 - 0.999**steps).sqrt_().add_(1e-8)).mul_(-lr / (1 - 0.9**steps))
            if own.dtype == torch.bfloat16:
                wide = own.float().add_(moved)
                own.copy_(rounded_at_random(wide, chances(start, len(own))).view(torch.bfloat16))
            else:
                own.add_(moved)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """As torch's, of wide gradients too."""
        super().zero_grad(set_to_none)
        for group in self.param_groups:
            for p in group["params"]:
                if getattr(p, _WIDE, None) is not None:
                    getattr(p, _WIDE).zero_()

    def load_state_dict(self, state_dict: Any) -> None:
        """As torch's, which makes all numbers of a state such as the parameter has; those of 16 bits are left alone."""
        super().load_state_dict(state_dict)
        parameters = [p for group in self.param_groups for p in group["params"]]
        for i, slots in state_dict["state"].items():
            p = parameters[i]
            if p.ndim == 2:
                self.state[p] |= {name: slots[name].to(p.device, copy=True) for name in ("mean", "squares")}


def rounded_at_random(x: Tensor, chances: Tensor) -> Tensor:
    """x (float32) in bfloat16, as int16: up where what is cut off and a chance (0 to 65,535) come to 65,536 or more.

    With uniform chances the expectation is x.
    """
    return (x.view(torch.int32) + chances).bitwise_right_shift_(16).to(torch.int16)


def _chances(step: int, p: Tensor) -> tuple[Callable[[int, int], Tensor], Tensor]:
    """From a first row and a number of rows to the chances of a step, by row and column; and those by column alone.

    The latter are the same whichever rows of a table there are: those of all, or of one of several processes.
    """
    generator = torch.Generator().manual_seed(step)
    drawn = torch.randint(1 << 16, (p.shape[1] + _PERIOD,), generator=generator, dtype=torch.int32).to(p.device)
    by_column, by_row = drawn[: p.shape[1]], drawn[p.shape[1] :, None]

    def of(first: int, count: int) -> Tensor:
        at = torch.arange(first, first + count, device=p.device) % len(by_row)
        return (by_row.index_select(0, at) + by_column).bitwise_and_(0xFFFF)

    return of, by_column


_WIDE = "_wide_grad"


def wide_grad(p: Tensor) -> Tensor | None:
    """The gradient of a parameter, in 32 bits where that has 16; None where there is none."""
    wide: Tensor | None = getattr(p, _WIDE, None)
    return p.grad if p.dtype != torch.bfloat16 else wide


def grad_of(table: Tensor) -> Tensor:
    """The gradient of a table, to be added to; of one in 16 bits it has 32, for which torch's own has no place."""
    grad = wide_grad(table)
    if grad is not None:
        return grad
    if table.dtype != torch.bfloat16:
        table.grad = torch.zeros_like(table)
        return table.grad
    grad = torch.zeros_like(table, dtype=torch.float32)
    setattr(table, _WIDE, grad)
    return grad


def _adam(params: Iterable[Tensor], lr: float, weight_decay: float = 0.0) -> torch.optim.Optimizer:
    return _Adam(params, lr=lr, weight_decay=weight_decay, fused=True)


def adam_state(optimizer: torch.optim.Optimizer, empty: Callable[[Tensor], Tensor]) -> None:
    """Give Adam the arrays of its state before the first step, as it would make them itself."""
    for group in optimizer.param_groups:
        for p in group["params"]:
            step = torch.zeros((), dtype=torch.float32, device=p.device)
            if isinstance(optimizer, Adam16):
                like = torch.empty_like(p, dtype=torch.int16) if p.ndim == 2 else p
                optimizer.state[p] = {"step": step, "mean": empty(like), "squares": empty(like)}
            else:
                optimizer.state[p] = {"step": step, "exp_avg": empty(p), "exp_avg_sq": empty(p)}


OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": _adam,
    "adam16": Adam16,
    "sgd": lambda params, lr: _SGD(params, lr=lr, fused=True),
    "rmsprop": lambda params, lr: _RMSprop(params, lr=lr),
    "row_adagrad": RowAdagrad,
    "adam_and_rows": AdamAndRows,
}
"""By name, what makes one of parameters, a learning rate `lr`, and settings of its own."""
