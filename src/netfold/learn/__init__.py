"""Tensors, never a graph."""
