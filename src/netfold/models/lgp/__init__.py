"""The high-order Laplacian Gaussian process: what DepthLGP and Node2VecPlus share.

Latent states h follow a Gaussian process whose kernel is [I + eta L(Â) + zeta L(ÂÂ)]⁻¹; a network g makes vectors of
them. `system` has the equations of new nodes and `solve` their solution; `neighborhoods` reads what is around nodes in
a large graph; `process` is the whole as a network, `posterior` places new nodes by it once it is trained, and `model`
has the options and what both models do with new nodes.
"""
