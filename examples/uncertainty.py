"""Whom should we ask again? Friendships in a school, of which some pupils named one or two, and a Gaussian for each."""

import numpy as np

import netfold as nf

school, classes = nf.datasets.stochastic_block_model((30, 30, 30), p_in=0.35, p_out=0.02, seed=1)
shy = [4, 17, 38, 51, 66, 83]  # of these, at most two friendships were written down
u, v = school.adjacency.tocoo().coords
rng, links = np.random.default_rng(0), dict.fromkeys(shy, 0)
known = []
for a, b in rng.permutation(np.stack([u, v], axis=1)[u < v]).tolist():
    few = [x for x in (a, b) if x in links]
    if all(links[x] < 2 for x in few):
        known.append((a, b))
        links |= {x: links[x] + 1 for x in few}

graph = nf.Graph.from_edges(known, nodes=range(90))
model = nf.DVNE().fit(graph, progress=False)
variance = model.mean_variance(graph)  # how far a pupil would be elsewhere if half of the links were not known
print(model.embedding_)

first = np.argsort(-variance)[:10].tolist()
print("Ask again, the least sure first:", [f"{i}{' (shy)' if i in shy else ''}" for i in first])
widest = np.argsort(-model.embedding_.uncertainty(graph.nodes))[:10].tolist()
print(f"Of the {len(shy)} shy pupils {len({*shy} & {*first})} are among the first ten of {len(graph.nodes)};", end=" ")
print(f"{len({*shy} & {*widest})} by the width of the Gaussians.")
print("The plain way, for comparison: the fewest links have", np.argsort(graph.degrees, kind="stable")[:6].tolist())
