"""The grid view of the real page: thumbnails, captions, pointer, keys, what is read when, time."""

import math
import unittest

import pages
from browser import Keys, Server, ViewerTest


class GridTest(ViewerTest):
    def cell(self, item, panel):
        return f".cell[data-item='{item}'][data-panel='{panel}']"

    def loaded(self):
        """Items whose thumbnails have been drawn."""
        return self.browser.js("return [...new Set([...document.querySelectorAll('.cell')].filter(c => c.querySelector('canvas').width > 1).map(c => Number(c.dataset.item)))]")

    def focused(self):
        return self.browser.js("const d = document.activeElement.dataset; return [Number(d.item), Number(d.panel)]")

    def test_many_panels_are_first_shown_as_a_grid(self):
        browser = self.open(pages.deep)
        self.assertEqual(browser.view(), "grid")
        self.assertEqual(browser.js("return document.querySelectorAll('.cell').length"), 24 * 16)
        self.open(pages.small)
        self.assertEqual(self.browser.view(), "matrix")

    def test_first_view_is_fast_and_reads_what_is_seen(self):
        browser = self.open(pages.deep)
        first = self.first_view()
        browser.screenshot("grid-light")
        self.assertLess(first, 2000)
        print(f"24 × 16 at 512 tokens: first view {first:.0f} ms")
        seen = self.loaded()
        self.assertIn(0, seen)
        self.assertNotIn(23, seen)
        browser.js("document.querySelector('section[data-item=\"23\"]').scrollIntoView()")
        browser.wait("return document.querySelector(\".cell[data-item='23'] canvas\").width > 1")
        self.assertIn("H", browser.text(self.cell(23, 15)))

    def test_a_served_page_asks_for_what_is_seen(self):
        with Server(self.recording(pages.deep)) as server:
            self.browser.open(server.address)
            self.assertLess(self.first_view(), 2000)
            asked = self.browser.js("return performance.getEntriesByType('resource').map(e => e.name).filter(n => n.includes('/api/thumbnails'))")
            self.assertGreater(len(asked), 0)
            self.assertLess(len(asked), 16)
            self.assertEqual(self.browser.js("return performance.getEntriesByType('resource').filter(e => e.name.includes('/api/weights')).length"), 0)
            self.assertEqual(self.browser.problems(), [])

    def test_labels_say_layer_and_head(self):
        browser = self.open(pages.deep)
        self.assertEqual(browser.text("section[data-item='0'] h2 bdi"), "encoder.layers.0.self_attention, layer 0")
        self.assertEqual(browser.text("section[data-item='3'] h2 bdi"), "encoder.layers.3.self_attention, layer 3")
        self.assertEqual(browser.text(self.cell(3, 4) + " .name"), "head 5")

    def test_captions_are_entropy_distance_and_largest(self):
        browser = self.open(pages.small, view="grid")
        rows, columns = len(pages.TARGET), len(pages.SOURCE)
        for head in range(3):
            flat = pages.alignment(3, rows, columns)[head * rows * columns:(head + 1) * rows * columns]
            lines = [flat[r * columns:(r + 1) * columns] for r in range(rows)]
            entropy = sum(-sum(w * math.log2(w) for w in line) for line in lines) / rows
            distance = sum(sum(w * abs(c - r * (columns - 1) / (rows - 1)) for c, w in enumerate(line)) for r, line in enumerate(lines)) / rows
            seen = browser.js("return [...document.querySelectorAll(arguments[0] + ' .caption span')].map(s => Number(s.textContent.split(' ').at(-1)))", self.cell(0, head))
            for got, wanted in zip(seen, (entropy, distance, max(flat)), strict=True):
                self.assertAlmostEqual(got, wanted, delta=0.006 * max(1, wanted))
        self.assertIn("entropy", browser.find(self.cell(0, 0)).get_attribute("aria-label"))

    def test_thumbnails_have_the_colours_of_their_weights(self):
        browser = self.open(pages.small, view="grid", shade="one")
        rows, columns = len(pages.TARGET), len(pages.SOURCE)
        flat = pages.alignment(3, rows, columns)
        for r, c in [(0, 0), (6, 5), (11, 2)]:
            seen = browser.pixel(self.cell(0, 1) + " canvas", c, r)
            wanted = browser.js("return attend.colours.of(arguments[0])", flat[rows * columns + r * columns + c])
            self.assertTrue(all(abs(a - b) <= 2 for a, b in zip(seen, wanted)), f"{seen} is not {wanted}")
        browser.click("label[for$='-largest']")
        self.assertNotIn("shade", browser.address())
        largest = flat[rows * columns:2 * rows * columns]
        place = largest.index(max(largest))
        self.assertEqual(browser.pixel(self.cell(0, 1) + " canvas", place % columns, place // columns)[:3], browser.js("return attend.colours.of(1)"))

    def test_not_a_number_is_seen(self):
        browser = self.open(pages.small, view="grid", example=pages.MISSING)
        self.assertIn("NaN 5", browser.text(self.cell(0, 0)))
        self.assertNotIn("NaN", browser.text(self.cell(0, 1)))
        self.assertIn("not a number", browser.text(".legend"))
        self.assertEqual(browser.pixel(self.cell(0, 0) + " canvas", 0, 1)[:3], browser.js("return attend.colours.missing()"))

    def test_a_click_opens_the_matrix_of_that_one(self):
        browser = self.open(pages.deep)
        browser.click(self.cell(1, 5))
        browser.wait_ready("matrix")
        address = browser.address()
        self.assertEqual((address["view"], address["item"], address["panel"]), ("matrix", "1", "5"))
        self.assertEqual(browser.js("return [document.getElementById('item').value, document.getElementById('panel').value]"), ["1", "5"])
        browser.keys("1")
        browser.wait_ready("grid")
        self.assertEqual(browser.find(self.cell(1, 5)).get_attribute("aria-current"), "true")

    def test_keys_alone(self):
        browser = self.open(pages.deep)
        for _ in range(40):
            browser.keys(Keys.TAB)
            if browser.js("return document.activeElement.classList.contains('cell')"):
                break
        self.assertEqual(self.focused(), [0, 0])
        browser.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        self.assertEqual(self.focused(), [0, 2])
        browser.keys(Keys.ARROW_DOWN)
        self.assertEqual(self.focused(), [1, 2])
        browser.keys(Keys.ARROW_UP, Keys.ARROW_LEFT)
        self.assertEqual(self.focused(), [0, 1])
        browser.keys(Keys.END)
        self.assertEqual(self.focused(), [23, 15])
        browser.wait("return document.querySelector(\".cell[data-item='23'] canvas\").width > 1")
        browser.keys(Keys.ENTER)
        browser.wait_ready("matrix")
        self.assertEqual((browser.address()["item"], browser.address()["panel"]), ("23", "15"))

    def test_one_stop_of_tab_for_all_maps(self):
        browser = self.open(pages.deep)
        self.assertEqual(browser.js("return document.querySelectorAll('.cell[tabindex=\"0\"]').length"), 1)
        browser.focus(self.cell(2, 3))
        self.assertEqual(browser.js("return [...document.querySelectorAll('.cell[tabindex=\"0\"]')].map(c => [c.dataset.item, c.dataset.panel])"), [["2", "3"]])

    def test_the_shortening_is_said(self):
        browser = self.open(pages.deep)
        self.assertIn("only the 8 largest weights", browser.text("#facts"))
        self.assertIn("means of blocks", browser.text(".legend"))

    def test_fits_a_narrow_window_and_dark(self):
        self.browser.size(400, 800)
        browser = self.open(pages.deep, theme="dark")
        self.assert_fits(400)
        dark = browser.js("return attend.colours.of(0, true)")
        self.assertEqual(browser.pixel(self.cell(0, 0) + " canvas", 60, 2)[:3], dark)
        browser.screenshot("grid-narrow-dark")


if __name__ == "__main__":
    unittest.main()
