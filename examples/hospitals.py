"""Related hospitals, shrunk together: a question that no closed form of a network's tables answers.

Each of eight hospitals treated 40 patients. How does the rate of complications under the new treatment differ between
them? A network for each hospital alone has tables from a handful of patients, and one network for all
hides the differences. Here the network is learned from all of them, and the table of complications has a prior that
the hospitals share: its rows scatter around common rates, as strongly as the data say. All other tables are the
network's own.

    pip install 'anbexact[numpyro]'
    python examples/hospitals.py        # about a minute
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pandas as pd
from numpyro.distributions import Beta, Dirichlet, Gamma
from numpyro.infer import MCMC, NUTS

from anbexact.adapters import to_numpyro
from anbexact.classifiers import FixedStructureClassifier

HOSPITALS = [f"hospital {k}" for k in range(1, 9)]
PARENTS = {"risk": [], "treatment": ["risk"], "complication": ["risk", "treatment"]}


def made_up(seed: int = 0) -> pd.DataFrame:
    """Return patients of hospitals whose rates of complications differ by a standard deviation of 0.5 in log odds."""
    rng = np.random.default_rng(seed)
    rows = []
    for hospital, shift in zip(HOSPITALS, rng.normal(0, 0.5, len(HOSPITALS)), strict=True):
        for _ in range(40):
            high, new = rng.random() < 0.4, rng.random() < 0.5
            odds = -1.5 + shift + 1.2 * high - 0.6 * new
            complication = rng.random() < 1 / (1 + np.exp(-odds))
            rows.append((hospital, "high" if high else "low", "new" if new else "old", complication))
    return pd.DataFrame(rows, columns=["hospital", "risk", "treatment", "complication"])


def shrunk(patients: pd.DataFrame, draws: int = 500, seed: int = 0) -> dict[str, Any]:
    """Return draws of the rates by hospital, (draws, risk, treatment), and of the concentration that they share."""
    X, y = patients[["risk", "treatment"]], patients["complication"]
    network = FixedStructureClassifier(PARENTS, ess=2.0).fit(X, y)

    def model() -> None:
        common = numpyro.sample("common", Beta(jnp.ones((2, 2)), jnp.ones((2, 2))).to_event(2))
        concentration = numpyro.sample("concentration", Gamma(2.0, 0.1))
        rates = jnp.stack([1 - common, common], axis=-1)
        for hospital in HOSPITALS:

            def table(_: Any, hospital: str = hospital) -> Any:
                return numpyro.sample(f"{hospital}: rates", Dirichlet(concentration * rates).to_event(2))

            here = (patients["hospital"] == hospital).to_numpy()
            own = to_numpyro(network, X[here], y[here], replace={"complication": table}, prefix=f"{hospital}: ")
            own()

    chain = MCMC(NUTS(model), num_warmup=draws, num_samples=draws, progress_bar=False)
    chain.run(jax.random.PRNGKey(seed))
    return {name: np.asarray(values) for name, values in chain.get_samples().items()}


def main() -> None:
    """Print the rates of high-risk patients under the new treatment."""
    patients = made_up()
    samples = shrunk(patients)
    print("Complications of high-risk patients under the new treatment")
    print(f"{'':12}{'patients':>9}{'alone':>8}{'shrunk':>8}   95 % interval   P(above the common rate)")
    common = samples["common"][:, 0, 0]
    for hospital in HOSPITALS:
        here = patients.query("hospital == @hospital and risk == 'high' and treatment == 'new'")["complication"]
        rate = samples[f"{hospital}: rates"][:, 0, 0, 1]
        low, high = np.quantile(rate, [0.025, 0.975])
        above = (rate > common).mean()
        means = f"{here.mean():8.2f}{rate.mean():8.2f}"
        print(f"{hospital:12}{len(here):9}{means}   {low:.2f} to {high:.2f}{above:15.2f}")
    print(f"concentration: {samples['concentration'].mean():.0f} patients' worth of what the hospitals share")


if __name__ == "__main__":
    main()
