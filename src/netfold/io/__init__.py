"""Bytes to values and back: edges, hyperedges, classes, vectors, tensors."""
