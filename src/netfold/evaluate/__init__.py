"""How good an embedding is: plain functions over values, each with its figures, cheap baselines and its protocol."""

from netfold.evaluate.calibration import calibration, calibration_error
from netfold.evaluate.centrality import centrality
from netfold.evaluate.classification import classification
from netfold.evaluate.clustering import clustering
from netfold.evaluate.extensions import label_propagation, local_average
from netfold.evaluate.hidden_links import HiddenLinks, hide_half
from netfold.evaluate.hyperedge_splits import HyperedgeSplit, hidden_hyperedges, split_hyperedges
from netfold.evaluate.hyperedges import hyperedges
from netfold.evaluate.link_prediction import link_prediction
from netfold.evaluate.negatives import Negatives, sample_negatives
from netfold.evaluate.noise import noise_robustness
from netfold.evaluate.out_of_sample import out_of_sample
from netfold.evaluate.ranking import average_precision
from netfold.evaluate.reconstruction import reconstruction
from netfold.evaluate.regular_equivalence import regular_equivalence, vs_similarity
from netfold.evaluate.result import Result
from netfold.evaluate.roles import roles
from netfold.evaluate.splits import EdgeSplit, NodeSplit, split_edges, split_nodes
from netfold.evaluate.uncertainty import uncertainty
from netfold.evaluate.visualization import visualization, visualization_points

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
