"""The channels view of the real page: bars, orders, branches, thousands of channels."""

import math
import statistics
import unittest

from selenium.webdriver.common.action_chains import ActionChains

import pages
from browser import Keys, ViewerTest

FEW = [0.2, 0.9, 0.0, 0.5, math.nan, 0.7, 0.1, 0.4]
BRANCHES = [[0.1, 0.6, 0.3, 0.8], [0.9, 0.4, 0.7, 0.2]]
MANY = 8192
SINGLE_ROW, BRANCH, HUGE, EMPTY, SINGLE, TOP, ROWS, NEGATIVE = range(8)
LEFT, RIGHT, TOP_EDGE, BOTTOM = 44, 8, 8, 18  # what channels.js leaves around the bars


def channels(file):
    record = pages.Recording()
    e = record.example("channels", ["<b>one</b>", "two"], [])
    record.item(e, "encoder.se", "channel", ["channel"], [len(FEW)], FEW)
    record.item(e, "encoder.sk", "branch", ["branch", "channel"], [2, 4], sum(BRANCHES, []))
    record.item(e, "encoder.wide", "channel", ["channel"], [MANY], [0.9 if i == 5000 else 0.1 + 0.3 * (i / MANY) for i in range(MANY)])
    record.item(e, "none", "channel", ["channel"], [0], [])
    record.item(e, "single", "channel", ["channel"], [1], [0.7])
    record.item(e, "top", "branch", ["branch", "channel"], [2, 6], [0.9, 0.5, 0.8, 0.3], keys=[4, 1, 0, -1])
    record.item(e, "rows", "channel", ["source", "channel"], [2, 3], [0.1, 0.2, 0.3, 0.6, 0.5, 0.4])
    record.item(e, "signed", "channel", ["channel"], [2], [-0.5, 1.0])
    return record.save(file)


class ChannelsTest(ViewerTest):
    def show(self, item, **state):
        browser = self.open(channels, item=item, view="channels", **state)
        browser.settle()
        return browser

    def canvas(self, row=0):
        return f".chart-row[data-row='{row}'] canvas"

    def plot(self, row=0):
        width, height = self.browser.js("const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.width, b.height]", self.canvas(row))
        return LEFT, TOP_EDGE, width - LEFT - RIGHT, height - TOP_EDGE - BOTTOM

    def place(self, channel, height, count, row=0):
        """Pixels of the canvas inside of a bar, `height` being a part of the plot's height."""
        left, top, width, tall = self.plot(row)
        return left + (channel + 0.4) / count * width, top + (1 - height) * tall

    def colour(self, *place, row=0):
        return self.browser.pixel(self.canvas(row), *place)

    def accent(self):
        return self.browser.js("return attend.colours.accent()") + [255]

    def assert_bar(self, place, height, count, row=0):
        """A bar that ends at `height` of the plot."""
        below, above = (self.colour(*self.place(place, height + shift, count, row), row=row) for shift in (-0.05, 0.05))
        self.assertEqual(below, self.accent(), f"bar {place} of row {row} is lower than {height}")
        self.assertNotEqual(above, self.accent(), f"bar {place} of row {row} is higher than {height}")

    def read_out(self):
        return self.browser.text(".read-out")

    def listed(self):
        return self.browser.js("return [...document.querySelectorAll('.largest tbody tr')].map(r => [...r.children].map(c => c.textContent))")

    # Bars

    def test_bars_are_as_high_as_their_weights(self):
        self.show(SINGLE_ROW)
        for channel in [0, 1, 3, 5, 7]:
            self.assert_bar(channel, FEW[channel], len(FEW))  # the axis ends at 1
        self.assertNotEqual(self.colour(*self.place(2, 0.03, len(FEW))), self.accent())
        self.assertIn("mean 0.4, largest 0.9, 1 not a number", self.browser.text(".chart-row h3"))
        self.browser.screenshot("channels-light")

    def test_not_a_number_fills_its_place(self):
        self.show(SINGLE_ROW)
        missing = self.browser.js("return attend.colours.missing()")
        left, top, width, height = self.plot()
        seen = [self.colour(left + 4.5 / 8 * width + shift, top + height * 0.3)[:3] for shift in range(8)]
        self.assertIn(missing, seen)

    def test_order_by_weight(self):
        browser = self.show(SINGLE_ROW)
        browser.choose(browser.labelled("Order"), "own")
        self.assertEqual(browser.address()["order"], "own")
        falling = sorted((w for w in FEW if not math.isnan(w)), reverse=True)
        for place, weight in enumerate(falling[:-1]):
            self.assert_bar(place, weight, len(FEW))
        browser.focus(".chart-rows")
        browser.keys(Keys.HOME)
        self.assertEqual(self.read_out(), "channel 2: 0.9, rank 1 of 8")
        browser.keys(Keys.END)
        self.assertEqual(self.read_out(), "channel 5: not a number, rank 8 of 8")

    def test_the_largest_are_listed(self):
        self.show(SINGLE_ROW)
        self.assertEqual(self.listed()[:3], [["2", "0.9"], ["6", "0.7"], ["4", "0.5"]])
        self.assertEqual(self.listed()[-1], ["5", "not a number"])

    def test_negative_weights_hang_below_the_line(self):
        self.show(NEGATIVE)
        left, top, width, height = self.plot()
        zero = top + height * (1.0 / 1.5)
        self.assertEqual(self.colour(left + width * 0.2, zero + height * 0.2), self.accent())
        self.assertNotEqual(self.colour(left + width * 0.2, zero - height * 0.2), self.accent())
        self.assertEqual(self.colour(left + width * 0.7, zero - height * 0.5), self.accent())

    # Rows

    def test_each_branch_has_a_row(self):
        browser = self.show(BRANCH)
        self.assertEqual(browser.js("return [...document.querySelectorAll('.chart-row h3 bdi')].map(e => e.textContent)"), ["branch 1", "branch 2"])
        for row in range(2):
            for channel in range(4):
                self.assert_bar(channel, BRANCHES[row][channel], 4, row)

    def test_branches_in_the_order_of_one_of_them(self):
        browser = self.show(BRANCH)
        browser.choose(browser.labelled("Order"), "row-1")
        order = sorted(range(4), key=lambda c: -BRANCHES[1][c])
        for row in range(2):
            for place, channel in enumerate(order):
                self.assert_bar(place, BRANCHES[row][channel], 4, row)

    def test_each_row_may_have_a_scale_of_its_own(self):
        browser = self.show(ROWS)
        self.assert_bar(2, 0.3 / 0.6, 3)
        browser.click("label[for$='-own']")
        self.assertEqual(self.colour(*self.place(2, 0.95, 3)), self.accent())  # the largest of its row
        self.assertEqual(browser.address()["height"], "own")

    def test_rows_of_tokens_have_their_names_as_text(self):
        browser = self.show(ROWS)
        self.assertEqual(browser.text(".chart-row h3 bdi"), "<b>one</b>")
        self.assertEqual(len(browser.all(".chart-row b")), 0)

    # Pointer and keys

    def test_the_pointer_reads_a_bar(self):
        browser = self.show(BRANCH)
        browser.point(self.canvas(1), *self.place(2, 0.5, 4, 1))
        self.assertEqual(self.read_out(), "branch 2, channel 3: 0.7, rank 2 of 4")
        self.assertEqual(self.listed()[0], ["1", "0.9"])
        # the same channel is marked in the other row
        left, top, width, height = self.plot(0)
        self.assertEqual(self.colour(left + 2.4 / 4 * width, top + height * 0.9, row=0)[:3], browser.js("return attend.colours.ink()"))
        browser.point("#title", 2, 2)
        self.assertIn("4 channels", self.read_out())

    def test_the_same_channel_is_marked_where_it_stands_in_each_row(self):
        browser = self.show(BRANCH, order="own")
        browser.focus(".chart-rows")
        browser.keys(Keys.HOME)  # channel 4, the largest of branch 1 and the smallest of branch 2
        ink = browser.js("return attend.colours.ink()")
        for row, place in [(0, 0), (1, 3)]:
            self.assertEqual(self.colour(*self.place(place, 0.1, 4, row), row=row)[:3], ink)
        self.assertNotEqual(self.colour(*self.place(0, 0.1, 4, 1), row=1)[:3], ink)

    def test_keys_move_and_are_announced(self):
        browser = self.show(BRANCH)
        browser.focus(".chart-rows")
        browser.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        self.assertEqual(self.read_out(), "branch 1, channel 2: 0.6, rank 2 of 4")
        browser.keys(Keys.ARROW_DOWN)
        self.assertEqual(self.read_out(), "branch 2, channel 2: 0.4, rank 3 of 4")
        browser.wait("return document.querySelector('#announcements').textContent === arguments[0]", self.read_out())
        browser.keys(Keys.ARROW_DOWN, Keys.END, Keys.ARROW_RIGHT)
        self.assertEqual(self.read_out(), "branch 2, channel 4: 0.2, rank 4 of 4")
        browser.keys(Keys.ARROW_UP, Keys.HOME, Keys.ARROW_LEFT)
        self.assertEqual(self.read_out(), "branch 1, channel 1: 0.1, rank 4 of 4")
        browser.keys(Keys.ESCAPE)
        self.assertIn("4 channels", self.read_out())

    # Many channels

    def test_a_lone_peak_among_thousands_is_seen(self):
        self.show(HUGE)
        left, top, width, height = self.plot()
        paper = self.colour(left + width * 0.2, top + height * 0.3)
        column = left + 5000 / MANY * width
        seen = [self.colour(column + shift, top + height * 0.3) for shift in (-1, 0, 1)]
        self.assertTrue(any(pixel != paper for pixel in seen), f"no bar reaches up at channel 5001: {seen}")
        self.assertIn("more channels than pixels", self.browser.text(".chart-note"))

    def test_enlarging_keeps_the_cursor_in_sight(self):
        browser = self.show(HUGE)
        browser.focus(".chart-rows")
        browser.keys(Keys.END)
        self.assertIn("channel 8192", self.read_out())
        for _ in range(7):
            browser.click("[aria-label='Enlarge']")
        self.assertEqual(browser.text(".span-shown"), f"{MANY - 64 + 1}–{MANY} of {MANY}")
        self.assertEqual(browser.text(".chart-note"), "")
        left, top, width, height = self.plot()
        self.assertEqual(self.colour(left + width * 0.5 / 64 * 0.8, top + height * 0.9), self.accent())
        browser.click("[aria-label='Further to the left']")
        self.assertEqual(browser.text(".span-shown"), f"{MANY - 96 + 1}–{MANY - 32} of {MANY}")
        browser.focus(".chart-rows")
        browser.keys("-", "-", "-", "-", "-", "-", "-")
        self.assertEqual(browser.text(".span-shown"), f"all {MANY}")

    def test_the_wheel_with_control_enlarges_around_the_pointer(self):
        browser = self.show(HUGE)
        left, top, width, height = self.plot()
        browser.js("""
          const c = document.querySelector(arguments[0]), b = c.getBoundingClientRect(), place = {clientX: b.left + arguments[1], clientY: b.top + 20};
          c.dispatchEvent(new WheelEvent('wheel', {deltaY: -200, ctrlKey: true, bubbles: true, cancelable: true, ...place}));""",
                   self.canvas(), left + width / 4)
        browser.settle()
        self.assertRegex(browser.text(".span-shown"), r"^10\d\d–51\d\d of 8192$")  # a quarter of what is seen lies left of 2048, as before

    def test_dragging_moves_what_is_seen(self):
        browser = self.show(HUGE)
        for _ in range(3):
            browser.click("[aria-label='Enlarge']")
        before = browser.text(".span-shown")
        ActionChains(browser.driver, duration=0).move_to_element(browser.find(self.canvas())).click_and_hold().move_by_offset(-200, 0).release().perform()
        browser.settle()
        start = int(browser.text(".span-shown").split("–")[0])
        self.assertGreater(start, int(before.split("–")[0]) + 100)

    def test_thousands_of_channels_stay_quick(self):
        browser = self.show(HUGE, order="own")
        browser.focus(".chart-rows")
        browser.keys(Keys.HOME)
        times = browser.driver.execute_async_script("""
          const done = arguments[0], host = document.querySelector('.chart-rows'), times = [];
          const one = () => {
            if (times.length === 15) return done(times);
            const start = performance.now();
            host.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
            requestAnimationFrame(() => requestAnimationFrame(() => { times.push(performance.now() - start); one(); }));
          };
          one();""")
        self.assertIn("rank 16 of 8192", self.read_out())
        self.assertLess(statistics.median(times), 150)

    # Edges

    def test_empty_and_single(self):
        self.show(EMPTY)
        self.assertIn("no channels", self.browser.text(".view .empty"))
        browser = self.show(SINGLE)
        self.assertEqual(self.colour(*self.place(0, 0.95, 1)), self.accent())  # the axis ends at its weight
        browser.focus(".chart-rows")
        browser.keys(Keys.ARROW_RIGHT)
        self.assertEqual(self.read_out(), "channel 1: 0.7, rank 1 of 1")

    def test_channels_that_were_not_kept(self):
        browser = self.show(TOP)
        self.assert_bar(4, 0.9, 6)
        browser.focus(".chart-rows")
        browser.keys(Keys.HOME)
        self.assertEqual(self.read_out(), "branch 1, channel 1: 0 (not kept: smaller than the kept ones), rank 3 of 6")
        browser.keys(Keys.ARROW_DOWN)
        self.assertEqual(self.read_out(), "branch 2, channel 1: 0.8, rank 1 of 6")

    def test_dark_and_narrow(self):
        browser = self.show(SINGLE_ROW)
        light = self.accent()
        browser.click("#theme")
        self.assertNotEqual(self.accent(), light)
        self.assert_bar(1, 0.9, len(FEW))
        browser.screenshot("channels-dark")
        browser.size(400, 800)
        for item in range(8):
            self.show(item)
            self.assert_fits(400)
        self.show(SINGLE_ROW)
        self.assert_bar(1, 0.9, len(FEW))


if __name__ == "__main__":
    unittest.main(verbosity=2)
