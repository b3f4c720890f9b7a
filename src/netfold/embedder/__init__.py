"""What a model is: an `Embedder` of options, what it reads and the problem it makes of that, and how it is stored."""
