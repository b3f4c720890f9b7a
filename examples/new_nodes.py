"""Your graph grew: four ways to give the new nodes vectors, and what each is worth on nodes held back."""

import netfold as nf

blocks = {"sizes": (80, 80, 80), "p_in": 0.08, "p_out": 0.004}
graph, group = nf.datasets.load("sbm", **blocks), nf.datasets.classes("sbm", **blocks)
split = nf.evaluate.split_nodes(graph, 40, by="walk")  # 40 nodes with few links are not there yet
print(split, end="\n\n")


def node2vec(known: nf.Graph) -> nf.Node2Vec:
    """The base, fitted to the nodes that are there."""
    return nf.Node2Vec(dim=16, epochs=3).fit(known, progress=False)


base = node2vec(split.known).embedding_  # any embedding will do, also one from a file: nf.Embedding.load(path)
model = nf.DepthLGP(epochs=3).fit(split.known, base, progress=False)
new = model.transform(split.whole)
print(nf.evaluate.out_of_sample(model, split, classes=group, rerun=node2vec), end="\n\n")

links = dict(zip(graph.nodes, graph.degrees.tolist(), strict=True))
spread = dict(zip(new.nodes, new.std.mean(axis=1), strict=True))
for node in (min(spread, key=spread.get), max(spread, key=spread.get)):  # the surest and the least sure
    near = [x for x, _ in base.nearest(new[node], k=3)]
    print(f"{node} of group {group[node][0]}, {links[node]:.0f} links: near {near}, ± {spread[node]:.3f}")
