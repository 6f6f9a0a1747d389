"""What every fuzz test has: bounds of time and memory for each case, and a record of how cases ended.

    python tests/fuzzing.py      # prints the record of the last `make fuzz`, and writes docs/measurements/fuzz.csv

The tests themselves are in ``tests/fuzz``. The full tier draws 2,000 cases, and ``make fuzz`` 100,000.
"""

import csv
import json
import random
import re
import signal
import sys
import time
import traceback
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from tiers import EXAMPLES, examples

SECONDS = 5.0
"""Processor time that a case may take."""
WAITS = 120.0
"""Seconds after which a case that uses no processor time counts as hanging, on a busy machine too."""
MEGABYTES = 256
"""Memory that a case may take in addition to what the process has before it."""
PROJECT = Path(__file__).parents[1]
RECORDS = PROJECT / "build" / "fuzz"
STATUS, PEAK = Path("/proc/self/status"), Path("/proc/self/clear_refs")
COLUMNS = ("tests", "cases", "accepted", "refused", "failed", "longest_seconds", "most_megabytes")


class HangsError(BaseException):
    """A case took longer than it may. It is no `Exception`, so that nothing that is tested handles it."""


def cases(count):
    """Decorate a property of which the full tier tests ``count`` cases, and ``make fuzz`` fifty times as many."""
    return examples(count, suppress_health_check=list(settings.default.suppress_health_check))


class Record:
    """How the cases of a test ended: their numbers, the longest and the largest."""

    def __init__(self, tests):
        self.tests = tests
        self.outcomes, self.longest, self.largest = Counter(), 0.0, 0.0

    @contextmanager
    def case(self):
        """Watch over a case; what the block adds to the list that it gets is the outcome."""
        outcome = []
        before = _reset_peak()
        signal.signal(signal.SIGPROF, _stop)
        signal.signal(signal.SIGALRM, _stop)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.setitimer(signal.ITIMER_REAL, WAITS)
        began = time.process_time()
        try:
            yield outcome
        except KeyboardInterrupt:
            outcome[:] = ["interrupted"]
            raise
        except BaseException:
            outcome[:] = ["failed"]
            raise
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            seconds = time.process_time() - began
            megabytes = (_peak() - before) / 1e3
            self.outcomes[outcome[0] if outcome else "failed"] += 1
            self.longest, self.largest = max(self.longest, seconds), max(self.largest, megabytes)
        assert outcome, "a case is accepted or refused"
        assert megabytes < MEGABYTES

    def write(self):
        """Write the record of a run by `make fuzz`."""
        if settings.default.max_examples == EXAMPLES["fuzz"] and self.outcomes:
            row = {
                "tests": self.tests,
                "cases": self.outcomes.total() - self.outcomes["interrupted"],
                **{outcome: self.outcomes[outcome] for outcome in ("accepted", "refused", "failed")},
                "longest_seconds": round(self.longest, 2),
                "most_megabytes": round(self.largest, 1),
            }
            RECORDS.mkdir(parents=True, exist_ok=True)
            (RECORDS / f"{self.tests}.json").write_text(json.dumps(row))


def _stop(*_):
    stack = traceback.extract_stack()
    once = ("numba", "importlib")  # kernels are compiled once on each machine, and modules imported once in a process
    if any(word in frame.filename for frame in stack for word in once):
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        return
    raise HangsError("".join(traceback.format_list(stack[-8:])))


def _reset_peak():
    """Start a new peak of memory, where the system has such a thing; return the memory in use, in kB."""
    try:
        PEAK.write_text("5")
    except OSError:
        return 0.0
    return float(re.search(r"VmRSS:\s+(\d+)", STATUS.read_text())[1])


def _peak():
    """Return the most memory in use since `_reset_peak`, in kB; 0 where the system does not tell."""
    try:
        return float(re.search(r"VmHWM:\s+(\d+)", STATUS.read_text())[1])
    except (OSError, TypeError):
        return 0.0


rngs = st.integers(0, 2**32 - 1).map(random.Random)
"""Sources of the small choices within a case, such as blanks: to draw each of them takes longer than to test it."""
ADDED = ['"', "<", ">", "&", "{", "}", "\\", "\0", "é", "0", "1e999", "-", ".", " ", ""]
"""What damages a token."""


def edited(text, pattern, rng, most=3):
    """Return a text near a valid one: some of its tokens are left out, repeated, exchanged, replaced, or damaged.

    ``pattern`` is a regular expression that finds the tokens.
    """
    tokens = re.findall(pattern, text, re.DOTALL)
    for _ in range(rng.randint(1, most)):
        if not tokens:
            break
        place, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        edit = rng.choice(["leave out", "repeat", "exchange", "replace", "damage", "damage", "cut", "move"])
        if edit == "leave out":
            del tokens[place]
        elif edit == "repeat":
            tokens.insert(other, tokens[place])
        elif edit == "exchange":
            tokens[place], tokens[other] = tokens[other], tokens[place]
        elif edit == "replace":
            tokens[place] = tokens[other]
        elif edit == "damage":
            at = rng.randint(0, len(tokens[place]))
            tokens[place] = tokens[place][:at] + rng.choice(ADDED) + tokens[place][at + rng.randint(0, 2) :]
        elif edit == "cut" and rng.random() < 0.3:
            tokens = tokens[: max(place, 1)]
        elif edit == "move":
            low, high = sorted((place, other))
            tokens.append("".join(tokens[low:high]))
            del tokens[low:high]
    return "".join(tokens)


def damaged(content, rng, most=4):
    """Return bytes near valid ones: some are changed, left out, repeated or inserted, or the end is missing."""
    found = bytearray(content)
    for _ in range(rng.randint(1, most)):
        place, length = rng.randint(0, max(len(found) - 1, 0)), rng.choice([1, 1, 2, 4, 16, 200])
        edit = rng.choice(["change", "change", "leave out", "repeat", "insert", "cut"])
        if edit == "change" and found:
            found[place] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, 0x22, 0x2C, 0x0A, found[place] ^ 1])
        elif edit == "leave out":
            del found[place : place + length]
        elif edit == "repeat":
            found[place:place] = found[place : place + length]
        elif edit == "insert":
            found[place:place] = rng.randbytes(rng.randint(1, 8))
        elif edit == "cut" and rng.random() < 0.3:
            del found[place:]
    return bytes(found)


def main():
    """Print the records of the last run as a table, and write them to the measurements."""
    rows = [json.loads(path.read_text()) for path in sorted(RECORDS.glob("*.json"))]
    total = {name: sum(row[name] for row in rows) for name in COLUMNS[1:5]}
    total |= {name: max((row[name] for row in rows), default=0) for name in COLUMNS[5:]}
    rows.append({"tests": "all", **total})
    with (PROJECT / "docs" / "measurements" / "fuzz.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for row in rows:
        print("  ".join(f"{row[name]!s:>{40 if name == 'tests' else 15}}" for name in COLUMNS))
    return total["failed"] > 0


if __name__ == "__main__":
    sys.exit(main())
