"""The sequence view of the real page: weights over time, below sound and tokens."""

import array
import math
import unittest

import pages
from browser import Keys, ViewerTest

RATE, SECONDS = 8000, 2
WORDS = ["The", "<i>gate</i>", "is", "open", "."]
GATES = [[0.1, 0.9, 0.5, 0.3, 0.7], [0.4, math.nan, 0.2, 0.6, 0.0]]
HEADS = [[0.02] * 25 + [0.5] * 25 + [0.02] * 50, [0.02] * 75 + [0.9] * 25]
SOUND, FINE = 0, 1            # items of the first example
GATE, STEPS, EMPTY, SINGLE, ROWS, TARGETS = range(6)  # of the second
LEFT, RIGHT, TOP, BOTTOM = 44, 8, 8, 9  # what sequence.js leaves around the curves


def sequences(file):
    """A sound that is loud in its second quarter only, and words."""
    record = pages.Recording()
    e = record.example("sound", [], [])
    count = RATE * SECONDS
    record.sound(e, RATE, array.array("f", (math.sin(i) * (0.8 if count // 4 <= i < count // 2 else 0.01) for i in range(count))))
    record.item(e, "pool", "temporal", ["head", "time"], [2, 100], sum(HEADS, []))
    record.item(e, "fine", "temporal", ["time"], [6000], [math.nan if 3000 <= i < 3100 else 0.8 if i % 2 else 0.2 for i in range(6000)])
    e = record.example("words", WORDS, ["a", "b"])
    record.item(e, "gru", "temporal", ["gate", "time"], [2, 5], sum(GATES, []))
    record.item(e, "steps", "temporal", ["time"], [3], [2.0, 4.0, 1.0])
    record.item(e, "empty", "temporal", ["time"], [0], [])
    record.item(e, "single", "temporal", ["time"], [1], [0.5])
    record.item(e, "rows", "temporal", ["head", "row", "time"], [2, 450, 4], [0.25] * (2 * 450 * 4))
    record.item(e, "targets", "temporal", ["target"], [2], [0.5, 0.25])
    return record.save(file)


class SequenceTest(ViewerTest):
    def show(self, example, item, **state):
        browser = self.open(sequences, example=example, item=item, view="sequence", **state)
        browser.settle()
        return browser

    def canvas(self, row=0):
        return f".chart-row[data-row='{row}'] canvas"

    def plot(self, canvas):
        width, height = self.browser.js("const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.width, b.height]", canvas)
        return LEFT, TOP, width - LEFT - RIGHT, height - TOP - BOTTOM

    def at(self, part, height, row=0):
        """Pixels of a row's canvas, at a part of its time and its height."""
        left, top, width, tall = self.plot(self.canvas(row))
        return left + part * width, top + (1 - height) * tall

    def colour(self, part, height, row=0):
        return self.browser.pixel(self.canvas(row), *self.at(part, height, row))

    def is_line(self, part, height, row=0, slack=2):
        """Whether the curve passes within so many pixels."""
        x, y = self.at(part, height, row)
        accent = self.browser.js("return attend.colours.accent()")
        pixels = [self.browser.pixel(self.canvas(row), x, y + shift) for shift in range(-slack, slack + 1)]
        return any(pixel[3] > 200 and all(abs(a - b) < 60 for a, b in zip(pixel, accent)) for pixel in pixels)

    def read_out(self):
        return self.browser.text(".read-out")

    # Below tokens

    def test_curves_go_through_their_weights(self):
        self.show(1, GATE)
        for row in range(2):
            for place, weight in enumerate(GATES[row]):
                if not math.isnan(weight):
                    self.assertTrue(self.is_line((place + 0.5) / 5, weight, row), f"no curve at {weight} of place {place} in row {row}")
                    self.assertFalse(self.is_line((place + 0.5) / 5, weight + 0.2 if weight < 0.5 else weight - 0.2, row))
        self.browser.screenshot("sequence-light")

    def test_the_area_below_the_curve_is_tinted(self):
        self.show(1, GATE)
        self.assertGreater(self.colour(0.5, 0.2)[3], 0)
        self.assertEqual(self.colour(0.5, 0.72)[3], 0)

    def test_not_a_number_breaks_the_curve(self):
        self.show(1, GATE)
        missing = self.browser.js("return attend.colours.missing()")
        seen = [self.colour((1 + part / 10) / 5, 0.8, 1)[:3] for part in range(1, 10)]
        self.assertIn(missing, seen)
        self.assertIn("1 not a number", self.browser.text(".chart-row[data-row='1'] h3"))

    def test_the_pointer_reads_token_and_weight(self):
        browser = self.show(1, GATE)
        browser.point(self.canvas(0), *self.at(0.3, 0.5))
        self.assertEqual(self.read_out(), "gate 1, time 2 of 5, “<i>gate</i>”: 0.9")
        browser.point(self.canvas(1), *self.at(0.3, 0.5, 1))
        self.assertEqual(self.read_out(), "gate 2, time 2 of 5, “<i>gate</i>”: not a number")
        self.assertEqual(len(browser.all(".view i")), 0)

    def test_tokens_stand_below(self):
        """Something is written below each place, in the colour of quiet text."""
        browser = self.show(1, GATE)
        for place in range(5):
            inked = browser.js("""
              const c = document.querySelector('.chart-axis canvas'), [from, to] = arguments;
              const d = c.getContext('2d').getImageData(from, 0, to - from, c.height).data;
              let count = 0;
              for (let i = 3; i < d.length; i += 4) if (d[i] > 100) ++count;
              return count;""", *(round(self.at((place + shift) / 5, 0)[0]) for shift in (0.1, 0.9)))
            self.assertGreater(inked, 1, f"nothing stands below place {place}")

    def test_an_axis_of_target_tokens_has_their_names(self):
        browser = self.show(1, TARGETS)
        browser.focus(".chart-rows")
        browser.keys(Keys.END)
        self.assertEqual(self.read_out(), "target 2 of 2, “b”: 0.25")

    def test_steps_without_tokens_are_numbers(self):
        browser = self.show(1, STEPS)
        browser.focus(".chart-rows")
        browser.keys(Keys.HOME)
        self.assertEqual(self.read_out(), "time 1 of 3: 2")
        self.assertTrue(self.is_line(0.5, 1.0))  # 4 is the largest

    # Below sound

    def test_the_sound_stands_above(self):
        browser = self.show(0, SOUND)
        wave = ".chart-row[data-row=''] canvas"
        left, top, width, height = self.plot(wave)
        quiet, loud = (self.browser.pixel(wave, left + width * part, top + height * 0.2) for part in (0.1, 0.375))
        self.assertNotEqual(quiet, loud)
        middle = self.browser.pixel(wave, left + width * 0.1, top + height / 2)
        self.assertGreater(middle[3], 200)
        self.assertIn("2.00 s, 8000 samples a second", browser.text(".chart-row[data-row=''] h3"))
        browser.screenshot("sequence-sound")

    def test_weight_is_tinted_behind_the_sound(self):
        browser = self.show(0, SOUND)
        wave = ".chart-row[data-row=''] canvas"
        left, top, width, height = self.plot(wave)
        tint = lambda part: browser.pixel(wave, left + width * part, 2)[3]
        self.assertGreater(tint(0.375), 50)  # head 1 looks at the second quarter
        self.assertLess(tint(0.9), 20)
        browser.focus(".chart-rows")
        browser.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
        self.assertIn("head 2", self.read_out())
        self.assertGreater(tint(0.9), 50)  # head 2 at the last
        self.assertLess(tint(0.375), 20)

    def test_the_pointer_reads_seconds(self):
        browser = self.show(0, SOUND)
        browser.point(self.canvas(1), *self.at(0.805, 0.5, 1))
        self.assertEqual(self.read_out(), "head 2, 1.610 s (time 81 of 100): 0.9")
        left, top, width, height = self.plot(".chart-row[data-row=''] canvas")
        browser.point(".chart-row[data-row=''] canvas", left + width * 0.305, 20)
        self.assertEqual(self.read_out(), "head 2, 0.610 s (time 31 of 100): 0.02")

    def test_more_places_than_pixels(self):
        browser = self.show(0, FINE)
        self.assertTrue(self.is_line(0.25, 0.5, slack=12))  # the mean of 0.2 and 0.8, of five or six in a pixel
        self.assertGreater(self.colour(0.25, 0.75)[3], 0)  # up to the largest
        self.assertEqual(self.colour(0.25, 0.9)[3], 0)
        self.assertEqual(self.colour(3050 / 6000, 0.9)[:3], browser.js("return attend.colours.missing()"))
        self.assertIn("more places than pixels", browser.text(".chart-note"))
        for _ in range(9):
            browser.click("[aria-label='Enlarge']")
        self.assertRegex(browser.text(".span-shown"), r"^1\.00–1\.00 s of 2\.00 s$")
        self.assertEqual(browser.text(".chart-note"), "")

    # Keys and settings

    def test_keys_move_and_are_announced(self):
        browser = self.show(1, GATE)
        browser.focus(".chart-rows")
        browser.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
        self.assertEqual(self.read_out(), "gate 2, time 3 of 5, “is”: 0.2")
        browser.wait("return document.querySelector('#announcements').textContent === arguments[0]", self.read_out())
        browser.keys(Keys.ESCAPE)
        self.assertIn("Point at a place", self.read_out())

    def test_scales(self):
        browser = self.show(1, GATE)
        self.assertTrue(self.is_line(0.3, 0.9, 0))
        browser.click("label[for$='-own']")
        self.assertEqual(browser.address()["range"], "own")
        self.assertTrue(self.is_line(0.7, 1.0, 1))  # 0.6 is the largest of its row
        browser.click("label[for$='-unit']")
        self.assertTrue(self.is_line(0.7, 0.6, 1))

    def test_another_panel_has_other_rows(self):
        browser = self.show(1, ROWS)
        self.assertEqual(len(browser.all(".chart-row:not(.chart-axis)")), 400)
        self.assertIn("The first 400 rows of 450", browser.text(".chart-note"))
        browser.keys(".")
        self.assertEqual(browser.address()["panel"], "1")
        self.assertTrue(self.is_line(0.5, 0.25))

    def test_rows_far_below_are_drawn_when_they_are_reached(self):
        browser = self.show(1, ROWS)
        self.assertEqual(browser.js("return document.querySelector(arguments[0]).width", self.canvas(350)), 1)
        browser.js("document.querySelector(arguments[0]).scrollIntoView()", self.canvas(350))
        browser.wait("return document.querySelector(arguments[0]).width > 100", self.canvas(350))
        self.assertTrue(self.is_line(0.5, 0.25, 350))

    def test_empty_and_single(self):
        self.show(1, EMPTY)
        self.assertIn("no weights over time", self.browser.text(".view .empty"))
        browser = self.show(1, SINGLE)
        self.assertTrue(self.is_line(0.5, 0.5))
        browser.focus(".chart-rows")
        browser.keys(Keys.ARROW_RIGHT)
        self.assertEqual(self.read_out(), "time 1 of 1: 0.5")

    def test_dark_and_narrow(self):
        browser = self.show(1, GATE)
        browser.click("#theme")
        self.assertTrue(self.is_line(0.3, 0.9))
        browser.screenshot("sequence-dark")
        browser.size(400, 800)
        for example, items in [(0, 2), (1, 6)]:
            for item in range(items):
                self.show(example, item)
                self.assert_fits(400)
        self.show(1, GATE)
        self.assertTrue(self.is_line(0.3, 0.9))


if __name__ == "__main__":
    unittest.main(verbosity=2)
