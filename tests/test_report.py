"""The report: what is packed is what was given, the policy is kept, and nothing in a label is ever markup."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from click.testing import CliRunner, Result
from zoo import karate, scattered

import netfold as nf
from netfold import evaluate, plot
from netfold.cli import main
from netfold.embedding import Embedding
from netfold.errors import InputError
from netfold.report import Sheet, document, write
from netfold.report.blocks import Blocks
from netfold.report.columns import Classes, Numbers, columns_of
from netfold.report.components import leading
from netfold.report.facts import cost, data_facts, losses, parameters
from netfold.report.near import packed_vectors
from netfold.report.points import placed
from netfold.report.tables import graph_tasks, label_tasks, table, tuple_tasks
from netfold.report.words import label_lines, spelled

HOSTILE = "</script><img src=x onerror=alert(1)>"
KINDS = {"uint8": np.uint8, "int8": np.int8, "uint16": np.uint16, "int16": np.int16, "uint32": np.uint32}


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def points(n: int = 30, dim: int = 5) -> Embedding:
    return Embedding([f"node {i}" for i in range(n)], rng().normal(size=(n, dim)))


def gaussians(n: int = 30, dim: int = 4) -> Embedding:
    draw = rng()
    return Embedding(range(n), draw.normal(size=(n, dim)), draw.uniform(0.1, 2, size=(n, dim)))


def unpacked(page: str, reference: dict[str, Any]) -> Any:
    """What a browser makes of a reference."""
    found = re.search(rf'<script type="text/plain" id="block-{reference["block"]}"([^>]*)>([^<]*)</script>', page)
    assert found is not None
    content = base64.b64decode(found[2], validate=True)
    content = gzip.decompress(content) if "gzip" in found[1] else content
    return content.decode() if reference["kind"] == "text" else np.frombuffer(content, KINDS[reference["kind"]])


def in_page(blocks: Blocks, reference: dict[str, Any]) -> Any:
    return unpacked("\n".join(blocks.html()), reference)


def facts_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data-facts">([^<]*)</script>', page)
    assert found is not None
    return json.loads(found[1])


def written(tmp_path: Path, *sheets: Sheet, **options: Any) -> str:
    write(sheets, tmp_path / "report.html", **options)
    return (tmp_path / "report.html").read_text(encoding="utf-8")


# -------------------------------------------------------------------- blocks, words


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_come_back_as_they_were(kind: str) -> None:
    blocks, many = Blocks(), np.iinfo(KINDS[kind]).max
    random = rng().integers(0, many, 1000).astype(KINDS[kind])
    plain = np.zeros(1000, KINDS[kind])
    for array in (random, plain, random.astype(random.dtype.newbyteorder(">"))):
        np.testing.assert_array_equal(in_page(blocks, blocks.add(array)), array)
    assert 'data-packed="gzip"' in list(blocks.html())[-1]
    assert len(list(blocks.html())) == 2  # the third is the first again


def test_texts_come_back_as_they_were() -> None:
    blocks = Blocks()
    for text in ("", "Zoë\n名前\n</script>", "a\n" * 5000):
        assert in_page(blocks, blocks.add_text(text)) == text


def test_labels_are_lines() -> None:
    labels: list[Any] = ["plain", "two\nlines", "tab\there", "", ("user", 7), (1, 2), 3, "x" * 500, "\u2028", HOSTILE]
    lines = label_lines(Embedding(labels, np.ones((10, 1))).nodes).split("\n")
    assert lines[:7] == ["plain", "two lines", "tab here", "", "user:7", "(1, 2)", "3"]
    assert lines[7] == "x" * 199 + "…" and lines[8] == " " and lines[9] == HOSTILE
    assert label_lines(Embedding([5, 6], np.ones((2, 1))).nodes) == "5\n6"
    assert spelled("\ud800") == " "


# -------------------------------------------------------------------- places


def test_leading_directions_are_those_of_a_singular_value_decomposition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netfold.report.components._BLOCK", 40)
    x = rng().normal(size=(50, 6)) * [9, 5, 3, 2, 1, 1] + 4
    for centred in (True, False):
        found = leading(x, 3, centred=centred)
        moved = x - x.mean(axis=0) if centred else x
        _, s, vt = np.linalg.svd(moved)
        np.testing.assert_allclose(np.abs(found.axes.T @ vt[:3].T), np.eye(3), atol=1e-9)
        np.testing.assert_allclose(found.shares, (s**2 / (s**2).sum())[:3])
        np.testing.assert_allclose(found.of(x), moved @ found.axes)


def test_pca_is_that_of_the_picture() -> None:
    embedding = points(40)
    found = placed(embedding, "pca")
    np.testing.assert_allclose(found.at, plot.project(embedding.vectors, "pca")[0], atol=1e-6)
    assert "of the variance" in found.method and found.ellipses is None
    assert placed(Embedding("ab", [[1], [3]]), "pca").at.tolist() == [[-1, 0], [1, 0]]


def test_places_have_16_bits_and_one_scale(tmp_path: Path) -> None:
    embedding, blocks = points(200), Blocks()
    found = placed(embedding, "pca")
    packed = found.packed(blocks)
    parts = in_page(blocks, packed["xy"]).reshape(-1, 2) / 65535
    span = (found.at.max(axis=0) - found.at.min(axis=0)).max()
    assert parts.min() >= 0 and parts.max() == 1
    for i in range(0, 200, 7):
        for j in range(0, 200, 11):
            assert np.linalg.norm(parts[i] - parts[j]) * span == pytest.approx(
                float(np.linalg.norm(found.at[i] - found.at[j])), abs=2 * span / 65535
            )


def test_a_few_far_off_do_not_make_the_map_small() -> None:
    vectors = rng().normal(size=(1000, 2))
    vectors[0] = [400, 0]
    left, bottom, right, top = placed(Embedding(range(1000), vectors), "pca").packed(Blocks())["home"]
    assert right - left < 0.05 and top - bottom < 0.05
    alike = placed(Embedding("ab", [[1, 1], [1, 1]]), "pca").packed(Blocks())
    assert np.isfinite(alike["home"]).all()


def test_ellipses_are_the_gaussians_own(tmp_path: Path) -> None:
    embedding, blocks = gaussians(), Blocks()
    found = placed(embedding)
    assert found.exact and found.ellipses is not None
    plane = leading(embedding.vectors, 2).axes
    for i in range(len(embedding)):
        seen = plane.T @ np.diag(embedding.std[i].astype(float) ** 2) @ plane  # type: ignore[index]
        long, short, angle = found.ellipses[i]
        along = np.array([np.cos(angle), np.sin(angle)])
        np.testing.assert_allclose(sorted([short**2, long**2]), np.linalg.eigvalsh(seen), rtol=1e-6)
        np.testing.assert_allclose(seen @ along, long**2 * along, rtol=1e-5, atol=1e-6)
    packed = found.packed(blocks)["ellipses"]
    parts = in_page(blocks, packed["parts"]).reshape(-1, 3) / 255
    span = (found.at.max(axis=0) - found.at.min(axis=0)).max()
    np.testing.assert_allclose(parts[:, :2] ** 2 * packed["most"] * span, found.ellipses[:, :2], rtol=0.02)
    assert 0.01 <= packed["drawn"] <= 1


def test_discs_where_the_map_is_bent() -> None:
    embedding = gaussians()
    found = placed(embedding, "tsne")
    assert not found.exact and found.ellipses is not None and embedding.std is not None
    for i in range(len(embedding)):
        mean = sum(float(x) ** 2 for x in embedding.std[i]) / embedding.dim
        assert found.ellipses[i] == pytest.approx([mean**0.5, mean**0.5, 0])


def test_which_method_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert placed(points(40)).method.startswith("t-SNE")
    assert placed(points(3)).method.startswith("PCA")
    assert placed(gaussians()).method.startswith("PCA")
    assert placed(points(6000, 3)).method.startswith("PCA")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert placed(points(400)).method.startswith("PCA")  # without the extra `viz`
    with pytest.raises(InputError, match="method='umap' is not one of auto, pca, tsne"):
        placed(points(), "umap")


# -------------------------------------------------------------------- nearest


def naive_nearest(numbers: npt.NDArray[Any], facts: dict[str, Any], row: int) -> list[tuple[int, float]]:
    """What the page computes, by loops."""
    vectors = numbers.reshape(-1, facts["width"]).astype(float) * facts["unit"]
    scores = []
    for i in range(len(vectors)):
        dot = sum(a * b for a, b in zip(vectors[i], vectors[row], strict=True))
        distance = sum((a - b) ** 2 for a, b in zip(vectors[i], vectors[row], strict=True)) ** 0.5
        scores.append((-dot if facts["metric"] == "cosine" else distance, i))
    best = sorted(x for x in scores if x[1] != row)[:10]
    return [(i, -x if facts["metric"] == "cosine" else x) for x, i in best]


@pytest.mark.parametrize("embedding", [points(), gaussians()])
def test_the_page_finds_the_nearest_that_the_embedding_does(embedding: Embedding) -> None:
    blocks = Blocks()
    facts = packed_vectors(embedding, blocks)
    numbers = in_page(blocks, facts["numbers"])
    assert numbers.dtype == np.int16 and facts["width"] == facts["of"]
    assert facts["kept"] == pytest.approx(1)
    for row in range(0, 30, 3):
        expected = embedding.nearest(embedding.nodes[row])
        found = naive_nearest(numbers, facts, row)
        assert [embedding.nodes[i] for i, _ in found] == [label for label, _ in expected]
        assert [x for _, x in found] == pytest.approx([x for _, x in expected], abs=5e-4)


def test_vectors_that_are_too_many_are_shortened() -> None:
    vectors = rng().normal(size=(400, 20)) * np.r_[np.full(4, 5.0), np.full(16, 0.3)]
    embedding, blocks = Embedding(range(400), vectors), Blocks()
    small = packed_vectors(embedding, blocks, most=400 * 20)
    assert in_page(blocks, small["numbers"]).dtype == np.int8 and small["width"] == 20
    short = packed_vectors(embedding, blocks, most=400 * 4)
    numbers = in_page(blocks, short["numbers"])
    assert (short["width"], short["of"], len(numbers)) == (4, 20, 1600)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    s = np.linalg.svd(unit, compute_uv=False)
    assert short["kept"] == pytest.approx(float((s[:4] ** 2).sum() / (s**2).sum()), rel=1e-5)
    for row in (0, 9):
        found, expected = naive_nearest(numbers, short, row), embedding.nearest(row)
        assert len({i for i, _ in found} & {i for i, _ in expected}) >= 4
    assert packed_vectors(Embedding("ab", [[0, 0], [0, 0]]), blocks)["unit"] > 0


# -------------------------------------------------------------------- columns


def test_classes_come_by_size_and_the_rest_last() -> None:
    embedding = Embedding("abcdef", np.ones((6, 1)))
    given = {"a": "small", "b": ("large", "other"), "c": ["large"], "d": {"large"}, "e": (), "unknown": "x"}
    column = Classes.of("group", embedding, given)
    assert column.names == ("large", "small") and column.codes.tolist() == [1, 0, 0, 0, 2, 2]
    blocks = Blocks()
    packed = column.packed(blocks)
    assert packed["counts"] == [3, 1, 2]
    assert in_page(blocks, packed["codes"]).tolist() == [1, 0, 0, 0, 2, 2]
    with pytest.raises(InputError, match="the labels 'group' give no node a class; .* as a$"):
        Classes.of("group", embedding, {"z": 1})


def test_many_classes_have_16_bits() -> None:
    embedding, blocks = Embedding(range(700), np.ones((700, 1))), Blocks()
    packed = Classes.of("own", embedding, {i: i for i in range(700)}).packed(blocks)
    codes = in_page(blocks, packed["codes"])
    assert codes.dtype == np.uint16 and [packed["classes"][c] for c in codes] == [str(i) for i in range(700)]


@pytest.mark.parametrize("values", [[0.0, 1.5, 4.0], [1.0, 2.0, 3.0, 5000.0], [0.0, 0.0, 0.0, 7.0], [3.0, 3.0]])
def test_numbers_come_back_by_the_scale(values: list[float]) -> None:
    blocks = Blocks()
    packed = Numbers("x", np.array(values)).packed(blocks)
    parts = in_page(blocks, packed["values"]) / 65535
    low, high, unit = packed["low"], packed["high"], packed["unit"]
    for part, value in zip(parts, values, strict=True):
        if unit is None:
            back = low + (high - low) * part
        else:
            first, last = np.log1p(low / unit), np.log1p(high / unit)
            back = unit * np.expm1(first + (last - first) * part)
        assert back == pytest.approx(value, rel=2e-3, abs=1e-4)


def test_what_a_model_can_be_coloured_by() -> None:
    graph = scattered()
    embedding = Embedding([*graph.nodes, "stranger"], rng().normal(size=(graph.n_nodes + 1, 3)))
    found = columns_of(embedding, embedding, graph, {"half": {x: i % 2 for i, x in enumerate(graph.nodes)}})
    assert [x.name for x in found] == ["half", "degree", "length of the vector"]
    degree = found[1]
    assert isinstance(degree, Numbers)
    assert degree.values.tolist() == [*(float(len(graph.neighbors(x))) for x in graph.nodes), 0.0]
    flat = Embedding("ab", [[0, 1], [1, 0]], [[1, 1], [2, 1]])
    names = [x.name for x in columns_of(flat, flat, None, {})]
    assert names == ["uncertainty"]  # vectors of one length are no column
    width = columns_of(flat, flat, None, {})[0]
    assert isinstance(width, Numbers) and width.values.tolist() == flat.uncertainty(["a", "b"]).tolist()  # type: ignore[union-attr]


def hypergraph() -> nf.Hypergraph:
    tuples = [(("user", u), ("film", f)) for u in range(6) for f in range(5) if (u + f) % 2]
    types = {x: x[0] for edge in tuples for x in edge}
    return nf.Hypergraph.from_tuples(tuples, types)


def test_types_are_a_column() -> None:
    known = hypergraph()
    embedding = Embedding(known.nodes, rng().normal(size=(known.n_nodes, 3)))
    column = columns_of(embedding, embedding, known, {})[0]
    assert isinstance(column, Classes) and column.name == "type"
    assert [column.names[c] for c in column.codes] == list(known.node_types)


# -------------------------------------------------------------------- facts and tables


@pytest.fixture(scope="module")
def sdne() -> nf.SDNE:
    return nf.SDNE(dim=4, hidden=(6,), epochs=5).fit(karate(), progress=False)


def test_parameters_say_what_was_changed(sdne: nf.SDNE) -> None:
    rows = {row["name"]: row for row in parameters(sdne)}
    assert rows["dim"]["value"] == "4" and rows["dim"]["changed"] and not rows["seed"]["changed"]
    assert rows["hidden"]["value"] == "6" and len(rows["alpha"]["help"]) > 10
    assert parameters(points()) == []


def test_losses_are_thinned_evenly() -> None:
    model = nf.SDNE()
    model.history_ = [
        {"epoch": i + 1, "a": float(i), "b": 1.0, "objective": i + 1.0, "seconds": 0.1} for i in range(1000)
    ]
    found = losses(model)
    assert len(found["epochs"]) == 400 and found["epochs"][0] == 1 and found["epochs"][-1] == 1000
    assert list(found["terms"]) == ["objective", "b", "a"]
    assert found["terms"]["a"] == [e - 1 for e in found["epochs"]]
    assert max(np.diff(found["epochs"])) <= 3
    assert losses(points()) == {"epochs": [], "terms": {}}
    model.history_[0]["a"] = float("nan")
    assert losses(model)["terms"]["a"][0] is None  # json has no such number
    assert dict(cost(model_with_network(model), points()))["training"] == "1 min 40 s"


def model_with_network(model: Any) -> Any:
    import torch

    model.network_ = torch.nn.Linear(3, 2)
    return model


def test_cost_counts_numbers_and_bytes(sdne: nf.SDNE) -> None:
    found = dict(cost(sdne, sdne.embedding_))
    count = sum(x.numel() for x in sdne.network_.state_dict().values())
    assert found["numbers in the network"] == f"{count:,}" and found["memory of the vectors"] == "544 bytes"
    assert found["epochs"] == "5"
    assert dict(cost(points(), points())) == {"memory of the vectors": "600 bytes"}


def test_facts_of_data() -> None:
    found = dict(data_facts(scattered()))
    assert found["nodes without an edge"] == "2" and found["nodes"] == str(scattered().n_nodes)
    typed = dict(data_facts(hypergraph()))
    assert typed["types"] == "user 6, film 5" and typed["hyperedges"] == "15"


def test_a_table_is_what_evaluate_says(sdne: nf.SDNE) -> None:
    graph = karate()
    made = table("reconstruction", graph_tasks(graph)["reconstruction"], {"SDNE": sdne, "points": sdne.embedding_})
    expected = evaluate.reconstruction(sdne, graph, k=[100], nodes=34, per_positive=1)
    assert made["figures"] == list(expected.figures)
    rows = {row["name"]: row for row in made["rows"]}
    assert rows["SDNE"]["values"] == rows["points"]["values"] == list(expected.figures.values())
    assert rows["spectral"]["values"] == list(expected.baselines["spectral"].values())
    assert [row["of"] for row in made["rows"][:3]] == ["model", "model", "baseline"]
    assert "score cosine" in made["protocol"]


def test_what_cannot_be_measured_says_why(sdne: nf.SDNE) -> None:
    other = Embedding(range(5), np.eye(5))
    made = table("reconstruction", graph_tasks(karate())["reconstruction"], {"other": other, "SDNE": sdne})
    assert made["rows"][0]["name"] == "SDNE" and made["rows"][1]["of"] == "baseline"
    assert made["notes"][0].startswith("other: no node is labelled")
    none = table("x", graph_tasks(karate())["reconstruction"], {"other": other})
    assert none["rows"] == [] and len(none["notes"]) == 1


def test_tasks_of_labels_take_several_classes() -> None:
    embedding = points(20)
    one = {f"node {i}": i % 2 for i in range(20)}
    several = {f"node {i}": (i % 2, 2) for i in range(20)}
    assert list(label_tasks(one, None)) == ["classification", "clustering"]
    assert list(label_tasks(several, None)) == ["classification"]
    made = table("classes", label_tasks(one, None)["classification"], {"points": embedding})
    assert made["figures"] == ["micro-F1@10%", "macro-F1@10%", "micro-F1@50%", "macro-F1@50%"]
    assert made["rows"][-1]["name"] == "most frequent classes" and made["rows"][0]["spread"][0] is not None


def test_large_data_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from netfold.report import tables

    monkeypatch.setattr(tables, "_NODES", 10)
    assert graph_tasks(karate()) == {} and tuple_tasks(hypergraph()) == {}
    monkeypatch.setattr(tables, "_NODES", 100)
    monkeypatch.setattr(tables, "_WHOLE", 20)
    monkeypatch.setattr(tables, "_SOME", 8)
    monkeypatch.setattr(tables, "_COMPARED", 20)
    monkeypatch.setattr(tables, "_TUPLES", 4)
    monkeypatch.setattr(tables, "_LABELLED", 12)
    tasks = graph_tasks(karate())
    assert "regular equivalence" not in tasks
    made = tasks["reconstruction"](Embedding(range(34), rng().normal(size=(34, 3))), True)
    assert made.protocol["nodes"] == 8 and not made.baselines
    known = hypergraph()
    vectors = Embedding(known.nodes, rng().normal(size=(known.n_nodes, 3)))
    assert tuple_tasks(known)["reconstruction of hyperedges"](vectors, True).protocol["positives"] == 4
    told = label_tasks({i: i % 2 for i in range(34)}, None)["classification"](Embedding(range(34), np.eye(34)), False)
    assert told.protocol["labelled nodes"] == 12


# -------------------------------------------------------------------- the page


def test_the_policy_names_the_script_and_the_style(tmp_path: Path) -> None:
    page = written(tmp_path, Sheet("points", points()), method="pca")
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])  # type: ignore[index]
    assert policy.startswith("default-src 'none';")
    for source, tag in (("script-src", 'script type="module"'), ("style-src", "style")):
        inline = re.search(rf"<{tag}>(.*?)</{tag.split()[0]}>", page, re.DOTALL)[1]  # type: ignore[index]
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert f"{source} 'sha256-{digest}'" in policy
    assert "unsafe" not in policy and "http" not in policy
    assert len(re.findall(r"<script", page)) == 2 + len(re.findall(r'type="text/plain"', page))
    assert not re.search(r"\son\w+=", page.split("<script")[0])


def test_the_scripts_are_those_in_the_folder_and_evaluate_nothing() -> None:
    folder = Path(document.__file__).parent / "assets"
    assert {path.stem for path in folder.glob("*.js")} == set(document._SCRIPTS)
    for path in folder.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert text.startswith('"use strict";\n')
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|fetch\(", text)
        assert "</script" not in text and max(map(len, text.splitlines())) <= 120
    assert "://" not in (folder / "report.css").read_text(encoding="utf-8")


def test_labels_are_never_markup(tmp_path: Path) -> None:
    embedding = Embedding([HOSTILE, "<!--", "b", "c"], rng().normal(size=(4, 3)))
    classes = {HOSTILE: HOSTILE, "b": "<script>alert(2)</script>", "c": "{{script}}"}
    page = written(tmp_path, Sheet(HOSTILE, embedding, labels={HOSTILE: classes}), title=HOSTILE, evaluate=False)
    assert HOSTILE not in page and "<img" not in page and "<!--" not in page and "alert(2)</script>" not in page
    facts = facts_of(page)
    assert facts["title"] == facts["sheets"][0]["name"] == HOSTILE
    assert unpacked(page, facts["sheets"][0]["labels"]).split("\n")[0] == HOSTILE
    assert set(facts["sheets"][0]["columns"][0]["classes"]) == set(classes.values())


def test_the_same_report_has_the_same_bytes(tmp_path: Path, sdne: nf.SDNE) -> None:
    sheet = Sheet("SDNE", sdne, karate())
    first = written(tmp_path, sheet)
    assert first == written(tmp_path, sheet, force=True)
    facts = facts_of(first)
    assert [x["title"] for x in facts["tables"]] == ["reconstruction", "regular equivalence"]
    ends = unpacked(first, facts["sheets"][0]["links"]).reshape(-1, 2)
    assert {frozenset(x) for x in ends.tolist()} == {
        frozenset((u, v)) for u in range(34) for v in karate().neighbors(u) if u != v
    }
    assert facts["data"][0]["of"] == ["SDNE"] and facts["data"][0]["notes"] == []


def test_models_of_the_same_data_share_tables(tmp_path: Path, sdne: nf.SDNE) -> None:
    other = Embedding(range(34), rng().normal(size=(34, 4)))
    known = hypergraph()
    tuples = Embedding(known.nodes, rng().normal(size=(known.n_nodes, 3)))
    less = nf.Graph.from_edges([(0, 1), (1, 2), (2, 3)], nodes=range(34))
    sheets = [Sheet("SDNE", sdne, karate()), Sheet("other", other, karate()), Sheet("tuples", tuples, known)]
    facts = facts_of(written(tmp_path, *sheets, method="pca"))
    titles = [x["title"] for x in facts["tables"]]
    assert titles == [
        "reconstruction · SDNE, other",
        "regular equivalence · SDNE, other",
        "reconstruction of hyperedges · tuples",
    ]
    assert [x["of"] for x in facts["data"]] == [["SDNE", "other"], ["tuples"]]
    moved = facts_of(written(tmp_path, Sheet("SDNE", sdne, less), evaluate=False, force=True))
    assert moved["data"][0]["notes"] == ["SDNE was fitted to other edges than these."] and moved["tables"] == []


@pytest.mark.parametrize("name", ["sdne", "drne", "dvne", "node2vec", "line"])
def test_every_model_of_a_graph_has_its_page(tmp_path: Path, name: str) -> None:
    model = nf.MODELS[name](dim=4, epochs=1).fit(karate(), progress=False)
    sheet = facts_of(written(tmp_path, Sheet(name, model, karate()), method="pca", evaluate=False))["sheets"][0]
    assert (sheet["nodes"], sheet["dim"], sheet["gaussian"]) == (34, 4, name == "dvne")
    assert sheet["losses"]["epochs"] == [1] and sheet["losses"]["terms"]["objective"] != [None]
    assert {row["name"] for row in sheet["parameters"]} >= {"dim", "epochs", "seed"}
    assert {"training", "memory of the network"} <= {fact for fact, _ in sheet["cost"]}


def test_uncertainty_is_measured_where_there_is_one(tmp_path: Path) -> None:
    draw = rng()
    wide = Embedding(range(34), draw.normal(size=(34, 3)), draw.uniform(1, 2, size=(34, 3)))
    facts = facts_of(written(tmp_path, Sheet("wide", wide, karate()), method="pca"))
    found = next(x for x in facts["tables"] if x["title"] == "uncertainty")
    expected = evaluate.uncertainty(wide, karate()).figures["Spearman"]
    assert found["rows"][0]["values"] == [expected]
    assert facts["sheets"][0]["gaussian"] and facts["sheets"][0]["vectors"]["metric"] == "W2"


def test_what_is_refused(tmp_path: Path, sdne: nf.SDNE) -> None:
    path = tmp_path / "report.html"
    with pytest.raises(InputError, match="no model is given"):
        write([], path)
    with pytest.raises(InputError, match="two sheets are called 'a'"):
        write([Sheet("a", sdne), Sheet("a", points())], path)
    with pytest.raises(InputError, match="method='x'"):
        write([Sheet("a", sdne)], path, method="x")
    with pytest.raises(InputError, match="this SDNE has no vectors"):
        Sheet("a", nf.SDNE())
    with pytest.raises(InputError, match="have no node in common"):
        Sheet("a", points(), karate())
    with pytest.raises(InputError, match="is not a folder"):
        write([Sheet("a", sdne)], tmp_path / "none" / "report.html")
    assert not path.exists()
    path.write_text("mine")
    with pytest.raises(InputError, match="exists"):
        write([Sheet("a", sdne)], path)
    assert path.read_text() == "mine"


# -------------------------------------------------------------------- the command


def netfold(*args: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sdne: nf.SDNE) -> Path:
    monkeypatch.chdir(tmp_path)
    sdne.save("sdne.netfold")
    sdne.embedding_.save("vectors.npz")
    edges = karate().adjacency.tocoo()
    rows = [f"{u},{v},{w:g}" for u, v, w in zip(*edges.coords, edges.data, strict=True) if u <= v]
    Path("edges.csv").write_text("\n".join(rows))
    Path("faction.csv").write_text("\n".join(f"{i},{'ab'[i % 2]}" for i in range(34)))
    return tmp_path


def test_the_command_writes_a_page(folder: Path) -> None:
    asked = ("report", "sdne.netfold", "vectors.npz", "-o", "r.html", "--edges", "edges.csv", "--labels", "faction.csv")
    result = netfold(*asked, "--title", "Karate", "--json")
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert said["models"] == ["SDNE", "vectors"] and said["nodes"] == [34, 34]
    assert said["bytes"] == Path("r.html").stat().st_size
    facts = facts_of(Path("r.html").read_text())
    assert facts["title"] == "Karate" and facts["data"][0]["notes"] == []
    assert [x["name"] for x in facts["sheets"][0]["columns"]] == ["faction", "degree", "length of the vector"]
    assert {x["title"] for x in facts["tables"]} == {
        "reconstruction", "regular equivalence", "classification by faction", "clustering by faction",
    }  # fmt: skip


def test_the_command_names_models_of_a_kind_by_their_paths(folder: Path, sdne: nf.SDNE) -> None:
    sdne.save("again.netfold")
    result = netfold("report", "sdne.netfold", "again.netfold", "-o", "r.html", "--method", "pca")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("sdne.netfold of 34 nodes, again.netfold of 34 nodes; ")


def test_the_command_reads_edges_as_it_is_told(folder: Path) -> None:
    Path("edges.txt").write_text(Path("edges.csv").read_text().replace(",", ";"))
    asked = ("report", "vectors.npz", "-o", "r.html", "--edges", "edges.txt", "--no-evaluate", "--method", "pca")
    assert netfold(*asked, "--delimiter", ";", "--unweighted").exit_code == 0
    facts = dict(facts_of(Path("r.html").read_text())["data"][0]["facts"])
    assert facts["weighted"] == "no" and facts["edges"] == "78"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], "missing argument 'MODEL...'"),
        (["none.netfold"], "none.netfold"),
        (["sdne.netfold", "--labels", "none.csv"], "--labels none.csv names no file"),
        (["sdne.netfold", "--edges", "none.csv"], "none.csv"),
        (["vectors.npz", "--edges", "edges.csv", "--edges", "edges.csv"], "--edges is given 2 times"),
        (["sdne.netfold", "--labels", "edges.csv"], "edges.csv, line 1"),
        (["sdne.netfold", "sdne.netfold"], "two sheets are called"),
        (["sdne.netfold", "--edges", "edges.csv", "--skip-loops"], "--skip-loops has no meaning"),
    ],
)
def test_what_the_command_refuses(folder: Path, args: list[str], words: str) -> None:
    result = netfold("report", *args, "-o", "r.html")
    assert result.exit_code == 2 and words in result.stderr.replace("\n", " "), result.stderr
    assert len(result.stderr.splitlines()) == 1 and not Path("r.html").exists()


def test_types_are_spelled_in_a_file_of_labels(folder: Path) -> None:
    known = hypergraph()
    model = nf.DHNE(dim=3, epochs=1).fit(known, progress=False)
    model.save("dhne.netfold")
    names = [f"{kind}:{i}" for kind, i in known.nodes]
    Path("kinds.csv").write_text("\n".join(f"{name},{'xy'[k % 2]}" for k, name in enumerate(names)))
    result = netfold("report", "dhne.netfold", "-o", "r.html", "--labels", "kinds.csv", "--no-evaluate")
    assert result.exit_code == 0, result.output
    facts = facts_of(Path("r.html").read_text())
    assert [x["name"] for x in facts["sheets"][0]["columns"][:2]] == ["kinds", "type"]
    assert unpacked(Path("r.html").read_text(), facts["sheets"][0]["labels"]).split("\n") == names
    Path("kinds.csv").write_text("user:99,x\nuser:1,y\n")
    refused = netfold("report", "dhne.netfold", "-o", "s.html", "--labels", "kinds.csv")
    assert refused.exit_code == 2 and "no node is called user:99" in refused.stderr
