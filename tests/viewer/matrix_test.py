"""The matrix view of the real page: pixels, pointer, keys, address, times."""

import math
import statistics
import unittest

import pages
from browser import Keys, ViewerTest

MAP = "canvas.map"


class MatrixTest(ViewerTest):
    def geometry(self):
        values = self.browser.js("const d = document.querySelector('canvas.map').dataset; return [d.x, d.y, d.cellWidth, d.cellHeight, d.left, d.top].map(Number)")
        return dict(zip(("x", "y", "width", "height", "left", "top"), values))

    def place(self, row, column):
        """Pixels of the canvas inside of a cell, near its corner, where no number is written."""
        g = self.geometry()
        return g["x"] + (column - g["left"] + 0.15) * g["width"], g["y"] + (row - g["top"] + 0.2) * g["height"]

    def colour(self, row, column):
        return self.browser.pixel(MAP, *self.place(row, column))

    def expected(self, fraction):
        """The ramp's colour; the ramp itself is checked in shell_test.py."""
        return self.browser.js("return attend.colours.of(arguments[0])", fraction) + [255]

    def point(self, row, column, click=False):
        self.browser.point(MAP, *self.place(row, column), click=click)

    def read(self):
        """The inspector's terms and what they say."""
        return dict(self.browser.js("return [...document.querySelectorAll('.inspector dl:not(.inspector dl dl) > dt')].map(t => [t.textContent, t.nextSibling.textContent])"))

    def weights(self, head=0, heads=3):
        count = len(pages.TARGET) * len(pages.SOURCE)
        flat = pages.alignment(heads, len(pages.TARGET), len(pages.SOURCE))[head * count:(head + 1) * count]
        return [flat[r * len(pages.SOURCE):(r + 1) * len(pages.SOURCE)] for r in range(len(pages.TARGET))]

    def close(self, seen, wanted, slack=3):
        self.assertEqual(len(seen), len(wanted))
        self.assertTrue(all(abs(a - b) <= slack for a, b in zip(seen, wanted)), f"expected the colour {wanted}, got {seen}")

    # What is drawn

    def test_cells_have_the_colours_of_their_weights(self):
        self.open(pages.small)
        self.assertEqual(self.browser.view(), "matrix")
        weights = self.weights()
        for row, column in [(0, 0), (3, 3), (5, 9), (11, 10), (11, 0)]:
            self.close(self.colour(row, column), self.expected(weights[row][column]))
        self.browser.screenshot("matrix-light")

    def test_another_head_has_its_own_weights(self):
        self.open(pages.small, panel=2)
        weights = self.weights(2)
        for row, column in [(0, 0), (6, 5)]:
            self.close(self.colour(row, column), self.expected(weights[row][column]))

    def test_full_scale_and_logarithm(self):
        weights = self.weights()
        largest = max(max(row) for row in weights)
        self.open(pages.small, full="largest")
        self.close(self.colour(3, 3), self.expected(weights[3][3] / largest))
        self.browser.click("label[for$='-log']")
        self.close(self.colour(11, 4), self.expected(1 + math.log10(weights[11][4] / largest) / 4))
        self.assertEqual(self.browser.address()["scale"], "log")
        self.assertIn("logarithmic", self.browser.text(".legend"))

    def test_threshold_hides_the_weights_below(self):
        browser = self.open(pages.small)
        weights = self.weights()
        browser.choose(browser.labelled("Hide below"), 75)  # 10^(4 · 75/100 − 4) = 0.1
        self.assertEqual(browser.address()["threshold"], "0.1")
        self.assertLess(weights[0][3], 0.1)
        self.assertEqual(self.colour(0, 3)[3], 0)
        self.close(self.colour(0, 0), self.expected(weights[0][0]))
        self.assertIn("hidden", browser.text(".legend"))

    def test_not_a_number_has_its_own_colour(self):
        browser = self.open(pages.small, example=pages.MISSING)
        missing = browser.js("return attend.colours.missing()") + [255]
        for row, column in [(1, 0), (1, 3), (2, 2)]:
            self.close(self.colour(row, column), missing)
        self.close(self.colour(2, 1), self.expected(0.5))
        self.assertIn("not a number (5)", browser.text(".legend"))
        self.point(1, 1)
        self.assertEqual(self.read()["Weight"], "not a number")

    def test_dark_has_the_dark_ramp(self):
        browser = self.open(pages.small, theme="dark")
        self.assertEqual(browser.js("return document.documentElement.dataset.theme"), "dark")
        self.close(self.colour(0, 0), browser.js("return attend.colours.of(arguments[0], true)", self.weights()[0][0]) + [255])
        browser.screenshot("matrix-dark")

    def test_top_k_says_what_was_not_kept(self):
        browser = self.open(pages.small, example=pages.TOP)
        self.assertIn("only the 3 largest weights", browser.text("#facts"))
        self.assertEqual(self.colour(0, 9)[3], 0)
        self.assertIn("not kept", browser.text(".legend"))
        self.point(0, 9)
        self.assertEqual(self.read()["Weight"], "not kept")
        self.point(0, 0)
        self.assertEqual(self.read()["Rank in its row"], f"1 of {len(pages.SOURCE)}")

    def test_thumbnail_shows_blocks(self):
        browser = self.open(pages.small, example=pages.THUMBNAIL)
        self.assertIn("means of blocks of 10 × 10", browser.text("#facts"))
        self.point(2, 2)
        read = self.read()
        self.assertEqual(read["Mean weight of the block"], "0.1")
        self.assertEqual(read["Row 21 to 30 of 90 (target)"], "t20 … t29")

    def test_nothing_and_a_single_weight(self):
        browser = self.open(pages.small, example=pages.EMPTY)
        self.assertIn("0 rows × 0 columns", browser.text(".view"))
        browser = self.open(pages.small, example=pages.SINGLE)
        self.close(self.colour(0, 0), self.expected(1))

    # Tokens by strangers

    def test_tokens_are_text(self):
        browser = self.open(pages.small, example=pages.STRANGE)
        scripts = browser.js("return document.scripts.length")
        self.point(pages.STRANGE_TARGET.index(pages.SCRIPT_TOKEN), pages.STRANGE_SOURCE.index(pages.SCRIPT_TOKEN))
        read = self.read()
        self.assertEqual(read["Row 8 of 8 (target)"], pages.SCRIPT_TOKEN)
        self.assertIn(pages.SCRIPT_TOKEN, browser.text(".tip"))
        self.point(4, pages.STRANGE_SOURCE.index(pages.LONG_TOKEN))
        self.assertEqual(self.read()["Column 12 of 14 (source)"], pages.LONG_TOKEN)
        self.point(4, 12)
        self.assertNotIn("\u202e", self.read()["Column 13 of 14 (source)"])
        self.assertEqual(browser.js("return document.scripts.length"), scripts)
        browser.screenshot("matrix-tokens")

    def test_right_to_left_tokens_are_isolated(self):
        browser = self.open(pages.small, example=pages.STRANGE)
        self.point(0, 0)
        self.assertEqual(browser.js("const t = [...document.querySelectorAll('.inspector .token')].at(-1); return [t.tagName, t.textContent, getComputedStyle(t).direction]"),
                         ["BDI", "שלום", "rtl"])
        self.assertEqual(browser.js("return [attend.labels.direction('(שלום'), attend.labels.direction('abc שלום'), attend.labels.direction('123')]"), ["rtl", "ltr", "ltr"])

    # Pointer

    def test_pointing_reads_weight_rank_and_tokens(self):
        browser = self.open(pages.small)
        weights = self.weights()
        self.point(4, 6)
        read = self.read()
        self.assertEqual(float(read["Weight"]), float(f"{weights[4][6]:.4g}"))
        self.assertEqual(read["Rank in its row"], f"{1 + sum(w > weights[4][6] for w in weights[4])} of 11")
        self.assertEqual((read["Row 5 of 12 (target)"], read["Column 7 of 11 (source)"]), (pages.TARGET[4], pages.SOURCE[6]))
        self.assertTrue(browser.find(".tip").is_displayed())
        self.assertIn(pages.TARGET[4], browser.text(".tip"))
        accent = browser.js("return attend.colours.accent()")
        g = self.geometry()
        seen = browser.js("const e = document.querySelector('canvas.over'), d = e.getContext('2d').getImageData(0, 0, e.width, e.height);"
                          "const [x, y0, y1] = arguments; return Array.from({length: y1 - y0}, (_, i) => [...d.data.slice(((y0 + i) * d.width + x) * 4, ((y0 + i) * d.width + x) * 4 + 4)])",
                          round(g["x"] + 0.5 * g["width"]), round(g["y"] + 4 * g["height"]) - 3, round(g["y"] + 4 * g["height"]) + 3)
        self.assertTrue(any(pixel[3] > 100 and abs(pixel[2] - accent[2]) < 8 for pixel in seen), f"no cross-hair at the upper edge of the row: {seen}")
        browser.point("#title", 2, 2)
        self.assertFalse(browser.find(".tip").is_displayed())

    def test_a_click_keeps_the_cell_and_the_address_restores_it(self):
        self.open(pages.small)
        self.point(2, 5, click=True)
        self.assertEqual(self.browser.address()["cell"], "2.5")
        address = self.browser.driver.current_url
        self.browser.point("#title", 2, 2)
        self.assertEqual(self.read()["Row 3 of 12 (target)"], pages.TARGET[2])
        self.browser.open(address)
        self.assertEqual(self.read()["Row 3 of 12 (target)"], pages.TARGET[2])

    def test_wheel_zooms_where_the_pointer_is_and_dragging_moves(self):
        browser = self.open(pages.large)
        whole = self.geometry()
        x, y = self.place(1000, 1500)
        browser.js("const m = document.querySelector('canvas.map'), b = m.getBoundingClientRect();"
                   "m.dispatchEvent(new WheelEvent('wheel', {deltaY: -2000, clientX: b.left + arguments[0], clientY: b.top + arguments[1], bubbles: true, cancelable: true}))", x, y)
        browser.settle()
        zoomed = self.geometry()
        self.assertGreater(zoomed["width"], whole["width"] * 10)
        under = zoomed["left"] + (x - zoomed["x"]) / zoomed["width"]
        self.assertAlmostEqual(under, 1500, delta=1 / whole["width"] + 1)  # within the pixel
        browser.js("""const m = document.querySelector('canvas.map'), b = m.getBoundingClientRect();
            const send = (name, x, y) => m.dispatchEvent(new PointerEvent(name, {pointerId: 1, button: 0, clientX: b.left + x, clientY: b.top + y, bubbles: true}));
            m.setPointerCapture = () => {};
            send('pointerdown', 300, 300); send('pointermove', 280, 290); send('pointermove', 200, 250); send('pointerup', 200, 250);""")
        browser.settle()
        moved = self.geometry()
        self.assertAlmostEqual(moved["left"] - zoomed["left"], 100 / zoomed["width"], delta=0.1)
        self.assertAlmostEqual(moved["top"] - zoomed["top"], 50 / zoomed["height"], delta=0.1)
        self.assertNotIn("cell", self.browser.address())

    def test_two_fingers_zoom(self):
        browser = self.open(pages.large)
        whole = self.geometry()
        browser.js("""const m = document.querySelector('canvas.map'), b = m.getBoundingClientRect();
            const send = (name, id, x, y) => m.dispatchEvent(new PointerEvent(name, {pointerId: id, pointerType: 'touch', button: 0, clientX: b.left + x, clientY: b.top + y, bubbles: true}));
            m.setPointerCapture = () => {};
            send('pointerdown', 1, 300, 300); send('pointerdown', 2, 340, 300);
            send('pointermove', 1, 260, 300); send('pointermove', 2, 380, 300);
            send('pointerup', 1, 260, 300); send('pointerup', 2, 380, 300);""")
        browser.settle()
        self.assertAlmostEqual(self.geometry()["width"] / whole["width"], 3, delta=0.2)

    def test_labels_sort(self):
        browser = self.open(pages.small)
        weights = self.weights()
        g = self.geometry()
        browser.point(MAP, g["x"] - 12, g["y"] + 4.5 * g["height"], click=True)  # the label of row 4
        self.assertEqual(browser.address()["columns"], "4")
        self.close(self.colour(4, 0), self.expected(max(weights[4])))
        self.close(self.colour(4, 10), self.expected(min(weights[4])))
        browser.point(MAP, g["x"] - 12, g["y"] + 4.5 * g["height"], click=True)
        self.assertNotIn("columns", browser.address())
        browser.choose(browser.labelled("Rows"), "total")
        self.point(0, 0)
        totals = [sum(row) for row in self.weights()]
        self.assertAlmostEqual(max(totals), min(totals), places=6)  # rows of a softmax all sum to 1: equals keep their order
        browser.choose(browser.labelled("Columns"), "total")
        columns = [sum(row[c] for row in weights) for c in range(11)]
        self.point(0, 0)
        self.assertEqual(self.read()[f"Column {1 + columns.index(max(columns))} of 11 (source)"], pages.SOURCE[columns.index(max(columns))])

    # Keys

    def test_arrows_move_and_are_announced(self):
        browser = self.open(pages.small)
        browser.focus(MAP)
        browser.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
        self.assertEqual(browser.address()["cell"], "1.1")
        weight = f"{self.weights()[1][1]:.4g}"
        browser.wait("return document.getElementById('announcements').textContent.includes(arguments[0])", weight)
        self.assertIn(f"{pages.TARGET[1]}, {pages.SOURCE[1]}: {weight}, rank 1 of 11", browser.text("#announcements"))
        browser.keys(Keys.END)
        self.assertEqual(browser.address()["cell"], "1.10")
        browser.keys(Keys.ARROW_RIGHT, Keys.PAGE_DOWN, Keys.HOME)
        self.assertEqual(browser.address()["cell"], "11.0")
        browser.keys("r")
        self.assertEqual(browser.address()["columns"], "11")
        browser.keys("r", "c")
        self.assertEqual((browser.address().get("columns"), browser.address()["rows"]), (None, "0"))
        browser.keys("c", Keys.ESCAPE)
        self.assertNotIn("cell", browser.address())

    def test_plus_and_minus_zoom_and_shift_scrolls(self):
        browser = self.open(pages.large)
        whole = self.geometry()
        browser.focus(MAP)
        browser.keys("+", "+", "+", "+")
        self.assertAlmostEqual(self.geometry()["width"] / whole["width"], 1.5 ** 4, delta=0.01)
        before = self.geometry()["top"]
        browser.js("document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', shiftKey: true, bubbles: true}))")
        browser.settle()
        self.assertGreater(self.geometry()["top"], before)
        browser.keys("-")
        self.assertAlmostEqual(self.geometry()["width"] / whole["width"], 1.5 ** 3, delta=0.01)
        browser.keys("0")
        self.assertEqual(self.geometry(), whole)

    def test_the_cell_that_keys_reach_is_brought_into_view(self):
        browser = self.open(pages.large, zoom=60, cell="100.1900")
        browser.focus(MAP)
        browser.keys(Keys.ARROW_DOWN)
        g = self.geometry()
        self.assertLessEqual(g["top"], 101)
        self.assertGreater(g["left"], 1700)
        self.assertEqual(self.read()["Row 102 of 2048 (source)"], "tok101")

    # Address

    def test_values_out_of_range_fall_back(self):
        browser = self.open(pages.small, zoom="-3", left="x", top="1e99", cell="90.1", threshold="7", scale="cubic", full="", rows="99", columns="no")
        self.close(self.colour(0, 0), self.expected(self.weights()[0][0]))
        self.assertIn("Point at a cell", browser.text(".inspector"))

    # Size and time

    def test_a_large_map_shows_lone_peaks_and_is_fast(self):
        browser = self.open(pages.large)
        first = self.first_view()
        browser.screenshot("matrix-large")
        self.assertLess(first, 2000)
        self.assertRegex(browser.text(".legend"), r"A pixel covers [\d.]+ × [\d.]+ weights and shows the largest")
        g = self.geometry()
        x, y = g["x"] + 1900 * g["width"], g["y"] + 100 * g["height"]
        darkest, x, y = min((sum(browser.pixel(MAP, px, py)[:3]), px, py) for px in range(int(x) - 1, int(x) + 2) for py in range(int(y) - 1, int(y) + 2))
        self.assertLess(darkest, 300)
        browser.js("const m = document.querySelector('canvas.map'), b = m.getBoundingClientRect();"
                   "m.dispatchEvent(new PointerEvent('pointermove', {pointerId: 1, clientX: b.left + arguments[0] + 0.5, clientY: b.top + arguments[1] + 0.5, bubbles: true}))", x, y)
        self.assertEqual(self.read()["Weight"], "0.9")
        times = browser.hover_times(150, 120, 17, 13, 21)
        self.assertLess(statistics.median(time for time, _ in times), 50)   # from the event to the next frame
        self.assertLess(statistics.median(time for _, time in times), 25)   # the work alone
        print(f"2048 × 2048: first view {first:.0f} ms, hover {statistics.median(t for t, _ in times):.1f} ms to the next frame,"
              f" of which {statistics.median(t for _, t in times):.1f} ms work")

    def test_no_element_for_each_cell(self):
        self.open(pages.large)
        self.assertLess(self.browser.js("return document.querySelectorAll('*').length"), 400)

    def test_fits_a_narrow_window(self):
        browser = self.browser
        browser.size(400, 800)
        for example in (pages.WORDS, pages.STRANGE):
            self.open(pages.small, example=example, cell="1.1")
            self.assert_fits(400)
            browser.screenshot(f"matrix-narrow-{example}")
            self.assertLessEqual(browser.js("return document.querySelector('canvas.map').getBoundingClientRect().right"), 400)


if __name__ == "__main__":
    unittest.main()
