"""The curves view of the real page: exported, and of a run that is still training."""

import json
import time
import unittest

from browser import Keys, ViewerTest
from stand_in import StandIn, exported_with, index

LINES = [
    {"step": 100, "epoch": 0, "loss": 2.0, "learning_rate": 0.001, "items_per_second": 900.0, "seconds": 30.0},
    {"step": 200, "epoch": 0, "loss": 1.0, "learning_rate": 0.002, "items_per_second": 950.0, "seconds": 60.0},
    {"step": 300, "epoch": 0, "loss": 0.8, "learning_rate": 0.0015, "items_per_second": None, "seconds": 90.0},
    {"step": 300, "epoch": 0, "seconds": 96.0, "valid": {"PER": 20.0, "WER": 50.0, "loss": 0.9, "perplexity": 2.46}},
    {"step": 400, "epoch": 1, "loss": 0.5, "learning_rate": 0.001, "items_per_second": 940.0, "seconds": 120.0},
    {"step": 400, "epoch": 1, "seconds": 126.0, "valid": {"PER": 12.5, "WER": 40.0, "loss": 0.6, "perplexity": 1.82}},
]
BAD = [None, 7, "text", [1, 2], {}, {"loss": 0.1}, {"step": None, "loss": 3}, {"step": 450, "loss": None}, {"step": "x", "loss": 1}]
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 10, 22  # what curves.js leaves around a plot


class Run:
    """metrics.jsonl as the server reads it."""

    def __init__(self, lines, finished=False):
        self.text = "".join(json.dumps(line) + "\n" for line in lines)
        self.finished = finished
        self.failure = None
        self.most = None  # bytes of one answer
        self.record = index(has_metrics=True, run={"name": "a-run", "system": "B3", "can_try": False, "try_hint": ""})

    def add(self, *lines):
        self.text += "".join(json.dumps(line) + "\n" for line in lines)

    def __call__(self, key, body):
        if key == "record":
            return self.record
        if not key.startswith("metrics?from="):
            raise KeyError(key)
        if self.failure:
            return self.failure
        start = int(key.split("=")[1])
        if start > len(self.text):
            start = 0
        end = len(self.text)
        if self.most and start + self.most < end:
            end = self.text.rindex("\n", start, start + self.most) + 1
        lines = [json.loads(line) for line in self.text[start:end].splitlines()]
        return {"next": end, "lines": lines, "finished": self.finished and end == len(self.text)}


class CurvesTest(ViewerTest):
    def exported(self, lines, name, **state):
        keys = {"record": index(has_metrics=True, served=False), "metrics?from=0": {"next": 1, "lines": lines, "finished": True}}
        address = exported_with(self.folder.name, name, keys)
        self.browser.open(address + "#" + "&".join(f"{key}={value}" for key, value in {"view": "curves", **state}.items()))
        self.browser.settle()
        return self.browser

    def charts(self):
        return self.browser.js("return [...document.querySelectorAll('.curve')].map(c => c.dataset.quantity)")

    def values(self, quantity):
        return self.browser.js("return [...document.querySelectorAll(arguments[0])].map(v => v.textContent)", f".curve[data-quantity='{quantity}'] .curve-value")

    def table(self):
        rows = self.browser.js("return [...document.querySelectorAll('.last-values tbody tr')].map("
                               "row => [row.dataset.quantity, ...[...row.querySelectorAll('td')].map(cell => cell.textContent)])")
        return {name: cells for name, *cells in rows}

    def read_out(self):
        return self.browser.text(".read-out")

    def canvas(self, quantity):
        return f".curve[data-quantity='{quantity}'] canvas"

    def curve_at(self, quantity, part, colour="accent"):
        """The height, in parts of the plot, at which a curve crosses a part of the width; None where it doesn't."""
        return self.browser.js("""
          const [selector, part, LEFT, RIGHT, TOP, BOTTOM, source] = arguments, c = document.querySelector(selector), box = c.getBoundingClientRect();
          const x = Math.round(LEFT + part * (box.width - LEFT - RIGHT)), tall = box.height - TOP - BOTTOM;
          const wanted = source === 'accent' ? attend.colours.accent() : attend.chart.palette().second.match(/\\d+/g).map(Number);
          const d = c.getContext('2d').getImageData(x, 0, 1, c.height).data, hits = [];
          for (let y = 0; y < c.height; ++y) if (d[y * 4 + 3] > 150 && wanted.every((v, i) => Math.abs(v - d[y * 4 + i]) < 50)) hits.push(y);
          return hits.length ? 1 - (hits.reduce((a, b) => a + b) / hits.length - TOP) / tall : null;""",
                               self.canvas(quantity), part, LEFT, RIGHT, TOP, BOTTOM, colour)

    # Exported

    def test_an_exported_page_has_all_lines_at_once(self):
        browser = self.exported(LINES, "lines")
        self.hide(False)
        browser.settle()
        self.assertEqual(self.values("loss"), ["training 0.5", "validation 0.6"])
        self.assertFalse(browser.find(".curves-status").is_displayed())

    def test_a_chart_for_each_quantity(self):
        browser = self.exported(LINES, "lines")
        self.assertEqual(self.charts(), ["loss", "PER", "WER", "perplexity", "learning_rate", "items_per_second"])
        self.assertEqual(self.values("loss"), ["training 0.5", "validation 0.6"])
        self.assertEqual(self.values("PER"), ["validation 12.5"])
        self.assertEqual(browser.text(".curve[data-quantity='learning_rate'] h3"), "learning rate")
        browser.screenshot("curves-light")

    def test_curves_lie_where_their_values_are(self):
        self.exported(LINES, "lines")
        high = 2.0 + 1.5 * 0.06  # the axis: from 0 to a little above the largest
        for part, loss in [(0.5, 1.0), (0.625, 0.9), (0.75, 0.8)]:
            self.assertAlmostEqual(self.curve_at("loss", part), loss / high, delta=0.03)
        self.assertAlmostEqual(self.curve_at("loss", 0.875, "second"), 0.75 / high, delta=0.03)
        self.assertIsNone(self.curve_at("loss", 0.1))
        self.assertIsNone(self.curve_at("PER", 0.5, "second"))

    def test_last_values(self):
        self.exported(LINES, "lines")
        table = self.table()
        self.assertEqual(table["loss"], ["0.5", "0.6", "0.6 at 400", "0.9 at 300"])
        self.assertEqual(table["PER"], ["–", "12.5", "12.5 at 400", "20 at 300"])
        self.assertEqual(table["learning_rate"], ["0.001", "–", "0.001 at 100", "0.002 at 200"])

    def test_minutes(self):
        browser = self.exported(LINES, "lines")
        browser.click("label[for$='-minutes']")
        self.assertEqual(browser.address()["along"], "minutes")
        high = 2.0 + 1.5 * 0.06
        self.assertAlmostEqual(self.curve_at("loss", 60 / 126), 1.0 / high, delta=0.03)

    def test_logarithmic_loss(self):
        import math
        browser = self.exported(LINES, "lines")
        browser.click("label[for$='-log']")
        self.assertEqual(browser.address()["loss"], "log")
        low, high = 0.5 / 1.08, 2.0 * 1.08
        for part, loss in [(0.5, 1.0), (0.75, 0.8)]:
            self.assertAlmostEqual(self.curve_at("loss", part), math.log(loss / low) / math.log(high / low), delta=0.03)
        self.assertGreater(self.curve_at("PER", 0.9, "second"), 0)  # others stay

    def test_smoothing(self):
        browser = self.exported(LINES, "lines")
        before = self.curve_at("loss", 1.0)
        browser.choose(browser.labelled("Smoothing"), 0.9)
        self.assertGreater(self.curve_at("loss", 1.0), before + 0.1)
        self.assertEqual(browser.address()["smoothing"], "0.9")
        self.assertEqual(self.values("loss")[0], "training 0.5")  # what is read stays as it was written

    def test_the_pointer_reads_all_charts(self):
        browser = self.exported(LINES, "lines")
        width = browser.js("return document.querySelector(arguments[0]).getBoundingClientRect().width", self.canvas("PER"))
        browser.point(self.canvas("PER"), LEFT + 0.51 * (width - LEFT - RIGHT), 60)
        self.assertEqual(self.read_out(), "step 200, 1.0 min, epoch 0")
        self.assertEqual(self.values("loss"), ["training 1", "validation 0.9 (step 300)"])
        self.assertEqual(self.values("learning_rate"), ["training 0.002"])
        browser.point("#title", 2, 2)
        self.assertTrue(self.read_out().startswith("Last: step 400"))

    def test_keys_move_along(self):
        browser = self.exported(LINES, "lines")
        browser.focus(".curves")
        browser.keys(Keys.HOME, Keys.ARROW_RIGHT)
        self.assertEqual(self.read_out(), "step 200, 1.0 min, epoch 0")
        browser.wait("return document.querySelector('#announcements').textContent.includes('loss: training 1')")
        browser.keys(Keys.END, Keys.ARROW_RIGHT)
        self.assertEqual(self.read_out(), "step 400, 2.1 min, epoch 1")
        browser.keys(Keys.ARROW_LEFT)
        self.assertEqual(self.values("PER"), ["validation 20"])
        browser.keys(Keys.ESCAPE)
        self.assertTrue(self.read_out().startswith("Last:"))

    def test_bad_lines_are_left_out_and_counted(self):
        browser = self.exported(BAD[:5] + LINES + BAD[5:], "bad")
        self.assertEqual(self.table()["loss"][0], "0.5")
        self.assertIn("8 of 15 lines could not be read", browser.text(".curves-status"))

    def test_steps_that_are_written_again_replace_the_old_ones(self):
        self.exported(LINES + [{"step": 200, "loss": 1.5, "seconds": 200.0}, {"step": 300, "loss": 1.25, "seconds": 230.0}], "resumed")
        self.assertEqual(self.table()["loss"][0], "1.25")
        self.browser.focus(".curves")
        self.browser.keys(Keys.HOME, Keys.ARROW_RIGHT)
        self.assertEqual(self.values("loss")[0], "training 1.5")

    def test_names_of_quantities_are_texts(self):
        browser = self.exported([{"step": 1, "<img src=x>": 2, "constructor": 3, "valid": {"__proto__x": 4, "<b>": 5}}], "hostile")
        self.assertEqual(self.charts(), ["<img src=x>", "constructor", "__proto__x", "<b>"])
        self.assertEqual(len(browser.all(".curves img, .curves b")), 0)

    def test_one_line_and_none(self):
        self.exported(LINES[:1], "one")
        self.assertEqual(self.values("loss"), ["training 2"])
        self.assertIsNotNone(self.curve_at("loss", 1.0))
        self.exported([], "no-lines")
        self.assertIn("no metrics", self.browser.text(".view .empty"))

    def test_many_lines_stay_quick(self):
        many = [{"step": i, "seconds": i / 10, "loss": 1 + (i % 7) / 10, "learning_rate": 1 / (i + 1)} for i in range(1, 40001)]
        browser = self.exported(many, "many")
        start = time.monotonic()
        browser.choose(browser.labelled("Smoothing"), 0.9)
        self.assertLess(time.monotonic() - start, 2)
        self.assertIsNotNone(self.curve_at("loss", 0.5))

    def test_dark_and_narrow(self):
        browser = self.exported(LINES, "lines", theme="dark")
        self.assertIsNotNone(self.curve_at("loss", 0.5))
        browser.size(400, 800)
        self.exported(LINES, "lines", theme="dark")
        self.assert_fits(400)
        self.assertIsNotNone(self.curve_at("loss", 0.5))
        browser.screenshot("curves-narrow")

    # Served

    def test_new_lines_appear(self):
        run = Run(LINES[:4])
        with StandIn(self.folder.name, run) as server:
            browser = self.browser
            browser.open(server.address + "#view=curves")
            self.assertEqual(self.values("loss")[0], "training 0.8")
            self.assertIn("Training", browser.text(".curves-status"))
            run.add(*LINES[4:])
            browser.wait("return document.querySelector('.curve[data-quantity=loss] .curve-value').textContent === 'training 0.5'")
            self.assertEqual(self.table()["PER"][1], "12.5")
            self.assertEqual(server.keys().count("metrics?from=0"), 1)
            run.add({"step": 500, "chrf": 0.5})
            browser.wait("return document.querySelectorAll('.curve').length === 7")

    def test_long_runs_come_in_parts_without_waiting(self):
        run = Run([{"step": i, "loss": 1.0 + i / 10000, "seconds": i / 10} for i in range(1, 9001)], finished=True)
        run.most = 100_000
        with StandIn(self.folder.name, run) as server:
            self.browser.open(server.address + "#view=curves")
            start = time.monotonic()
            self.browser.wait("return document.querySelector('.curves-status').textContent === 'The run has finished.'")
            self.assertLess(time.monotonic() - start, 1.5)
            self.assertEqual(self.values("loss")[0], "training 1.9")
            self.assertGreater(len(server.keys()), 4)

    def test_a_finished_run_is_not_asked_again(self):
        run = Run(LINES)
        with StandIn(self.folder.name, run) as server:
            browser = self.browser
            browser.open(server.address + "#view=curves")
            run.finished = True
            browser.wait("return document.querySelector('.curves-status').textContent === 'The run has finished.'")
            asked = len(server.keys())
            time.sleep(2.5)
            self.assertEqual(len(server.keys()), asked)
            browser.wait("return document.querySelector('#announcements').textContent.includes('finished')")

    def hide(self, hidden):
        self.browser.js("const [hidden] = arguments; Object.defineProperty(document, 'hidden', {configurable: true, get: () => hidden});"
                        "document.dispatchEvent(new Event('visibilitychange'))", hidden)

    def test_a_hidden_page_asks_nothing(self):
        run = Run(LINES[:4])
        with StandIn(self.folder.name, run) as server:
            browser = self.browser
            browser.open(server.address + "#view=curves")
            self.hide(True)
            time.sleep(2.5)  # a question may have been on its way
            asked = len(server.keys())
            time.sleep(2.5)
            self.assertEqual(len(server.keys()), asked)
            run.add(*LINES[4:])
            self.hide(False)
            browser.wait("return document.querySelector('.curve[data-quantity=loss] .curve-value').textContent === 'training 0.5'")

    def test_other_views_ask_nothing(self):
        run = Run(LINES)
        run.record["run"]["can_try"] = True
        with StandIn(self.folder.name, run) as server:
            browser = self.browser
            browser.open(server.address + "#view=curves")
            browser.click("#tab-try")
            time.sleep(0.5)
            asked = len(server.keys())
            time.sleep(2.5)
            self.assertEqual(len(server.keys()), asked)

    def test_failures_are_shown_and_overcome(self):
        self.allowed = "500"
        run = Run(LINES[:4])
        with StandIn(self.folder.name, run) as server:
            browser = self.browser
            browser.open(server.address + "#view=curves")
            run.failure = (500, {"error": "metrics.jsonl can't be read"})
            browser.wait("return document.querySelector('.curves-status').textContent.includes(\"metrics.jsonl can't be read\")")
            self.assertEqual(self.values("loss")[0], "training 0.8")
            run.failure = None
            run.add(*LINES[4:])
            browser.wait("return document.querySelector('.curve[data-quantity=loss] .curve-value').textContent === 'training 0.5'")
            self.assertNotIn("can't", browser.text(".curves-status"))

    def test_a_wrong_answer_is_shown(self):
        run = Run([])
        run.failure = (200, {"something": "else"})
        with StandIn(self.folder.name, run) as server:
            self.browser.open(server.address + "#view=curves")
            self.assertIn("different versions", self.browser.text(".curves-status"))

    def test_a_run_that_starts_anew(self):
        run = Run(LINES)
        with StandIn(self.folder.name, run) as server:
            browser = self.browser
            browser.open(server.address + "#view=curves")
            self.assertEqual(self.values("loss")[0], "training 0.5")
            run.text = ""
            run.add({"step": 10, "loss": 7.0, "seconds": 1.0})
            browser.wait("return document.querySelector('.curve[data-quantity=loss] .curve-value')?.textContent === 'training 7'")
            self.assertEqual(self.charts(), ["loss"])

    def test_a_run_that_has_not_written_yet(self):
        run = Run([])
        with StandIn(self.folder.name, run) as server:
            browser = self.browser
            browser.open(server.address)  # the only view there is
            self.assertEqual(browser.view(), "curves")
            self.assertIn("no metrics yet", browser.text(".view .empty"))
            run.add(*LINES)
            browser.wait("return document.querySelectorAll('.curve').length === 6")


if __name__ == "__main__":
    unittest.main(verbosity=2)
