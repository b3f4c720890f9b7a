"""`read_hyperedges`: files with one hyperedge per line, a column for each role, as a Hypergraph."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from netfold.data.arrays import Ints
from netfold.data.hypergraph import Hypergraph
from netfold.data.kinds import Kind
from netfold.data.nodes import typed_nodes
from netfold.data.reading import HyperedgeReading
from netfold.errors import InputError
from netfold.io.hyperedge_files import HyperedgeFile, opened_file
from netfold.io.roles import Columns
from netfold.io.source import refusal
from netfold.io.typed_rows import TypeNodes

__all__ = ["read_hyperedges"]

Path = str | os.PathLike[str]


def read_hyperedges(
    path: Path | Sequence[Path],
    *,
    columns: Sequence[str | None] | Mapping[str, str] | None = None,
    delimiter: str | None = None,
    header: bool = True,
    skip_loops: bool = False,
) -> Hypergraph:
    """The hypergraph in a file with one hyperedge per line: a column for each role, its name in the first line.

    A column called `user` is a role of that name, played by nodes of the type "user"; one called `head:entity` is the
    role head, played by nodes of the type "entity". Columns of one type share their nodes, in one file or in several;
    each file of a list is a kind of hyperedges, or those with the same columns are. Text separated by commas,
    semicolons, tabs or blanks, plain or compressed (gzip, zstd), or parquet, as for `read_edges`.

    Without `columns`, every column that holds nodes is a role: columns of times, of measures (amount, rating, decimals)
    and of row numbers are passed over where three others are left, and two ends with a relation (head, relation, tail)
    are roles whose ends are of the type "entity". `reading` says what was read.

    - `columns` chooses: names of columns, each perhaps with a type ("user", "head:entity"), or a dict from the name of
      a column to the role it is to be ({"userId": "user", "from": "head:entity"}). Others are passed over. Of several
      files, each has those that it has.
    - `header=False` says that no line names the columns: `columns` then does, all of them, None for one to pass over.
    - `delimiter` is one character, " " for any run of blanks and tabs; None finds it out.
    - A hyperedge that names a node twice (in two roles of one type) is refused or, with `skip_loops`, left out.

    The nodes of a type are integers where all of them are written as such, and then in ascending order; strings, as
    they first appear, where not (in parquet the types of the columns decide). Nodes come type after type. With more
    than one type a node is (type, name), since user 1 and movie 1 are different nodes. A hyperedge listed
    twice counts twice. Whatever is wrong with a file is said in one `InputError` that names the line.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "tags.csv")
    >>> _ = path.write_text("user,movie,tag\\n1,1,drama\\n2,1,slow\\n")
    >>> read_hyperedges(path).edges[0]
    (('user', 1), ('movie', 1), ('tag', 'drama'))
    """
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    if not paths:
        raise InputError("no file is given; read_hyperedges takes the name of a file, or a list of names")
    wanted = Columns.of(columns, header)
    files = [opened_file(each, wanted, delimiter) for each in paths]
    wanted.check_found(files)
    nodes = {name: TypeNodes() for file in files for name in file.types}
    codes = [file.read(nodes) for file in files]
    return _assembled(files, codes, nodes, skip_loops)


def _assembled(
    files: Sequence[HyperedgeFile], codes: Sequence[npt.NDArray[np.int32]], by_type: dict[str, TypeNodes], skip: bool
) -> Hypergraph:
    """The hypergraph of rows whose nodes are numbered within their types."""
    done = {name: each.finish() for name, each in by_type.items()}
    counts = [len(each) for each, _ in done.values()]
    starts = dict(zip(done, np.cumsum([0, *counts]).tolist(), strict=False))
    of_type = {name: each for name, (each, _) in done.items()}
    nodes = typed_nodes(of_type) if len(of_type) > 1 else next(iter(of_type.values()))
    kinds = []
    for file, numbers in zip(files, codes, strict=True):
        rows = np.empty(numbers.shape, np.int64)
        for j, name in enumerate(file.types):
            rank = done[name][1]
            np.add(numbers[:, j] if rank is None else rank[numbers[:, j]], starts[name], out=rows[:, j])
        kinds.append(Kind(file.roles, file.types, _without_loops(file, rows, skip)))
    if not any(map(len, kinds)):
        raise refusal(files[0].path, "every hyperedge names a node twice, so that none is left")
    node_types = np.repeat(np.arange(len(counts)), counts)
    hypergraph = Hypergraph.from_kinds(kinds, nodes=nodes, node_types=node_types, types=tuple(done))
    object.__setattr__(hypergraph, "reading", _reading(files, sum(map(len, codes)), hypergraph.n_edges))
    return hypergraph


def _reading(files: Sequence[HyperedgeFile], rows: int, edges: int) -> HyperedgeReading:
    roles = [r if r == t else f"{r}:{t}" for file in files for r, t in zip(file.roles, file.types, strict=True)]
    over = [name for file in files if len(file.names) > len(file.roles) for name in file.names
            if name not in file.read_names]  # fmt: skip
    time = next((file.time for file in files if file.time is not None and file.time in over), None)
    return HyperedgeReading(tuple(dict.fromkeys(roles)), tuple(dict.fromkeys(over)), rows, edges, time, len(files))


def _without_loops(file: HyperedgeFile, rows: Ints, skip: bool) -> Ints:
    """The rows that name each node once; the first that does not is refused unless such are to be skipped."""
    loops = np.zeros(len(rows), bool)
    for a, b in combinations(range(len(file.types)), 2):
        if file.types[a] == file.types[b]:
            loops |= rows[:, a] == rows[:, b]
    if not loops.any():
        return rows
    if skip:
        return rows[~loops]
    at = int(np.argmax(loops))
    problem = "the hyperedge names a node twice; name each once, or leave such hyperedges out with skip_loops=True"
    raise file.refusal_at(at, problem)
