"""How good an embedding is: plain functions over values, each with its figures, cheap baselines and its protocol."""

from netfold.evaluate.classification import classification, clustering, visualization, visualization_points
from netfold.evaluate.hyperedges import HyperedgeSplit, hidden_hyperedges, hyperedges, split_hyperedges
from netfold.evaluate.links import link_prediction, reconstruction
from netfold.evaluate.negatives import Negatives, sample_negatives
from netfold.evaluate.new_nodes import HiddenLinks, hide_half, label_propagation, local_average, out_of_sample
from netfold.evaluate.noise import noise_robustness
from netfold.evaluate.ranking import average_precision
from netfold.evaluate.result import Result
from netfold.evaluate.roles import centrality, regular_equivalence, roles, vs_similarity
from netfold.evaluate.splits import EdgeSplit, NodeSplit, split_edges, split_nodes
from netfold.evaluate.uncertainty import calibration, calibration_error, uncertainty

__all__ = [
    "EdgeSplit",
    "HiddenLinks",
    "HyperedgeSplit",
    "Negatives",
    "NodeSplit",
    "Result",
    "average_precision",
    "calibration",
    "calibration_error",
    "centrality",
    "classification",
    "clustering",
    "hidden_hyperedges",
    "hide_half",
    "hyperedges",
    "label_propagation",
    "link_prediction",
    "local_average",
    "noise_robustness",
    "out_of_sample",
    "reconstruction",
    "regular_equivalence",
    "roles",
    "sample_negatives",
    "split_edges",
    "split_hyperedges",
    "split_nodes",
    "uncertainty",
    "visualization",
    "visualization_points",
    "vs_similarity",
]
