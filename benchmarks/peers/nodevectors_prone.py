"""nodevectors' ProNE, with its defaults."""

from __future__ import annotations

from typing import Any

import csrgraph
from job import Job
from nodevectors import ProNE


def prone(job: Job) -> Any:
    """A factorisation, then a spectral filter of Chebyshev polynomials."""
    return ProNE(n_components=job.dim, verbose=False).fit_transform(csrgraph.csrgraph(job.adjacency))
