"""Settings for all tests."""

from __future__ import annotations

import torch

torch.set_num_threads(1)  # tiny matrices on busy cores: threads would mostly wait for one another
