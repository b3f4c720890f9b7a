"""The high-order Laplacian Gaussian process: what DepthLGP and Node2VecPlus share.

Latent states h follow a Gaussian process whose kernel is [I + eta L(Â) + zeta L(ÂÂ)]⁻¹; a network g makes vectors of
them. `system` has the equations of new nodes, `solve` their solution, `kernel` the parameters, `surroundings` the
neighborhoods that are read of a large graph, `process` the whole as a network, `known` what is kept of known nodes so
that new ones are answered at once, `spread` how sure the answers are.
"""
