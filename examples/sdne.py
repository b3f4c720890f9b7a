"""Who is near whom in Les Misérables, and where a newcomer belongs: from edges to vectors, and back to names."""

import netfold as nf

scenes = nf.datasets.les_miserables()  # an edge for each pair that meets, its weight the number of scenes
graph = nf.Graph(scenes.adjacency.sqrt(), scenes.nodes)  # so that no few great pairs drown all others
model = nf.SDNE(dim=32, alpha=10).fit(graph, progress=False)
print(graph)
print("Nearest to Valjean:", [name for name, _ in model.embedding_.nearest("Valjean", k=5, metric="dot")])

# A newcomer meets three students; the model places him without a new fit.
newcomer = model.transform([("Newcomer", name) for name in ("Enjolras", "Combeferre", "Courfeyrac")])
print("The newcomer is near:", [name for name, _ in model.embedding_.nearest(newcomer["Newcomer"], k=5)])

# Does the model know its graph? All pairs ranked by the decoder; MAP is 1 where those who meet come first.
result = nf.evaluate.reconstruction(model, graph, score="decoder", k=(100,))
print(f"MAP {result.figures['MAP']:.3f}; best of all methods asked: {result.best('MAP')}")
