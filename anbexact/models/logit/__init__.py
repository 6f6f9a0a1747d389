"""Networks as multinomial logistic regressions: potentials, terms, fits of conditional likelihood, and back.

Everything here works on *potentials*: for the class and each of its children, a function of the child, its other
parents and the class, whose sum is the log of the class posterior up to a function of the features. Those of a
network are the logs of its conditional tables; a fit of conditional likelihood shifts them.

- `potentials`: the potentials of a network;
- `terms`: their coefficients in the reference coding of logistic regression; `term_list`: which of these are listed;
- `design`: rows as cells of the potentials;
- `fit`: the maximum of the (penalised) conditional log likelihood, and whether there is one;
- `prior_precision`: the strength of the prior, by cross-validation; `refit`: the whole procedure;
- `refine`: a network on finer intervals; `smooth_terms`, `smooth_fit`, `smoothness`, `smooth`: refits with shapes
  that follow the order of states, their penalties and how strong these are; `shapes`: what is read off them;
- `network`: potentials as conditional tables;
- `closure`: the arcs without which a network cannot have every posterior of its logistic regression.

Searches that fit many small regressions have `indicators`, the rows in the reference coding, and `newton`, Newton's
method on these rows, with a bound on the remaining gain.
"""
