"""Networks in probabilistic programming: NumPyro, PyMC, ArviZ."""
