"""Who plays the same role? Stars, cliques and houses hang on a ring, and alike places get alike vectors."""

import numpy as np

import netfold as nf

graph, roles = nf.datasets.planted_roles(copies=6, seed=1)
model = nf.DRNE().fit(graph, progress=False)
print(graph, "with", len(set(roles.values())), "roles")

for node in (next(n for n, role in roles.items() if role.startswith(shape)) for shape in ("star", "clique", "house")):
    near = [other for other, _ in model.embedding_.nearest(node, k=5, metric="euclidean")]
    print(f"like {node} ({roles[node]}):", sorted({roles[other] for other in near}))

# The same question to SDNE, which keeps who is near whom and knows no roles.
places = nf.SDNE(dim=16).fit(graph, progress=False).embedding_
for name, found in (("DRNE", model.embedding_), ("SDNE", places)):
    same = [roles[found.nearest(n, k=1, metric="euclidean")[0][0]] == roles[n] for n in graph.nodes]
    print(f"{name}: the nearest node plays the same role for {np.mean(same):.0%} of the nodes")
