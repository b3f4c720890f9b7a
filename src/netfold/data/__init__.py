"""Values: numpy and scipy, never torch."""
