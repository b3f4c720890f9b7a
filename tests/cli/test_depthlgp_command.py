"""DepthLGP on the command line, over vectors from files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from command import sentences
from netfold.cli import main
from netfold.data.embedding import Embedding


def test_fit_and_transform_on_the_command_line(tmp_path: Path, blocks, vectors, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{a},{b}" for a, b in blocks.to_networkx().edges]
    Path("edges.csv").write_text("\n".join(rows) + "\n")
    Path("tomorrow.csv").write_text("anna,0\nanna,1\nberta,anna\n")
    vectors.save("vectors.parquet")
    vectors.save("vectors.txt")
    for file in ("vectors.parquet", "vectors.txt"):
        said = CliRunner().invoke(
            main, ["fit", "depthlgp", "edges.csv", "--embedding", file, "-o", "m", "--force", "--epochs", "1",
                  "--samples", "16", "-q", "--json"]
        )  # fmt: skip
        assert said.exit_code == 0, said.output
        assert json.loads(said.stdout)["dim"] == 6
    said = CliRunner().invoke(main, ["transform", "m", "tomorrow.csv", "-o", "new.parquet"])
    assert said.exit_code == 0, said.output
    assert said.stderr == "read tomorrow.csv: column 1 - column 2; 3 rows, 3 edges\n"
    new = Embedding.load("new.parquet")
    assert sorted(new.nodes) == ["anna", "berta"] and new.std is not None
    Path("lost.csv").write_text("anna,0\ncarl,dora\n")
    said = CliRunner().invoke(main, ["transform", "m", "lost.csv", "-o", "lost.npz"])
    assert said.exit_code == 0
    told = sentences(said.stderr)
    assert told.startswith("netfold: 'carl', 'dora': no path to any known node") and told.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("", "missing option '--embedding'"),
        ("--embedding nowhere.parquet", "nowhere.parquet"),
        ("--embedding edges.csv", "3: in the graph, but without a vector"),
        ("--embedding few.npz", "in the graph, but without a vector in the embedding"),
    ],
)
def test_a_wrong_embedding_is_one_sentence_on_the_command_line(tmp_path: Path, monkeypatch, args, said):
    monkeypatch.chdir(tmp_path)
    Path("edges.csv").write_text("1,2\n2,3\n")
    Embedding([1, 2], [[1.0], [2.0]]).save("few.npz")
    found = CliRunner().invoke(main, ["fit", "depthlgp", "edges.csv", "-o", "m", *args.split()])
    assert found.exit_code == 2 and said in found.output and "Traceback" not in found.output
    assert not Path("m").exists()
