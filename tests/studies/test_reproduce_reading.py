"""A published table is read strictly: what is wrong in its file is named with the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from netfold.errors import InputError
from netfold.studies import reproduce
from netfold.studies.reproduce import read_table
from netfold.studies.reproduce.parsing import parse
from netfold.studies.reproduce.table import COST
from published_tables import DECODER, RECORDED, TEXT


def test_a_table_is_read_as_it_is_written(tiny: reproduce.Table) -> None:
    assert (tiny.name, tiny.paper, tiny.figures) == ("tiny", "SDNE", ("MAP", "precision@20", COST))
    assert tiny.data.name == "sbm" and tiny.data.options == {"sizes": [12, 12], "p_in": 0.5, "p_out": 0.05}
    assert tiny.task.name == "reconstruction" and tiny.task.arguments == {"k": [20]}
    assert tiny.published["SDNE"] == {"MAP": 0.5, "precision@20": 1.0}
    assert [row.name for row in tiny.rows] == ["vectors", DECODER]
    assert tiny.rows[0].target == {"MAP": 0.01} and tiny.rows[1].published == ""
    assert tiny.quick.task == {"k": [10]} and tiny.recorded is None and tiny.status == ""


BAD: dict[str, tuple[str, str, str]] = {
    "no TOML": ("title = ", "title = = ", "not a TOML file"),
    "unknown key": ("notes =", "note =", "did you mean 'notes'"),
    "unknown key of a row": ("guess =", "gess =", "'gess'"),
    "unknown key of quick": ("[quick]\n", "[quick]\nepoch = 1\n", "[quick]: there is no key 'epoch'"),
    "missing title": ('title = "Two blocks, reconstruction"', "", "'title' is missing"),
    "missing data": ('[data]\nname = "sbm"', "[data]", "[data]: the key 'name' is missing"),
    "title of a wrong type": ('title = "Two blocks, reconstruction"', "title = 3", "title is 3; it should be text"),
    "figures of a wrong type": ('figures = ["MAP", "precision@20", "fit CPU-s"]', 'figures = "MAP"', "figures"),
    "published text": ("LINE = { MAP = 0.4 }", 'LINE = { MAP = "0.4" }', "'MAP' is '0.4'"),
    "published truth": ("LINE = { MAP = 0.4 }", "LINE = { MAP = true }", "'MAP' is True"),
    "published nan": ("LINE = { MAP = 0.4 }", "LINE = { MAP = nan }", "finite number"),
    "published of an unknown figure": ("LINE = { MAP = 0.4 }", "LINE = { MAPP = 0.4 }", "did you mean 'MAP'"),
    "target of an unknown figure": ("target = { MAP = 0.01 }", "target = { AUC = 0.01 }", "'AUC'"),
    "beside an unknown method": ('published = "SDNE"', 'published = "SDN"', "did you mean 'SDNE'"),
    "two rows of a name": ("name = 'the \"decoder\", as it is'", 'name = "vectors"', "same name"),
    "rows of a wrong type": ("[[rows]]\nname = \"vectors\"", "[rows]\nname = \"vectors\"", "TOML"),
    "a row without a model": ('name = "vectors"\nmodel = "sdne"', 'name = "vectors"', "[rows, number 1]: the key"),
    "a model that is none": ('model = "sdne"', 'model = "sdnn"', "model = 'sdnn'"),
    "an option that is none": ("dim = 4,", "dims = 4,", "no option 'dims'"),
    "an option out of bounds": ("dim = 4,", "dim = 0,", "dim=0"),
    "a quick option out of bounds": ("epochs = 1", "epochs = -1", "epochs=-1"),
}  # fmt: skip


@pytest.mark.parametrize("old, new, said", BAD.values(), ids=BAD)
def test_what_is_wrong_in_a_file_is_named_with_the_file(old: str, new: str, said: str) -> None:
    assert TEXT.count(old)
    with pytest.raises(InputError) as e:
        parse(Path("some/tiny.toml"), TEXT.replace(old, new))
    assert "some/tiny.toml" in str(e.value) and said in str(e.value) and "\n" not in str(e.value)


@pytest.mark.parametrize(
    "old, new, said",
    [
        ('"2026-11-30"', '"yesterday"', "2026-11-30"),
        ("seeds = [0, 1]", "seeds = []", "seeds"),
        ("seeds = [0, 1]", "seeds = [0.5]", "seeds"),
        ("seconds = 3.5", "", "seconds"),
        ('settings = "ab"', "", "[recorded.rows.vectors]: the key 'settings' is missing"),
        ("mean = { MAP = 0.5 }", "mean = { MAP = 0.5 }\nmode = {}", "'mode'"),
    ],
)
def test_what_is_wrong_in_the_recorded_part_is_named(old: str, new: str, said: str) -> None:
    assert parse(Path("x.toml"), TEXT + RECORDED).recorded is not None
    with pytest.raises(InputError) as e:
        parse(Path("x.toml"), TEXT + RECORDED.replace(old, new))
    assert said in str(e.value)


def test_a_table_without_rows_says_why() -> None:
    bare = TEXT[: TEXT.index("[[rows]]")]
    with pytest.raises(InputError, match="no rows"):
        parse(Path("x.toml"), bare)
    assert parse(Path("x.toml"), 'status = "no edges"\n' + bare).status == "no edges"


def test_files_that_cannot_be_tables(tmp_path: Path) -> None:
    for content in (b"\xff\xfe", b"#" * ((1 << 20) + 1)):
        (tmp_path / "x.toml").write_bytes(content)
        with pytest.raises(InputError, match="x.toml"):
            read_table(tmp_path / "x.toml")
    with pytest.raises(InputError, match="cannot be read"):
        read_table(tmp_path / "nowhere.toml")
