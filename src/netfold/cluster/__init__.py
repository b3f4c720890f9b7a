"""Several processes, on one machine or many: who they are, what they exchange, what they keep. Runs under torchrun."""
