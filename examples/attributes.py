"""Where does a paper belong that nobody has cited yet? Papers with words and citations, and one with words alone."""

import numpy as np

import netfold as nf

graph, areas = nf.datasets.stochastic_block_model((60, 60, 60), p_in=0.08, p_out=0.01, seed=1)
rng = np.random.default_rng(0)
topics = [["graph", "node", "walk", "link"], ["gene", "cell", "protein", "tissue"], ["market", "price", "trade"]]
common = ["method", "result", "data", "model", "paper", "new"]
words = {paper: [*rng.choice(topics[area], 2), *rng.choice(common, 3)] for paper, area in areas.items()}

graph = graph.with_attributes({paper: {"word": own} for paper, own in words.items()})
options = {"dim": 16, "hidden": (32,), "epochs": 100}
model = nf.SDNE(**options).fit(graph, progress=False)
print(graph.attributes, model.embedding_, sep="\n")

new = model.transform(nf.Graph.of([], attributes={"yesterday's": {"word": ["gene", "cell", "data"]}}))
near = model.embedding_.nearest(new["yesterday's"], k=5)
print("Nobody has cited it; its words put it beside", [f"{paper} (area {areas[paper]})" for paper, _ in near])

split = nf.evaluate.split_nodes(graph, 0.2, seed=1)
known = nf.SDNE(**options).fit(split.known, progress=False)
print(nf.evaluate.cold_start(known, split, classes=areas))
