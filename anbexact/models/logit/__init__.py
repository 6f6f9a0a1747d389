"""Networks as multinomial logistic regressions: potentials, terms, fits of conditional likelihood, and back.

Everything here works on *potentials*: for the class and each of its children, a function of the child, its other
parents and the class, whose sum is the log of the class posterior up to a function of the features. Those of a
network are the logs of its conditional tables; a fit by conditional likelihood shifts them.

- `potentials`: the potentials of a network;
- `terms`: their coefficients in the reference coding of logistic regression; `term_list`: which of these are listed;
- `design`: rows as cells of the potentials; `design_frame` and `identification`: rows as indicators of terms;
- `fit`: the maximum of the (penalised) conditional log likelihood, and whether there is one; `trust_region`: how it
  is found;
- `prior_precision`: the strength of the prior, by cross-validation; `refit`: the whole procedure;
- `firth`, `firth_profile`, `firth_result`: Firth's penalised likelihood, with intervals and tests;
- `given`: coefficients that were estimated elsewhere;
- `network`: potentials as conditional tables;
- `closure`: the arcs without which a network cannot have every posterior of its logistic regression;
- `curvature`, `empty_cells`: the Hessian of smooth refits, which are in :mod:`anbexact.models.smooth`;
- `model`: the public class, whose predictions are in `predictions`.
"""
