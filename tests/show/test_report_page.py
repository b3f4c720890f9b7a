"""The page of a report: its policy is kept, no label is markup, models of the same data stand together."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from pathlib import Path

import pytest

import netfold as nf
from netfold import evaluate
from netfold.data.embedding import Embedding
from netfold.errors import InputError
from netfold.show.report import Sheet, document, write
from report_pages import HOSTILE, facts_of, hypergraph, points, rng, unpacked, written
from zoo import karate


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
    page = written(tmp_path, Sheet(HOSTILE, embedding, classes={HOSTILE: classes}), title=HOSTILE, evaluate=False)
    assert HOSTILE not in page and "<img" not in page and "<!--" not in page and "alert(2)</script>" not in page
    facts = facts_of(page)
    assert facts["title"] == facts["sheets"][0]["name"] == HOSTILE
    assert unpacked(page, facts["sheets"][0]["names"]).split("\n")[0] == HOSTILE
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
    for odd in (sdne, [sdne]):
        with pytest.raises(InputError, match="an SDNE is none; give .nf.report.Sheet"):
            write(odd, path)  # type: ignore[arg-type]
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
