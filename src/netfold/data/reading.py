"""`Reading`: what was read of a table, in one line; and the two columns of one as two sides, users and items."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.data.checks import unique_values
from netfold.data.columns import ROLES, Roles
from netfold.data.nodes import Nodes
from netfold.data.text import counted, enumerated

__all__ = ["HyperedgeReading", "Reading", "apart", "missing_names", "shared_nodes", "twin_names", "types_alike"]


@dataclass(frozen=True)
class Reading:
    """Which columns of a table became what, how many rows there were, and what was passed over.

    >>> roles = {"source": "user_id", "target": "item", "time": "timestamp"}
    >>> print(Reading(roles, ("amount",), rows=50_461, edges=45_208, repeated=5_253, header=True))
    user_id - item, time timestamp; 50,461 rows, 45,208 edges (5,253 rows repeat an edge: one edge each); passed over: \
amount; line 1 is a header
    """

    roles: Mapping[str, str] = field(default_factory=dict)
    """From role to column: source, target, weight, time, type."""
    passed_over: tuple[str, ...] = ()
    """The columns that nothing was read of."""
    rows: int = 0
    edges: int = 0
    repeated: int = 0
    """Rows whose edge another row has already; an undirected edge in either direction."""
    summed: bool = False
    """Whether the weights of repeated rows were summed; otherwise they are one edge."""
    dropped: int = 0
    """Rows of weight 0, which are no edge."""
    header: bool | None = None
    """Whether line 1 names the columns; None where there are no lines."""
    undecided: bool = False
    """Whether nothing told if line 1 is a header, and it was taken for one because none of its cells occurs again."""
    files: int = 1
    format: str = ""
    """The name of a format that has no columns, such as GraphML."""
    bipartite: bool = False
    """Whether the two columns were read as two sides, each node called after its column (user:1)."""
    shared: int = 0
    """Nodes that both columns name and that are one node each, where the columns look like two sides."""
    missing: tuple[str, ...] = ()
    """Names of nodes that in many tables stand for a value that is missing: NA, null."""
    twins: str = ""
    """Two ways in which one number is written, each a node: '7' and '7.0'."""
    direction_lost: bool = False
    """Whether the file says that its edges have a direction (KONECT's asym), and they were read without."""

    @staticmethod
    def of(names: Sequence[str] | None, roles: Roles, width: int, **facts: Any) -> Reading:
        """What was read of columns with these names, or without."""
        called = [name or f"column {i + 1}" for i, name in enumerate(names or [""] * width)]
        by_role = {role: called[i] for role, i in zip(ROLES, roles, strict=True) if i is not None}
        over = tuple(name for i, name in enumerate(called) if i not in roles)
        return Reading(by_role, over, **facts)

    def counted(self, rows: int, edges: int, *, summed: bool, zeros: int = 0) -> Reading:
        """The same after so many rows became so many edges, `zeros` of them of weight 0."""
        repeated = max(0, rows - zeros - edges)
        return replace(self, rows=rows, edges=edges, repeated=repeated, dropped=zeros, summed=summed)

    @property
    def time(self) -> str | None:
        """The column of times."""
        return self.roles.get("time")

    @property
    def unused(self) -> tuple[str, ...]:
        """The columns that no edge keeps: those passed over, and the type."""
        return (*((self.roles["type"],) if "type" in self.roles else ()), *self.passed_over)

    def __str__(self) -> str:
        if self.format:
            return f"{self.format}, {counted(self.edges, 'edge', 'edges')}"
        parts = [self._columns(), self._rows()]
        if self.shared:
            parts.append(self.sides_said)
        if self.missing:
            names = enumerated(map(repr, self.missing))
            what = f"a node is called {names}" if len(self.missing) == 1 else f"nodes are called {names}"
            parts.append(f"{what}: where that is a missing value, leave those rows out")
        if self.twins:
            parts.append(f"{self.twins} are two nodes: write a number one way")
        if self.direction_lost:
            parts.append(self.direction_said)
        if self.unused:
            parts.append(f"passed over: {', '.join(self.unused)}")
        if self.undecided:
            parts.append("line 1 was taken for a header, as none of its cells occurs again (header=False, --no-header)")
        elif self.header:
            parts.append("line 1 is a header")
        return "; ".join(parts)

    @property
    def sides_said(self) -> str:
        """What became of nodes that both columns name, and how to say otherwise."""
        ends = enumerated(self.roles[role] for role in ("source", "target"))
        count = counted(self.shared, "node is", "nodes are")
        how = "bipartite=True (--bipartite) keeps two sides apart, bipartite=False (--no-bipartite) says they are one"
        return f"{count} in both {ends}, taken for the same: {how}"

    @property
    def direction_said(self) -> str:
        """That a direction was not kept, and how to keep it."""
        return "the file says that edges have a direction (asym), read without it: directed=True (--directed) keeps it"

    def _columns(self) -> str:
        ends = " - ".join(self.roles[role] for role in ("source", "target"))
        ends += " (two sides)" if self.bipartite else ""
        return ", ".join([ends, *(f"{role} {self.roles[role]}" for role in ("weight", "time") if role in self.roles)])

    def _rows(self) -> str:
        notes = []
        if self.repeated:
            what = "weights summed" if self.summed else "one edge each"
            notes.append(f"{counted(self.repeated, 'row repeats', 'rows repeat')} an edge: {what}")
        if self.dropped:
            notes.append(f"{counted(self.dropped, 'row', 'rows')} of weight 0 dropped")
        files = f" of {self.files:,} files" if self.files > 1 else ""
        beside = f" ({'; '.join(notes)})" if notes else ""
        return f"{counted(self.rows, 'row', 'rows')}{files}, {counted(self.edges, 'edge', 'edges')}{beside}"

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        facts: dict[str, Any] = {
            "roles": dict(self.roles), "passed_over": list(self.passed_over), "rows": self.rows, "edges": self.edges,
            "repeated": self.repeated, "summed": self.summed, "dropped": self.dropped, "header": self.header,
            "undecided": self.undecided, "files": self.files, "format": self.format,
        }  # fmt: skip
        seldom = {
            "bipartite": self.bipartite, "shared": self.shared, "missing": list(self.missing),
            "twins": self.twins, "direction_lost": self.direction_lost,
        }  # fmt: skip
        return facts | {name: value for name, value in seldom.items() if value}

    @staticmethod
    def from_dict(facts: Any) -> Reading:
        """What `to_dict` wrote; a ValueError where it did not."""
        try:
            roles = {str(role): str(column) for role, column in facts["roles"].items() if role in ROLES}
            values: dict[str, Any] = {x: int(facts[x]) for x in ("rows", "edges", "repeated", "dropped", "files")}
            values |= {x: bool(facts[x]) for x in ("summed", "undecided")}
            values["header"] = None if facts["header"] is None else bool(facts["header"])
            values |= {"format": str(facts["format"]), "bipartite": bool(facts.get("bipartite", False))}
            values |= {"shared": int(facts.get("shared", 0)), "direction_lost": bool(facts.get("direction_lost"))}
            values["twins"] = str(facts.get("twins", ""))
            values["missing"] = tuple(map(str, facts.get("missing", ())))
            reading = Reading(roles, tuple(map(str, facts["passed_over"])), **values)
            str(reading)
        except (KeyError, TypeError, AttributeError) as e:
            raise ValueError(f"graph.json does not say what was read ({e})") from None
        return reading


@dataclass(frozen=True)
class HyperedgeReading:
    """Which columns of files became roles of hyperedges, and what was passed over.

    >>> print(HyperedgeReading(("user", "movie", "tag"), ("timestamp",), rows=100, edges=98, time="timestamp"))
    user, movie, tag; 100 rows, 98 hyperedges (2 rows name a node twice: left out); passed over: timestamp
    """

    roles: tuple[str, ...]
    """As `read_hyperedges` takes them, each column once: head:entity where the type has another name."""
    passed_over: tuple[str, ...] = ()
    rows: int = 0
    edges: int = 0
    time: str | None = None
    """The column of times, which no hyperedge keeps."""
    files: int = 1
    header: bool = False
    """Whether line 1 names the roles, as it does in text unless told otherwise."""
    alike: tuple[str, ...] = ()
    """Two types whose nodes have the same names, though they were read as different nodes (`types_alike`)."""
    measures: tuple[str, ...] = ()
    """Columns of weights, measures or times whose values became nodes, as nobody said otherwise."""
    like_rows: bool = False
    """Whether line 1, which was taken for names of roles, looks like the lines below it."""

    def __str__(self) -> str:
        files = f" of {self.files:,} files" if self.files > 1 else ""
        counts = f"{counted(self.rows, 'row', 'rows')}{files}, {counted(self.edges, 'hyperedge', 'hyperedges')}"
        skipped = self.rows - self.edges
        notes = f" ({counted(skipped, 'row names', 'rows name')} a node twice: left out)" if skipped else ""
        over = f"; passed over: {', '.join(self.passed_over)}" if self.passed_over else ""
        line = "; line 1 is a header" if self.header else ""
        return "; ".join([f"{', '.join(self.roles)}; {counts}{notes}{over}{line}", *self.unsure])

    @property
    def unsure(self) -> list[str]:
        """What may have been read otherwise than it was meant, a sentence each."""
        return [said for said in (self.header_said, self.alike_said, self.measures_said) if said]

    @property
    def header_said(self) -> str:
        """What is said of a line 1 that looks like the lines below, and what reads it as one of them."""
        if not self.like_rows:
            return ""
        how = "header=False, columns=['user', 'film'] (--no-header --columns user,film)"
        return f"line 1 was read as names of columns, and looks like the lines below; where it is one of them, {how}"

    @property
    def measures_said(self) -> str:
        """What is said of columns of numbers that were read as nodes, and what leaves them out."""
        if not self.measures:
            return ""
        several, them = ("hold numbers", "them") if len(self.measures) > 1 else ("holds numbers", "it")
        roles = [f"{x}:node" if x in self.alike else x for x in self.roles if x not in self.measures]
        said = f"{' and '.join(self.measures)} {several}, and every number was read as a node"
        return f"{said}; --columns {','.join(roles)} (columns=) leaves {them} out, and models of graphs read weights"

    @property
    def alike_said(self) -> str:
        """What is said of two types whose nodes have the same names, and what makes one type of them."""
        if not self.alike:
            return ""
        a, b = self.alike
        roles = [f"{x}:node" if x in self.alike else x for x in self.roles if x not in self.measures]
        said = f"{a} and {b} name the same nodes, and were read as two kinds of node ({a} x is another than {b} x)"
        return f"{said}; if they are one kind, --columns {','.join(roles)} (columns=) says so"

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        facts = {
            "roles": list(self.roles), "passed_over": list(self.passed_over), "rows": self.rows, "edges": self.edges,
            "time": self.time, "files": self.files, "header": self.header,
        }  # fmt: skip
        unsure = {"alike": self.alike, "measures": self.measures}
        facts |= {"like_rows": True} if self.like_rows else {}
        return facts | {name: list(columns) for name, columns in unsure.items() if columns}


_Column = npt.NDArray[Any]
_WORDS = re.compile(r"[^\W\d_]+")
_ONE_KIND = frozenset(
    ("source", "target", "src", "dst", "dest", "from", "to", "start", "end", "head", "tail", "subject", "object",
     "origin", "destination", "sender", "receiver", "recipient", "parent", "child", "friend", "neighbor", "neighbour",
     "buyer", "seller", "payer", "payee", "lender", "borrower", "voter", "rater", "ratee", "u", "v", "s", "t", "i", "j",
     "a", "b", "x", "y", "one", "two", "first", "second", "left", "right", "node", "vertex", "entity", "column", "row",
     "col")
)  # fmt: skip
"""Words that say which end of an edge a node is, not of what kind."""
_IDS = frozenset(("id", "ids", "idx", "index", "no", "num", "key"))
_ALIKE = 3
"""Letters that two words begin with in common where they are of one kind: citing and cited."""


_ODD_NUMBER = re.compile(r"0*([0-9]+?)(?:\.0)?", re.ASCII)
_TRIED, _FEW_NAMES = 1000, 10
"""Names that are looked up for a twin; and of so few that two types have in common nothing follows."""
_MISSING = ("NA", "N/A", "#N/A", "<NA>", "nan", "NaN", "NAN", "null", "NULL", "None")
"""What a missing value is called in many tables, and a node in few."""


def missing_names(nodes: Nodes) -> tuple[str, ...]:
    """The nodes that are called as missing values are; no table of all names is made for it.

    >>> missing_names(Nodes.of(["Ann", "null", "NA"]))
    ('NA', 'null')
    """
    if nodes.kind != "text":
        return ()
    offsets, letters = nodes.arrays()["offsets"], nodes.arrays()["bytes"]
    lengths = np.diff(offsets)
    by_length = {n: offsets[:-1][lengths == n] for n in {len(word) for word in _MISSING}}
    found = []
    for word in _MISSING:
        starts = by_length[len(word)]
        for i, letter in enumerate(word.encode()):
            starts = starts[letters[starts + i] == letter]
        if len(starts):
            found.append(word)
    return tuple(found)


def twin_names(nodes: Nodes) -> str:
    """The first number that two nodes are called by, written as 7 and as 7.0 or 007; "" where there is none.

    >>> twin_names(Nodes.of(["7", "7.0", "x"])), twin_names(Nodes.of(["007", "8"]))
    ("'7' and '7.0'", '')
    """
    if nodes.kind != "text":
        return ""
    offsets, letters = nodes.arrays()["offsets"], nodes.arrays()["bytes"]
    starts, lengths = offsets[:-1], np.diff(offsets)
    some = lengths > 1
    odd = np.zeros(len(starts), bool)
    odd[some] = letters[starts[some]] == ord("0")
    some = lengths > 2
    ends = offsets[1:][some]
    odd[some] |= (letters[ends - 2] == ord(".")) & (letters[ends - 1] == ord("0"))
    for name in nodes.take(np.flatnonzero(odd)[:_TRIED]):
        match = _ODD_NUMBER.fullmatch(str(name))
        if match is not None and match[1] != name and match[1] in nodes:
            return f"{match[1]!r} and {str(name)!r}"
    return ""


def shared_nodes(names: Sequence[str], nodes: Nodes, u: Sequence[_Column], v: Sequence[_Column]) -> int:
    """How many nodes both columns name, where what they are called and hold looks like two kinds; 0 otherwise.

    It does where the names of the columns have no word in common, say no direction, and each column holds the integers
    from about 0 or 1 on, most of them. `u` and `v` are the positions of the ends, in pieces.

    >>> nodes = Nodes.of([1, 2, 3, 4])
    >>> u, v = [np.array([0, 1, 0])], [np.array([0, 1, 2])]
    >>> shared_nodes(["user", "movie"], nodes, u, v), shared_nodes(["user_a", "user_b"], nodes, u, v)
    (2, 0)
    """
    if nodes.kind != "int" or not _are_two_kinds(*names):
        return 0
    there = _present(u, len(nodes)), _present(v, len(nodes))
    ids = nodes.arrays()["ints"]
    if not all(_counts_up(ids[column]) for column in there):
        return 0
    return int(np.count_nonzero(there[0] & there[1]))


def types_alike(of_type: Mapping[str, Nodes]) -> tuple[str, ...]:
    """The first two types that are called as the ends of an edge are, or have text for names, and of which one has half
    of the other's names; none where there are no such two. Of few names nothing is said, of many a thousand looked up.

    >>> types_alike({"source": Nodes.of(range(20)), "target": Nodes.of(range(5, 25))})
    ('source', 'target')
    >>> types_alike({"user": Nodes.of(range(20)), "movie": Nodes.of(range(20))})  # each is numbered
    ()
    """
    for a, b in combinations(of_type, 2):
        few, many = sorted((of_type[a], of_type[b]), key=len)
        if len(few) < _FEW_NAMES or few.kind != many.kind or (few.kind != "text" and _are_two_kinds(a, b)):
            continue
        some = few.take(unique_values(np.linspace(0, len(few) - 1, _TRIED).astype(np.int64)))
        if 2 * np.count_nonzero(many.find(some) >= 0) >= len(some):
            return a, b
    return ()


def apart(
    names: Sequence[str], nodes: Nodes, u: Sequence[_Column], v: Sequence[_Column]
) -> tuple[Nodes, list[_Column], list[_Column]]:
    """The same edges between two sets of nodes, each called after its column: user:1 and item:1.

    >>> nodes, u, v = apart(["user", "item"], Nodes.of([1, 2]), [np.array([0, 1])], [np.array([0, 0])])
    >>> list(nodes), u[0].tolist(), v[0].tolist()
    (['user:1', 'user:2', 'item:1'], [0, 1], [2, 2])
    """
    left, right = _present(u, len(nodes)), _present(v, len(nodes))
    called: list[str] = []
    ranks: list[npt.NDArray[np.int32]] = []
    for name, there in zip(names, (left, right), strict=True):
        ranks.append((np.cumsum(there) - 1 + len(called)).astype(np.int32))
        called += [f"{name}:{node}" for node in nodes.take(np.flatnonzero(there))]
    return Nodes.of(called), [ranks[0][x] for x in u], [ranks[1][x] for x in v]


def _present(columns: Sequence[_Column], n: int) -> npt.NDArray[np.bool_]:
    present = np.zeros(n, bool)
    for column in columns:
        present[column] = True
    return present


def _counts_up(ids: npt.NDArray[np.int64]) -> bool:
    """Whether ascending integers are most of those from about 0 or 1 to the last."""
    return len(ids) > 1 and 0 <= ids[0] <= 1 + len(ids) // 10 and len(ids) >= int(ids[-1]) // 2


def _are_two_kinds(one: str, other: str) -> bool:
    words = [set(_WORDS.findall(name.casefold())) - _IDS for name in (one, other)]
    if not all(words) or any(x & _ONE_KIND for x in words):
        return False
    return not any(a[:_ALIKE] == b[:_ALIKE] for a in words[0] for b in words[1])
