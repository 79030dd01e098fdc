"""The papers' figures in resources/reference/paper_figures.json: each printed result follows from the printed numbers
that it was computed from, within their rounding. Only sentences of the text do not ("doubts" in the file)."""

import itertools
import json
import pathlib
import statistics
import sys
import unittest

FIGURES = json.loads(pathlib.Path(sys.argv.pop(1)).read_text())
# Half a unit in the last printed place: seconds to 1e-4, tokens to 0.1, percent to 0.01.
MS, TOKENS, PERCENT = 0.05, 0.05, 0.005


def ends(value, half):
    return (value - half, value + half)


def spread(function, *intervals):
    """The least and the largest value over the corners; each function is monotonic in each of its arguments."""
    values = [function(*corner) for corner in itertools.product(*intervals)]
    return min(values), max(values)


def reduction(before, after):
    return 100 * (before - after) / before


class Figures(unittest.TestCase):
    def setUp(self):
        self.off = set()

    def follows(self, printed, half, bounds, *where):
        if not bounds[0] - half - 1e-9 <= printed <= bounds[1] + half + 1e-9:
            self.off.add(where)

    def rows(self):
        for series in FIGURES["series"]:
            points = dict(map(tuple, series["points"]))
            for row in series.get("rows", []):
                self.assertIn(row["size"], points)
                tokens = row["size"] * series["batch" if series["over"] == "seq" else "seq"]
                yield series, row, points[row["size"]], tokens

    def test_series(self):
        checked = 0
        for series, row, percent, tokens in self.rows():
            where = (series["source"], series["model"], str(row["size"]))
            if "before_ms" in row:
                times = [ends(row[name], MS) for name in ("before_ms", "after_ms")]
                self.follows(percent, PERCENT, spread(reduction, *times), *where, "reduction")
            if "tokens_before" in row:
                rates = [ends(row[name], TOKENS) for name in ("tokens_before", "tokens_after")]
                self.follows(percent, PERCENT, spread(lambda a, b: reduction(b, a), *rates), *where, "throughput")
                gain = spread(lambda a, b: b - a, *rates)
                self.follows(row["tokens_gain"], TOKENS, gain, *where, "gain")
            if "before_ms" in row and "tokens_before" in row:
                for rate, time in zip(("tokens_before", "tokens_after"), times):
                    self.follows(row[rate], TOKENS, spread(lambda ms: 1000 * tokens / ms, time), *where, rate)
            checked += 1
        self.assertGreater(checked, 30)
        self.assertEqual(self.off, set())

    def test_folds(self):
        for fold in FIGURES["folds"]:
            where = (fold["source"], fold["model"], fold["device"])
            exact = fold["source"].startswith("000")  # microseconds to 0.01
            before, after = (ends(fold[name], 5e-6 if exact else MS) for name in ("before_ms", "after_ms"))
            half = 0.05 if fold["device"].startswith("RTX") else PERCENT
            self.follows(fold["reduction_percent"], half, spread(reduction, before, after), *where, "reduction")
            if "init_ms" in fold:
                parts = ends(fold["fold_ms"], MS), ends(fold["init_ms"], MS)
                self.follows(fold["ratio_percent"], PERCENT, spread(lambda f, i: 100 * f / (f + i), *parts), *where, "ratio")
            if fold["break_even"]:
                runs = spread(lambda f, b, a: f / (b - a), ends(fold["fold_ms"], MS), before, after)
                self.follows(fold["break_even"], 0.05, runs, *where, "break-even")
        self.assertEqual(self.off, set())

    def test_shares(self):
        for row in FIGURES["shares"]:
            share = 100 * row["layer_norm"] / row["total"]
            self.follows(row["share_percent"], PERCENT, (share, share), row["model"], "share")
            # "a 50% to 80% reduction for the normalization layer itself"
            self.follows(row["expected_percent"], 0.25, (0.5 * share, 0.8 * share), row["model"], "expected")
        self.assertEqual(self.off, set())

    def test_runtimes_and_memory(self):
        for row in FIGURES["runtimes"]:
            for kind in ("", "cuda_"):
                times = [ends(row[kind + name], 5e-4) for name in ("before", "after")]
                self.follows(row[kind + "reduction_percent"], PERCENT, spread(reduction, *times), row["model"], kind)
        for row in FIGURES["memory"]:
            exact = reduction(row["before_bytes"], row["after_bytes"])
            self.follows(row["reduction_percent"], 5e-4, (exact, exact), row["model"], "memory")
        self.assertEqual(self.off, set())

    def test_runs(self):
        for row in FIGURES["runs"]:
            for before, after, printed in zip(row["before_us"], row["after_us"], row["reduction_percent"]):
                times = ends(before, 0.005), ends(after, 0.005)
                self.follows(printed, PERCENT, spread(reduction, *times), printed)
            for name in ("before_us", "after_us", "reduction_percent"):
                mean = statistics.mean(row[name])
                self.follows(row["average_" + name], 0.005, (mean - 0.005, mean + 0.005), name)
        self.assertEqual(self.off, set())

    def test_sentences_that_their_tables_do_not_bear_out(self):
        for doubt in FIGURES["doubts"]:
            rows = FIGURES[doubt["table"]]
            if doubt["table"] == "series":
                rows = [
                    row
                    for series in rows
                    if series["model"] == doubt["model"]
                    for row in series["rows"]
                    if row["size"] == doubt["size"]
                ]
            values = [row[doubt["value"]] for row in rows if row.get("device") == doubt.get("device")]
            values = [value for value in values if value is not None]
            self.assertTrue(values, doubt["says"])
            half = 0.5  # of the sentence's whole numbers
            inside = all(doubt["low"] - half <= value <= doubt["high"] + half for value in values)
            self.assertFalse(inside, doubt["says"])


if __name__ == "__main__":
    unittest.main()
