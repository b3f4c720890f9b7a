"""Random numbers, many at once, the same on every device.

A few are drawn from torch's generator on the CPU and taken to where they are needed. Many are computed there, from a
key that is drawn and their own places: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), whose i-th number needs no other.
So a GPU need not wait for numbers, a run repeats, and one that is resumed goes on to the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

__all__ = [
    "FEW", "FIRST", "SECOND", "STEP", "TABLE", "Chances", "kept", "normal", "numbers_below", "permutation", "scrambled",
    "share_of_24_bits", "uniform", "uniform_at",
]  # fmt: skip

FEW = 1 << 16
"""Up to so many numbers come from the CPU ..."""
TABLE = 1 << 25
"""... and up to so many of a table that is drawn once: those of 100,000 nodes and 256 numbers each."""
_PIECE = {"cpu": 1 << 16, "cuda": 1 << 26}
"""How many are computed at a time: what stays in a cache, or leaves most of a GPU's memory alone."""
STEP = -7046029254386353131
"""SplitMix64's step from one number to the next, as a signed one ..."""
FIRST, SECOND = -4658895280553007687, -7723592293110705685
"""... and what each is multiplied by."""


def uniform(
    shape: Sequence[int],
    generator: torch.Generator,
    device: torch.device | str,
    *,
    dtype: torch.dtype = torch.float64,
    few: int = FEW,
) -> Tensor:
    """Numbers in [0, 1), independent, where they are wanted.

    >>> generator = torch.Generator().manual_seed(1)
    >>> bool(((x := uniform((100, 1000), generator, "cpu")) >= 0).all() & (x < 1).all()), round(float(x.mean()), 2)
    (True, 0.5)
    """
    if math.prod(shape) <= few:
        return torch.rand(tuple(shape), dtype=dtype, device=generator.device, generator=generator).to(device)
    key = int(torch.randint(1 << 62, (), generator=generator, device=generator.device))
    numbers = torch.empty(math.prod(shape), dtype=dtype, device=device)
    size, digits = _PIECE[numbers.device.type], 53 if dtype == torch.float64 else 24
    for start in range(0, len(numbers), size):
        part = numbers[start : start + size]
        part.copy_(_shifted(_mixed(key, start, len(part), part.device), 64 - digits)).mul_(2.0**-digits)
    return numbers.view(tuple(shape))


def normal(shape: Sequence[int], generator: torch.Generator, device: torch.device | str, *, few: int = FEW) -> Tensor:
    """Numbers of mean 0 and variance 1, in float32; many of them by Box and Muller, of two uniform ones each."""
    if math.prod(shape) <= few:
        return torch.randn(tuple(shape), generator=generator, device=generator.device).to(device)
    lengths = uniform(shape, generator, device, dtype=torch.float32, few=0).neg_().add_(1).log_().mul_(-2).sqrt_()
    return lengths.mul_(uniform(shape, generator, device, dtype=torch.float32, few=0).mul_(2 * math.pi).cos_())


_CROWD, _GUIDED = 12, 1 << 21
"""A guide is made where no more sums than this lie between two of its steps, and of no more sums than that."""


class Chances:
    """Places 0 to n - 1 with given probabilities, by their cumulative sums (n, the last is 1): drawn many at once.

    On the CPU a guide tells near which sum a number lies: a look or two in the place of a search, to the same places.
    """

    def __init__(self, sums: Tensor):
        self.sums, self._guide = sums, None
        if not sums.is_cuda and 1 < len(sums) <= _GUIDED:
            steps = 2 << (len(sums).bit_length() - 1)  # a power of two, so that a number times it is exact
            guide = torch.searchsorted(sums, torch.arange(steps + 1, dtype=torch.float64) / steps, right=True)
            if int(guide.diff().max()) <= _CROWD:
                self._guide = guide.clamp_(max=len(sums) - 1).numpy()
                self._ends = sums.numpy().copy()
                self._ends[-1] = 1  # whatever rounding made of it: no number lies beyond

    def at(self, drawn: Tensor) -> Tensor:
        """The places that numbers in [0, 1) stand for, in float64.

        >>> chances = Chances(torch.tensor([0.25, 0.5, 1.0], dtype=torch.float64))
        >>> chances.at(torch.tensor([0.1, 0.25, 0.9], dtype=torch.float64)).tolist()
        [0, 1, 2]
        """
        if self._guide is None:
            return torch.searchsorted(self.sums, drawn, right=True).clamp_(max=len(self.sums) - 1)
        sums, numbers = self._ends, drawn.numpy()
        places = self._guide.take((numbers * (len(self._guide) - 1)).astype(np.int64))
        beyond = np.flatnonzero(sums.take(places) <= numbers)
        while len(beyond):
            places[beyond] += 1
            beyond = beyond[sums.take(places.take(beyond)) <= numbers.take(beyond)]
        return torch.from_numpy(places)


def permutation(n: int, generator: torch.Generator, device: torch.device | str, *, large: bool) -> Tensor:
    """0 to n - 1 in random order, where they are wanted: torch's own or, of a `large` graph, by sorting random numbers.

    >>> permutation(5, torch.Generator().manual_seed(1), "cpu", large=True).sort().values.tolist()
    [0, 1, 2, 3, 4]
    """
    if not large:
        return torch.randperm(n, generator=generator, device=generator.device).to(device)
    return uniform((n,), generator, device, few=0).argsort(stable=True)


def numbers_below(
    most: int, count: int, generator: torch.Generator, device: torch.device | str, *, large: bool
) -> Tensor:
    """So many integers from 0 to `most` - 1, all alike; torch's own or, of a `large` graph, computed on the device.

    >>> sorted(set(numbers_below(3, 100, torch.Generator().manual_seed(1), "cpu", large=True).tolist()))
    [0, 1, 2]
    """
    if not large:
        return torch.randint(most, (count,), generator=generator, device=generator.device).to(device)
    return (uniform((count,), generator, device, few=0) * most).long().clamp_(max=most - 1)


def uniform_at(keys: Tensor, places: Tensor) -> Tensor:
    """The number in [0, 1) at a place of the sequence of a key, for as many keys and places as there are; float64.

    Whoever asks, with whatever else, is given the same.
    """
    return _shifted(scrambled(places.add(1).mul_(STEP).add_(keys)), 64 - 53).double().mul_(2.0**-53)


def kept(key: int, count: int, share: float, device: torch.device | str) -> Tensor:
    """Whether each of so many places is not of a random share, drawn by a key: booleans; a kernel draws the same.

    >>> round(float(kept(1, 100_000, 0.3, "cpu").double().mean()), 2)
    0.7
    """
    return _shifted(_mixed(key, 0, count, torch.device(device)), 40) >= share_of_24_bits(share)


def share_of_24_bits(share: float) -> int:
    """How many of 2^24 numbers are that share of them."""
    return round(share * (1 << 24))


def _mixed(key: int, start: int, count: int, device: torch.device) -> Tensor:
    """The numbers `start` to `start` + `count` of the sequence of a key: 64 bits each, as signed integers."""
    return scrambled(torch.arange(start + 1, start + count + 1, device=device).mul_(STEP).add_(key))


def scrambled(z: Tensor) -> Tensor:
    """64 bits that look random for each 64 bits, in their place: SplitMix64 but for its steps."""
    z = z.bitwise_xor_(_shifted(z, 30)).mul_(FIRST)
    z = z.bitwise_xor_(_shifted(z, 27)).mul_(SECOND)
    return z.bitwise_xor_(_shifted(z, 31))


def _shifted(z: Tensor, by: int) -> Tensor:
    """z / 2^by, z being read as without a sign."""
    return (z >> by).bitwise_and_((1 << (64 - by)) - 1)
