"""The links view of the real page: lines, tokens, pointer, keys, address, size."""

import unittest

import pages
from browser import Keys, ViewerTest

LINES = ".links-lines canvas"
LEFT, RIGHT = ".links-side.left", ".links-side.right"


class LinksTest(ViewerTest):
    def open(self, make, **state):
        return super().open(make, **{"view": "links", **state})

    def ink(self):
        """How much the lines cover: the sum of their opacity, in whole pixels."""
        return self.browser.js("const e = document.querySelector('.links-lines canvas'), d = e.getContext('2d').getImageData(0, 0, e.width, e.height).data;"
                               "let sum = 0; for (let i = 3; i < d.length; i += 4) sum += d[i]; return sum / 255")

    def token(self, side, place):
        return f"#links-{side}-{place}"

    def ends(self, place, side):
        """Opacity of the lines where they leave the token on the left, or reach the one on the right."""
        return self.browser.js("const e = document.querySelector('.links-lines canvas'), s = document.querySelector('.links'), d = e.getContext('2d');"
                               "const x = arguments[1] === 'left' ? 2 : e.width - 3, y = Math.round((arguments[0] + 0.5) * 22 - s.scrollTop);"
                               "return Math.max(...[-2, -1, 0, 1, 2].map(o => d.getImageData(x, y + o, 1, 1).data[3]))", place, side)

    def partners(self):
        return self.browser.js("return [...document.querySelectorAll('.inspector .strongest li')].map(l => [l.children[0].textContent, Number(l.children[1].textContent)])")

    def weights(self):
        flat = pages.alignment(3, len(pages.TARGET), len(pages.SOURCE))
        return [flat[r * len(pages.SOURCE):(r + 1) * len(pages.SOURCE)] for r in range(len(pages.TARGET))]

    def test_tokens_stand_in_two_columns_with_lines_between(self):
        browser = self.open(pages.small)
        self.assertEqual(browser.view(), "links")
        for selector, tokens in ((LEFT, pages.TARGET), (RIGHT, pages.SOURCE)):
            seen = browser.js("return [...document.querySelectorAll(arguments[0] + ' [role=option]')].sort((a, b) => a.dataset.place - b.dataset.place).map(o => o.textContent)", selector)
            self.assertEqual(seen, tokens)
        self.assertGreater(self.ink(), 200)
        self.assertIn("all 132 weights", browser.text(".links-note"))
        browser.screenshot("links-light")

    def test_pointing_isolates_a_token(self):
        browser = self.open(pages.small)
        everything = self.ink()
        browser.point(self.token("r", 3), 20, 8)
        self.assertLess(self.ink(), everything / 3)
        self.assertGreater(self.ends(3, "left"), 100)
        self.assertEqual(self.ends(8, "left"), 0)
        strongest = max(range(11), key=lambda c: self.weights()[3][c])
        self.assertEqual(self.partners()[0], [pages.SOURCE[strongest], float(f"{self.weights()[3][strongest]:.4g}")])
        self.assertEqual(len(self.partners()), 10)
        browser.point("#title", 2, 2)
        self.assertAlmostEqual(self.ink(), everything, delta=1)

    def test_a_click_keeps_a_token_and_the_address_restores_it(self):
        browser = self.open(pages.small)
        everything = self.ink()
        browser.click(self.token("c", 6))
        self.assertEqual(browser.address()["token"], "c6")
        address = browser.driver.current_url
        browser.open(address)
        self.assertLess(self.ink(), everything / 3)
        self.assertGreater(self.ends(6, "right"), 0)
        self.assertEqual(self.ends(0, "right"), 0)
        self.assertEqual(browser.find(self.token("c", 6)).get_attribute("aria-selected"), "true")
        by_weight = sorted(range(12), key=lambda r: -self.weights()[r][6])
        self.assertEqual(self.partners()[0][0], pages.TARGET[by_weight[0]])
        browser.click(self.token("c", 6))
        browser.point("#title", 2, 2)
        self.assertNotIn("token", browser.address())
        self.assertAlmostEqual(self.ink(), everything, delta=1)

    def test_keys_alone(self):
        browser = self.open(pages.small)
        browser.keys(*[Keys.TAB] * 60)  # past all controls and round: whatever the order, both lists are stops
        stops = set()
        for _ in range(60):
            browser.keys(Keys.TAB)
            stops.add(browser.js("return document.activeElement.getAttribute('aria-label') || ''"))
        self.assertLessEqual({"Tokens of target, left", "Tokens of source, right"}, stops)
        browser.focus(LEFT)
        browser.keys(Keys.HOME, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
        self.assertEqual(browser.address()["token"], "r2")
        self.assertEqual(browser.find(LEFT).get_attribute("aria-activedescendant"), "links-r-2")
        browser.wait("return document.getElementById('announcements').textContent.startsWith(arguments[0])", f"{pages.TARGET[2]}: ")
        browser.keys(Keys.ARROW_RIGHT)
        self.assertEqual(browser.address()["token"], "c2")
        self.assertTrue(browser.js("return document.activeElement.classList.contains('right')"))
        browser.keys(Keys.END)
        self.assertEqual(browser.address()["token"], "c10")
        browser.keys(Keys.ESCAPE)
        self.assertNotIn("token", browser.address())

    def test_threshold_hides_lines(self):
        browser = self.open(pages.small)
        everything = self.ink()
        browser.choose(browser.labelled("Hide below"), 75)
        self.assertLess(self.ink(), everything)
        above = sum(w >= 0.1 for row in self.weights() for w in row)
        self.assertIn(f"all {above} weights", browser.text(".links-note"))
        browser.choose(browser.labelled("Hide below"), 100)
        self.assertEqual(self.ink(), 0)

    def test_hundreds_of_tokens_have_elements_only_where_they_are_seen(self):
        browser = self.open(pages.pairs)
        self.assertLess(browser.js("return document.querySelectorAll('[role=option]').length"), 140)
        self.assertIn("Drawn: the 2,000 strongest of", browser.text(".links-note"))
        browser.screenshot("links-many")
        browser.js("document.querySelector('.links').scrollTop = 5000")
        browser.wait("return document.querySelector('#links-r-230')")
        self.assertLess(browser.js("return document.querySelectorAll('[role=option]').length"), 140)
        self.assertIsNone(browser.js("return document.querySelector('#links-r-0')"))
        self.assertGreater(self.ends(230, "left"), 0)
        browser.open(self.page(pages.pairs) + "#view=links&token=r300")
        self.assertTrue(browser.find("#links-r-300").is_displayed())
        self.assertEqual(self.partners()[0][0], "source300")

    def test_thousands_of_tokens_are_quick(self):
        browser = self.open(pages.large)
        self.assertLess(self.first_view(), 3000)
        took = browser.driver.execute_async_script("""
            const done = arguments[0], list = document.querySelector('.links'), start = performance.now();
            list.scrollTop = 20000;
            requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(performance.now() - start))));""")
        self.assertLess(took, 1000)
        self.assertIsNotNone(browser.js("return document.querySelector('#links-c-910')"))

    def test_tokens_are_text(self):
        browser = self.open(pages.small, example=pages.STRANGE)
        self.assertIn(pages.SCRIPT_TOKEN, browser.js("return [...document.querySelectorAll('.links-token')].map(o => o.textContent)"))
        self.assertEqual(browser.js("const b = document.querySelector('#links-c-0 bdi'); return [b.textContent, getComputedStyle(b).direction]"), ["שלום", "rtl"])
        browser.click(self.token("c", pages.STRANGE_SOURCE.index(pages.LONG_TOKEN)))
        self.assertEqual(browser.text(".inspector .token"), pages.LONG_TOKEN)

    def test_top_k_and_not_a_number_are_said(self):
        browser = self.open(pages.small, example=pages.TOP)
        self.assertIn("3 largest weights", browser.text(".links-note"))
        self.assertIn(f"all {3 * len(pages.TARGET)} weights", browser.text(".links-note"))
        browser = self.open(pages.small, example=pages.MISSING)
        self.assertIn("5 weights are not a number", browser.text(".links-note"))

    def test_nothing_to_link(self):
        browser = self.open(pages.small, example=pages.EMPTY)
        self.assertIn("0 tokens of target, 0 of source", browser.text(".view"))

    def test_values_out_of_range_fall_back(self):
        browser = self.open(pages.small, token="r999", threshold="-1", full="7")
        self.assertIn("all 132 weights", browser.text(".links-note"))
        self.assertIn("Point at a token", browser.text(".inspector"))

    def test_fits_a_narrow_window_and_dark(self):
        self.browser.size(400, 800)
        self.open(pages.small, example=pages.STRANGE, theme="dark", token="r2")
        self.assert_fits(400)
        self.browser.screenshot("links-narrow-dark")


if __name__ == "__main__":
    unittest.main()
