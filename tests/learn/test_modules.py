"""Sparse rows, tables and layers against dense loops in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from netfold.learn import layers, losses, sparse_rows
from netfold.learn.draws import kept
from netfold.learn.layers import RowDecoder, RowEncoder, Stack, add_product, pass_back, products, xavier_
from netfold.learn.sparse_rows import SomeRows, SparseRows, product_in_chunks

sizes = st.integers(1, 12)


def some_rows(m: int, n: int, density: float, seed: int) -> tuple[SparseRows, torch.Tensor]:
    rng = np.random.default_rng(seed)
    dense = (rng.random((m, n)) < density) * rng.uniform(0.1, 2, (m, n))
    return SparseRows.from_scipy(sparse.csr_array(dense), dtype=torch.float64), torch.tensor(dense)


def noise(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@settings(max_examples=60, deadline=None)
@given(m=sizes, n=sizes, h=st.integers(1, 5), density=st.sampled_from([0.0, 0.05, 0.4, 1.0]), seed=st.integers(0, 99))
def test_products_from_both_sides(m, n, h, density, seed):
    rows, dense = some_rows(m, n, density, seed)
    right, left, start = noise(n, h, seed=seed), noise(m, h, seed=seed + 1), noise(n, h, seed=seed + 2)
    torch.testing.assert_close(rows.matmul(right), dense @ right)
    out = start.clone()
    rows.add_transposed_matmul(left, out)
    torch.testing.assert_close(out, start + dense.T @ left)
    pairs = [(i, j) for i in range(m) for j in range(n) if dense[i, j] != 0]
    naive = torch.tensor([float(left[i] @ right[j]) for i, j in pairs], dtype=torch.float64)
    torch.testing.assert_close(rows.sampled(left, right), naive)
    torch.testing.assert_close(rows.row_sums(), dense.sum(1))
    torch.testing.assert_close(rows.column_sums(), dense.sum(0))


def test_blocks_of_columns_change_nothing(monkeypatch):
    for n in (9, 200):  # nearly all columns touched, and few of them
        rows, dense = some_rows(7, n, 0.03 if n > 9 else 0.8, 3)
        assert (rows.touched is None) == (n == 9)
        whole, parts = torch.zeros(n, 4, dtype=torch.float64), torch.zeros(n, 4, dtype=torch.float64)
        rows.add_transposed_matmul(noise(7, 4), whole)
        monkeypatch.setitem(sparse_rows.PIECE, "cpu", 8)
        rows.add_transposed_matmul(noise(7, 4), parts)
        monkeypatch.undo()
        torch.testing.assert_close(parts, whole, rtol=0, atol=0)
        torch.testing.assert_close(whole, dense.T @ noise(7, 4))


def test_gradients_of_tables_are_added_in_place():
    rows, dense = some_rows(6, 9, 0.4, 2)
    encoder = RowEncoder(9, 4).double()
    xavier_(encoder.table, torch.Generator().manual_seed(0))
    encoder(rows).square().sum().backward()
    once, buffer = encoder.table.grad.clone(), encoder.table.grad
    torch.testing.assert_close(once, 2 * dense.T @ (dense @ encoder.table.detach() + encoder.bias.detach()))
    encoder(rows).square().sum().backward()
    assert encoder.table.grad is buffer
    torch.testing.assert_close(buffer, 2 * once)


def test_the_gram_identity_of_the_decoder():
    """Σ_ij x̂_ij² over all entries, without the entries, and its gradients."""
    decoder, hidden = RowDecoder(11, 3).double(), noise(5, 3, seed=1).requires_grad_()
    with torch.no_grad():
        decoder.table.copy_(noise(11, 3, seed=2))
        decoder.bias.copy_(noise(11, seed=3))
    fast = decoder.energy(hidden, decoder.gram())
    fast.backward()
    found = [hidden.grad.clone(), decoder.table.grad.clone(), decoder.bias.grad.clone()]
    table, bias, h = (x.detach().clone().requires_grad_() for x in (decoder.table, decoder.bias, hidden))
    slow = sum((h[i] @ table[j] + bias[j]) ** 2 for i in range(5) for j in range(11))
    slow.backward()
    torch.testing.assert_close(fast, slow, rtol=1e-12, atol=0)
    for mine, naive in zip(found, (h.grad, table.grad, bias.grad), strict=True):
        torch.testing.assert_close(mine, naive, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("columns", [None, torch.tensor([4, 1, 7])])
def test_the_sigmoid_energy_against_a_loop(columns, monkeypatch):
    monkeypatch.setitem(sparse_rows.PIECE, "cpu", 10)  # several blocks
    decoder, hidden = RowDecoder(9, 3).double(), noise(4, 3, seed=1).requires_grad_()
    with torch.no_grad():
        decoder.table.copy_(noise(9, 3, seed=2))
        decoder.bias.copy_(noise(9, seed=3))
    fast = decoder.sigmoid_energy(hidden, columns)
    fast.backward()
    found = [hidden.grad.clone(), decoder.table.grad.clone(), decoder.bias.grad.clone()]
    table, bias, h = (x.detach().clone().requires_grad_() for x in (decoder.table, decoder.bias, hidden))
    which = range(9) if columns is None else columns.tolist()
    slow = sum((1 / (1 + torch.exp(-(h[i] @ table[j] + bias[j])))) ** 2 for i in range(4) for j in which)
    slow.backward()
    torch.testing.assert_close(fast, slow)
    for mine, naive in zip(found, (h.grad, table.grad, bias.grad), strict=True):
        torch.testing.assert_close(mine, naive)


def test_second_order_correction_against_a_loop():
    found, given = noise(6, seed=1), noise(6, seed=2).abs()
    naive = sum(25 * (float(a) - float(b)) ** 2 - 0.5 * float(a) ** 2 for a, b in zip(found, given, strict=True))
    assert float(losses.second_order_correction(found, given, 5.0, 0.5)) == pytest.approx(naive, rel=1e-12)
    empty = torch.zeros(0, dtype=torch.float64)
    assert float(losses.second_order_correction(empty, empty, 5.0)) == 0


def test_a_stack_is_its_layers():
    stack = Stack((3, 5, 2), "tanh").double()
    for i, w in enumerate(stack.weights):
        xavier_(w, torch.Generator().manual_seed(i))
    x = noise(4, 3)
    torch.testing.assert_close(stack(x), torch.tanh(torch.tanh(x @ stack.weights[0]) @ stack.weights[1]))


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(("m", "pieces"), [(0, 1), (5, 1), (256, 1), (300, 2)])
def test_products_against_a_loop(m, pieces, plain, monkeypatch):
    """By oneDNN as far as it goes, where it is the quicker, and by torch's own."""
    if plain:
        monkeypatch.setattr(layers, "_in_whole", lambda x: 0)
    pieces = pieces if layers._in_whole(torch.zeros(256, 1)) else 1  # by a core without AVX-512, as if plain
    wide = noise(m, 9, seed=1).float()
    x, weight, bias = wide[:, 2:], noise(7, 3, seed=2).float(), noise(3, seed=3).float()
    naive = [[sum(float(x[i, a]) * float(weight[a, j]) for a in range(7)) for j in range(3)] for i in range(m)]
    expected = torch.tensor(naive, dtype=torch.float64).view(m, 3)
    made = products(x, weight)
    assert len(made) == pieces
    torch.testing.assert_close(torch.cat(made).double(), expected, rtol=1e-5, atol=1e-5)
    with_bias = torch.cat(products(x, weight.t().contiguous().t(), bias))
    torch.testing.assert_close(with_bias.double(), expected + bias, rtol=1e-5, atol=1e-5)
    out, y = noise(7, 3, seed=4).float(), noise(m, 3, seed=5).float()
    sums = [[sum(float(x[i, a]) * float(y[i, j]) for i in range(m)) for j in range(3)] for a in range(7)]
    total = out.double() + torch.tensor(sums, dtype=torch.float64)
    add_product(out, x, y)
    torch.testing.assert_close(out.double(), total, rtol=1e-5, atol=1e-4)


def test_xavier_is_seeded_and_within_its_bounds():
    one, two = torch.zeros(50, 30), torch.zeros(50, 30)
    xavier_(one, torch.Generator().manual_seed(1))
    xavier_(two, torch.Generator().manual_seed(1))
    assert torch.equal(one, two)
    limit = (6 / 80) ** 0.5
    assert 0.95 * limit < one.abs().max() <= limit


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "leaky_relu", "linear"])
@pytest.mark.parametrize("widths", [(4,), (4, 3), (4, 6, 2, 3)])
def test_a_stack_goes_back_by_hand_as_autograd_does(activation, widths):
    stack = Stack(widths, activation).double()
    for seed, p in enumerate(stack.parameters()):
        p.data.copy_(noise(*p.shape, seed=seed))
    x, grad = noise(5, 4, seed=50).requires_grad_(), noise(5, widths[-1], seed=51)
    last = stack(x)
    wanted = torch.autograd.grad(last, [x, *stack.parameters()], grad)
    with torch.no_grad():
        for known in (None, last.detach()):
            stack.zero_grad()
            steps = stack.steps(x.detach(), known)
            at = stack.back(steps, grad)
            assert len(steps) == len(widths) and (known is None or len(widths) == 1 or steps[-1] is known)
            for ours, theirs in zip([at, *(p.grad for p in stack.parameters())], wanted, strict=True):
                torch.testing.assert_close(ours, theirs, rtol=1e-13, atol=1e-13)


def test_a_product_in_chunks_is_that_of_sparse_rows_to_the_bit() -> None:
    matrix = sparse.csr_array(sparse.random(50, 30, density=0.2, format="csr", rng=np.random.default_rng(0)))
    dense = torch.randn(30, 4, generator=torch.Generator().manual_seed(0))
    whole = SparseRows.from_scipy(matrix).matmul(dense)
    for size in (7, 50, 1000):
        assert torch.equal(product_in_chunks(matrix, size, dense), whole)
    exact = torch.from_numpy(matrix.toarray() @ dense.double().numpy())
    torch.testing.assert_close(whole.double(), exact, rtol=1e-5, atol=1e-5)


def test_gradients_passed_back_are_those_of_autograd() -> None:
    def through(back) -> list[torch.Tensor]:
        leaves = [torch.arange(6.0, dtype=torch.float64).view(2, 3).requires_grad_(True) for _ in range(2)]
        outputs = [leaves[0].square(), leaves[0] @ leaves[1].T]
        back(outputs, [torch.full_like(x, 0.3 + i).detach() for i, x in enumerate(outputs)])
        return [x.grad for x in leaves]

    for one, other in zip(through(pass_back), through(torch.autograd.backward), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("density", [0.0, 0.05, 0.6])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_rows_read_in_place_are_those_rows(density: float, share: float) -> None:
    rows, dense = some_rows(30, 12, density, 1)
    only = torch.tensor([3, 4, 9, 17, 29])
    place = torch.full((30,), -1, dtype=torch.int32)
    place[only] = torch.arange(5, dtype=torch.int32)
    some = SomeRows(rows, only, place)
    if share:
        some = some.dropped(share, torch.Generator().manual_seed(3))
        coins = kept(some.key, len(rows.values), share, "cpu")
        at = torch.arange(30).repeat_interleave(rows.crow.diff()), rows.col.long()
        dense = dense.clone()
        dense[at] = dense[at] * coins / (1 - share)
    left, right, out = noise(12, 4), noise(5, 4, seed=1), noise(12, 4, seed=2)
    assert len(some) == 5
    torch.testing.assert_close(some.matmul(left), dense[only] @ left)
    want = out + dense[only].T @ right
    some.add_transposed_matmul(right, out)
    torch.testing.assert_close(out, want)


@pytest.mark.parametrize("density", [0.0, 0.05, 0.6])
def test_rows_taken_with_a_known_number_of_entries_are_the_same(density: float) -> None:
    rows, dense = some_rows(30, 12, density, 2)
    only = torch.tensor([17, 4, 9, 3, 29])
    taken = rows.take(only, int(rows.crow.diff()[only].sum()))
    left, right, out = noise(12, 4), noise(5, 4, seed=1), noise(12, 4, seed=2)
    torch.testing.assert_close(taken.matmul(left), dense[only] @ left)
    want = out + dense[only].T @ right
    taken.add_transposed_matmul(right, out)
    torch.testing.assert_close(out, want)
    torch.testing.assert_close(taken.column_sums(), dense[only].sum(0))
    torch.testing.assert_close(taken.with_values(2 * taken.values).column_sums(), 2 * dense[only].sum(0))
