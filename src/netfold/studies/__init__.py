"""Models side by side: compare, choose, reproduce, data sets."""
