"""The targets of the tables that come with netfold are those that were set."""

from __future__ import annotations

from netfold.studies.reproduce.table import COST
from published_tables import TABLES

PRECISIONS = [f"precision@{k}" for k in (10000, 20000, 40000, 60000, 80000, 100000)]


def test_the_targets_are_those_that_were_set() -> None:
    targets = {(t.name, r.name): r.target for t in TABLES for r in t.rows if r.target}
    assert targets == {
        ("attributes-cora-labels", "SDNE, links and words"): {"micro-F1@10%": 0.78, "micro-F1@50%": 0.87},
        ("attributes-cora-labels", "SDNE, links and words, settings for classes"): {
            "micro-F1@10%": 0.78,
            "micro-F1@50%": 0.87,
        },
        ("attributes-cora-links", "SDNE, links and words"): {"AUC": 0.95},
        ("attributes-cora-links", "SDNE, links and words, damped, words 1.5"): {"AUC": 0.95},
        ("attributes-cora-cold", "SDNE, links and words"): {"micro-F1": 0.74, "AUC": 0.85},
        ("sdne-grqc", "vectors"): {"MAP": 0.88},
        ("sdne-grqc", "vectors, one ranking"): {"precision@10000": 0.95},
        ("sdne-grqc", "decoder"): {"MAP": 0.99},
        ("sdne-grqc", "decoder, one ranking"): {
            "precision@1000": 1.0,
            "precision@2000": 1.0,
            "precision@4000": 1.0,
            "precision@6000": 0.999,
            "precision@8000": 0.996,
            "precision@10000": 0.99,
        },
        ("sdne-blogcatalog", "decoder"): {"MAP": 0.70},
        ("sdne-blogcatalog", "decoder, both figures"): {"MAP": 0.7} | dict.fromkeys(PRECISIONS, 0.95),
        ("sdne-blogcatalog", "decoder, one ranking"): dict.fromkeys(PRECISIONS, 0.97),
        ("sdne-grqc-links", "SDNE"): {"precision@1000": 0.976, "precision@10000": 0.28},
        ("sdne-grqc-links", "SDNE, with a skip"): {"precision@1000": 0.976, "precision@10000": 0.28},
        ("sdne-blogcatalog-labels", "SDNE"): {
            "micro-F1@10%": 0.36,
            "micro-F1@90%": 0.44,
            "macro-F1@10%": 0.22,
            "macro-F1@90%": 0.28,
        },
        ("sdne-newsgroups", "SDNE"): {"KL": 0.68},
        ("sdne-newsgroups", "100 dimensions"): {"KL": 0.68},
        ("block-model", "SDNE"): {"accuracy@50%": 0.975, COST: 30},
        ("drne-jazz", "DRNE"): {
            "closeness MSE/mean": 0.00191,
            "eigenvector MSE/mean": 0.00527,
            "k-core MSE/mean": 0.0557,
        },
        ("drne-blogcatalog", "DRNE"): {
            "closeness MSE/mean": 0.0011,
            "betweenness MSE/mean": 0.00668,
            "eigenvector MSE/mean": 0.00311,
            "k-core MSE/mean": 0.0772,
        },
        ("drne-europe", "DRNE"): {"accuracy@10%": 0.52, "accuracy@80%": 0.58},
        ("drne-usa", "DRNE"): {"accuracy@10%": 0.60, "accuracy@80%": 0.66},
        ("drne-jazz-equivalence", "DRNE"): {"Kendall τ": 0.42},
        ("drne-blogcatalog-equivalence", "DRNE"): {"Kendall τ": 0.40},
        ("drne-blogcatalog-equivalence", "DRNE, length read out"): {"Kendall τ": 0.40},
        ("drne-jazz-equivalence", "DRNE, length read out"): {"Kendall τ": 0.42},
        ("dhne-gps", "DHNE"): {"AUC": 0.960},
        ("dhne-movielens", "DHNE"): {"AUC": 0.934},
        ("dhne-drug", "DHNE"): {"AUC": 0.936},
        ("dhne-gps-links", "fixed negatives, with counts"): {"AUC": 0.979},
        ("dhne-gps-links", "replaced positions, with counts"): {"AUC": 0.969},
        ("dhne-gps-links", "fixed negatives"): {"AUC": 0.95},
        ("dhne-gps-links", "replaced positions"): {"AUC": 0.93},
        ("dhne-movielens-links", "fixed negatives"): {"AUC": 0.97},
        ("dhne-movielens-links", "replaced positions"): {"AUC": 0.88},
        ("dhne-drug-links", "fixed negatives, unseen"): {"AUC": 0.956},
        ("dhne-drug-links", "fixed negatives, leaking"): {"AUC": 0.96},
        ("dhne-drug-links", "replaced positions, unseen"): {"AUC": 0.902},
        ("dhne-drug-links", "replaced positions, leaking"): {"AUC": 0.93},
        ("dhne-drug-links", "fixed negatives, unseen, each once, with counts"): {"AUC": 0.956},
        ("dhne-drug-links", "replaced positions, unseen, each once, with counts"): {"AUC": 0.902},
        ("dhne-movielens-labels", "DHNE"): {
            "micro-F1@10%": 0.445,
            "micro-F1@90%": 0.475,
            "macro-F1@10%": 0.184,
            "macro-F1@90%": 0.243,
        },
        **{(f"dvne-{x}-variance", "DVNE"): {"Spearman": 0.0} for x in ("cora", "facebook", "blogcatalog")},
        **{
            (f"dvne-{x}-certain", row): {"certain - uncertain": 0.0}
            for x in ("cora", "facebook", "blogcatalog")
            for row in ("plain split", "split that keeps components")
            for row in (row, f"{row}, by mean variance", f"{row}, std by evidence")
        },
        **{
            ("dvne-cora-noise", row): {"decline@5%": 0.009, "decline@25%": 0.038, "decline@50%": 0.08}
            for row in ("DVNE", "DVNE, components kept")
        },
        ("dvne-cora", "DVNE"): {"AUC": 0.996},
        ("dvne-facebook", "DVNE"): {"AUC": 0.998},
        ("dvne-blogcatalog", "DVNE"): {"AUC": 0.965},
        ("dvne-cora-links", "DVNE"): {"AUC": 0.90, "AUC known ends": 0.93},
        **{("dvne-cora-links", f"connectivity kept{x}"): {"AUC": 0.965} for x in ("", ", and walks")},
        **{("dvne-facebook-links", row): {"AUC": 0.992} for row in ("DVNE", "connectivity kept")},
        **{("dvne-blogcatalog-links", row): {"AUC": 0.95} for row in ("DVNE", "connectivity kept")},
        ("dvne-cora-labels", "DVNE"): {"micro-F1@1%": 0.62, "micro-F1@10%": 0.73},
        ("dvne-blogcatalog-labels", "DVNE"): {"micro-F1@10%": 0.311, "micro-F1@90%": 0.407},
        ("depthlgp-dblp", "node2vec: DepthLGP"): {
            "micro-F1": 0.646,
            "macro-F1": 0.626,
            "micro-F1 gap closed": 0.6,
            "AUC": 0.84,
        },
        ("depthlgp-dblp-node2vecplus", "node2vec++: new nodes"): {"micro-F1": 0.646, "AUC": 0.86},
        ("depthlgp-blogcatalog", "node2vec: DepthLGP"): {"micro-F1": 0.396, "macro-F1": 0.203, "AUC": 0.555},
    }
