"""
Many rows, counted in DuckDB
============================

The rows stay in the database. It counts them, and the classifier learns from the counts: to the last digit what it
would have learned from the rows in memory.
"""

import itertools
import os
import time

import matplotlib.pyplot as plt

from anbexact import ANBClassifier
from anbexact.adapters import to_sql
from anbexact.plots import NetworkDisplay

try:
    import duckdb
except ImportError:
    raise SystemExit("This notebook needs DuckDB: pip install 'anbexact[duckdb]'") from None

# %%
# This page was made with a million rows, so that the site is built quickly. `ROWS = 100_000_000` works in the same
# way, or the variable `ANBEXACT_ROWS` of the environment: the memory that the classifier needs depends on how many
# different rows there are, not on how many rows.

ROWS = int(os.environ.get("ANBEXACT_ROWS", "1_000_000"))


# %%
# The table
# ---------
# Visits to a shop, made by a rule: regular customers buy more often, and so do those who come from a newsletter,
# but only on weekdays.

duckdb.sql("SET enable_progress_bar = false")
duckdb.sql(f"""
    CREATE OR REPLACE TABLE visits AS
    SELECT device, source, day, regular, minutes,
        CASE WHEN luck < 50 + 120 * regular::INT + 60 * (minutes > 12)::INT
            + 200 * (source = 'newsletter' AND day NOT IN ('Sat', 'Sun'))::INT
        THEN 'bought' ELSE 'left' END AS outcome
    FROM (
        SELECT
            ['phone', 'tablet', 'desktop'][1 + (number % 3)::INT] AS device,
            ['search', 'newsletter', 'friend', 'advert'][1 + (number // 3 % 4)::INT] AS source,
            ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'][1 + (number // 12 % 7)::INT] AS day,
            number // 84 % 3 = 0 AS regular,
            (number // 252 % 300) / 10.0 AS minutes,
            number // 75600 % 1000 AS luck
        FROM (SELECT md5_number_lower(i::VARCHAR) AS number FROM range({ROWS}) AS visits(i))
    )
""")
visits = duckdb.table("visits")
print(visits.limit(5))

# %%
# Learn where the rows are
# ------------------------


began = time.perf_counter()
model = ANBClassifier(discretizer="modl").fit(visits, y="outcome")
took = time.perf_counter() - began
print(f"{ROWS:,} rows in {took:.1f} s, {ROWS / took / 1e6:.1f} million rows a second")
print("minutes are cut at", model.cut_points_["minutes"].tolist())
print("arcs between features:", model.structure_.feature_edges)
print(model.structure_.certificate)

# %%
# The rule was found: the minutes are cut at 12, and an arc joins source and day, which matter together. The other
# arcs are real, too: in the rule, effects add up as probabilities, not as odds. Probabilities of a purchase by
# source and day:


for source, day in itertools.product(("newsletter", "search"), ("Tue", "Sun")):
    print(f"{source:10} {day}: {model.query(source=source, day=day)['bought']:.3f}")

# %%
# Lines are as wide as their arcs are strong.

NetworkDisplay.from_estimator(model)
plt.show()

# %%
# Predict where the rows are
# --------------------------
# `to_sql` writes the posterior as a query, so that new rows need not leave the database either.


query = to_sql(model, "duckdb", table="visits", keep=["source", "day"])
scored = duckdb.sql(query)
print(scored.limit(5))
