"""How well scores tell what is from what is not."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["separation"]


def separation(right: npt.ArrayLike, wrong: npt.ArrayLike) -> dict[str, float]:
    """AUC, the part of pairs (one right, one wrong) that scores order rightly, ties by half; and average precision, AP.

    >>> separation([0.9, 0.4], [0.4, 0.1])["AUC"]
    0.875
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    true, false = np.asarray(right, np.float64), np.asarray(wrong, np.float64)
    truth, scores = np.repeat([1, 0], [len(true), len(false)]), np.concatenate([true, false])
    return {"AUC": float(roc_auc_score(truth, scores)), "AP": float(average_precision_score(truth, scores))}
