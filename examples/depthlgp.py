"""Characters who enter Les Misérables late: vectors for the rest of the cast first, and then for the newcomers."""

import numpy as np

import netfold as nf

LATE = ["Gavroche", "Eponine", "Enjolras", "Cosette", "Javert", "Marguerite"]

novel = nf.datasets.les_miserables()
early = novel.subgraph([i for i, name in enumerate(novel.nodes) if name not in LATE])
base = nf.Node2Vec(dim=16, length=40, window=5, epochs=20).fit(early, progress=False)  # any vectors will do
model = nf.DepthLGP(samples=256).fit(early, base.embedding_, progress=False)

new = model.transform(novel)  # the vectors of the early cast stay as they are
print(f"{len(base.embedding_)} characters known, {len(new)} new")
for name in LATE:
    near = ", ".join(other for other, _ in base.embedding_.nearest(new[name], k=3))
    std = float(np.linalg.norm(new.take([name]).std))
    print(f"{name:11} {len(novel.neighbors(name)):2} neighbors, unsure by {std:.2f}; near {near}")
