"""Nomograms read off like a person would: with a pair of compasses, from what is drawn."""

import numpy as np


class Reading:
    """A sheet as drawn: texts with their places, and places of states and outcome marks, in any unit of length.

    ``texts`` are (text, x, y); ``places`` map (ruler, contrast, state, *given) to x; ``marks`` are, for every outcome
    axis, pairs of value and x.
    """

    def __init__(self, texts, places, marks):
        self.texts, self.places, self.marks = texts, places, marks
        above = self.numbers_above("Points")
        self.zero, self.hundred = (next(x for value, x in above if value == of) for of in (0, 100))
        totals = self.numbers_above("Total points")
        (self.low, self.low_x), (self.high, self.high_x) = totals[0], totals[-1]

    def numbers_above(self, title):
        """Return the numbers, with their places, in the line of text above the title of an axis."""
        base = next(y for text, _, y in self.texts if text == title)
        numbers = [(text.replace("\N{MINUS SIGN}", "-"), x, y) for text, x, y in self.texts if y < base]
        numbers = [of for of in numbers if of[0].lstrip("-").replace(".", "").isdigit()]
        line = max(y for _, _, y in numbers)
        return sorted((float(text), x) for text, x, y in numbers if abs(y - line) < 0.01)

    def points(self, key):
        """Return the points above a state of a ruler."""
        return 100 * (self.places[key] - self.zero) / (self.hundred - self.zero)

    def outcome(self, contrast, total):
        """Return what stands below a total: between two marks, in proportion."""
        x = self.low_x + (total - self.low) * (self.high_x - self.low_x) / (self.high - self.low)
        values, at = np.array(self.marks[contrast]).T
        if values.max() > 1:  # odds, whose marks are on a logarithmic scale
            return float(np.exp(np.interp(x, at, np.log(values))))
        return float(np.interp(x, at, values))


def read_off(made, reading, codes):
    """Return P(class | row), shape (rows, classes), as read off a sheet for coded rows."""
    system = made.sheet.system
    place = {name: j for j, name in enumerate(system.source.vocabulary.features)}
    found = []
    lines = [{cell: of[0] for of in ruler.lines(1e-6) for cell in of} for ruler in system.rulers]
    for row in codes.T:
        outcomes = []
        for contrast in range(len(system.constant)):
            total = 0.0
            for r, ruler in enumerate(system.rulers):
                cell = tuple(int(row[place[name]]) for name in ruler.given)
                total += reading.points((r, contrast, int(row[place[ruler.feature]]), *lines[r][cell]))
            for correction in system.corrections:  # the tables have one decimal
                value = correction.points[(*(row[place[name]] for name in correction.features), contrast)]
                total += round(float(value), 1)
            outcomes.append(reading.outcome(contrast, total))
        shares = np.zeros(len(system.classes))
        if len(outcomes) == 1:
            shares[system.compared[0]] = outcomes[0]
            shares[system.reference] = 1 - outcomes[0]
        else:
            shares[system.reference] = 1
            shares[system.compared] = outcomes
            shares /= shares.sum()
        found.append(shares)
    return np.array(found)


def of_sheet(sheet):
    """Return the reading of a sheet in millimetres."""
    texts = [(mark.text, mark.x, mark.y) for mark in sheet.marks if hasattr(mark, "text")]
    places = {(at.ruler, at.contrast, at.state, *at.given): at.x for at in sheet.places}
    return Reading(texts, places, sheet.outcomes)
