"""The hierarchy view of the real page: sentences, and words within them."""

import math
import unittest

import pages
from browser import Keys, ViewerTest

SENTENCES = [["The", "food", "was", "good"], ["שלום", "עולם", "טוב"], ["<b>slow</b>", "&", "e\u0301"]]
WORDS = sum(SENTENCES, [])
OF_SENTENCES = [0.3, 0.6, 0.1]
OF_WORDS = [0.1, 0.2, 0.1, 0.6, 0.5, 0.25, 0.25, 0.7, math.nan, 0.0]
LONG = 3000


def texts(file):
    record = pages.Recording()
    e = record.example("review", WORDS, [], [len(sentence) for sentence in SENTENCES])
    record.item(e, "sentences", "hierarchy", ["sentence"], [3], OF_SENTENCES)
    record.item(e, "words", "hierarchy", ["source"], [len(WORDS)], OF_WORDS)
    e = record.example("words alone", WORDS, [], [len(sentence) for sentence in SENTENCES])
    record.item(e, "words", "hierarchy", ["source"], [len(WORDS)], OF_WORDS)
    e = record.example("single", ["one"], [], [1])
    record.item(e, "sentences", "hierarchy", ["sentence"], [1], [1])
    record.item(e, "words", "hierarchy", ["source"], [1], [1])
    e = record.example("long", [f"w{i}" for i in range(LONG * 3)], [], [LONG] * 3)
    record.item(e, "sentences", "hierarchy", ["sentence"], [3], [0.2, 0.5, 0.3])
    record.item(e, "words", "hierarchy", ["source"], [LONG * 3], [1 / LONG] * (LONG * 3))
    e = record.example("token", [pages.LONG_TOKEN, " "], [], [2])
    record.item(e, "words", "hierarchy", ["source"], [2], [0.5, 0.5])
    return record.save(file)


class HierarchyTest(ViewerTest):
    def show(self, example=0, **state):
        return self.open(texts, example=example, view="hierarchy", **state)

    def sentences(self):
        return self.browser.js("return [...document.querySelectorAll('.sentence')].map(s => Number(s.dataset.sentence))")

    def style(self, word, name):
        return self.browser.js("return getComputedStyle(document.querySelector(`[data-word='${arguments[0]}']`))[arguments[1]]", word, name)

    def ramp(self, fraction):
        return self.browser.js("return attend.colours.css(attend.colours.of(arguments[0]))", fraction)

    def read_out(self):
        return self.browser.text(".read-out")

    def test_words_are_tinted_within_their_sentence(self):
        self.show()
        for word, fraction in [(0, 0.1 / 0.6), (3, 1), (4, 1), (5, 0.5), (7, 1)]:
            self.assertEqual(self.style(word, "backgroundColor"), self.ramp(fraction))
        self.assertEqual(self.style(3, "color"), "rgb(255, 255, 255)")
        self.assertEqual(self.style(9, "backgroundColor"), "rgba(0, 0, 0, 0)")
        self.browser.screenshot("hierarchy-light")

    def test_words_in_the_whole_text_count_with_their_sentence(self):
        browser = self.show()
        browser.click("label[for$='-text']")
        self.assertEqual(browser.address()["words"], "text")
        largest = 0.5 * 0.6
        for word, weight in [(3, 0.6 * 0.3), (4, 0.5 * 0.6), (7, 0.7 * 0.1)]:
            self.assertEqual(self.style(word, "backgroundColor"), self.ramp(weight / largest))
        self.assertIn("0.3", browser.text(".legend"))

    def test_bars_are_as_long_as_the_weights(self):
        browser = self.show()
        lengths = browser.js("return [...document.querySelectorAll('.rail')].map(r => r.firstChild.offsetWidth / r.offsetWidth)")
        for seen, weight in zip(lengths, OF_SENTENCES):
            self.assertAlmostEqual(seen, weight / 0.6, delta=0.02)
        self.assertEqual(browser.js("return [...document.querySelectorAll('.sentence-weight')].map(w => w.lastChild.textContent)"), ["0.3", "0.6", "0.1"])

    def test_either_item_shows_both(self):
        for item in [0, 1]:
            browser = self.show(item=item)
            self.assertEqual(len(browser.all(".rail")), 3)
            self.assertEqual(self.style(3, "backgroundColor"), self.ramp(1))

    def test_words_without_sentences(self):
        browser = self.show(1)
        self.assertEqual(len(browser.all(".rail")), 0)
        self.assertEqual(self.style(3, "backgroundColor"), self.ramp(1))
        self.assertIn("weights of sentences were not recorded", self.read_out())

    def test_largest_sentences_first(self):
        browser = self.show()
        self.assertEqual(self.sentences(), [0, 1, 2])
        browser.click("label[for$='-weight']")
        self.assertEqual(self.sentences(), [1, 0, 2])
        self.assertEqual(browser.address()["sentences"], "weight")

    def test_not_a_number_is_marked(self):
        browser = self.show()
        self.assertEqual(self.style(8, "backgroundColor"), browser.js("return attend.colours.css(attend.colours.missing())"))
        self.assertIn("underline", self.style(8, "textDecorationLine"))
        self.assertIn("not a number", browser.text(".legend"))

    def test_words_are_texts(self):
        browser = self.show()
        self.assertEqual(browser.text("[data-word='7']"), "<b>slow</b>")
        self.assertEqual(len(browser.all(".sentence b")), 0)
        self.show(4)
        self.assertLess(len(browser.text("[data-word='0']")), 100)
        self.assertEqual(browser.text("[data-word='1']"), "␣")

    def test_right_to_left_sentences(self):
        browser = self.show()
        directions = browser.js("return [...document.querySelectorAll('.words')].map(w => getComputedStyle(w).direction)")
        self.assertEqual(directions, ["ltr", "rtl", "ltr"])
        left = [browser.js("return document.querySelector(`[data-word='${arguments[0]}']`).getBoundingClientRect().left", word) for word in (4, 5, 6)]
        self.assertEqual(left, sorted(left, reverse=True))

    def test_the_pointer_reads_a_word(self):
        browser = self.show()
        browser.point("[data-word='1']", 5, 5)
        self.assertEqual(self.read_out(), "“food”, word 2 of 4: 0.2, rank 2; sentence 1: 0.3; together 0.06")
        browser.point("#title", 2, 2)
        self.assertIn("the most weight, 0.6, has sentence 2", self.read_out())

    def test_keys_go_from_word_to_word(self):
        browser = self.show()
        browser.focus(".sentences")
        browser.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        self.assertIn("“food”", self.read_out())
        browser.wait("return document.querySelector('#announcements').textContent === arguments[0]", self.read_out())
        browser.keys(Keys.END, Keys.ARROW_RIGHT)
        self.assertIn("“שלום”", self.read_out())
        browser.keys(Keys.ARROW_LEFT)  # onwards, from right to left
        self.assertIn("“עולם”", self.read_out())
        browser.keys(Keys.ARROW_DOWN)
        self.assertIn("“&”, word 2 of 3: not a number", self.read_out())
        self.assertEqual(browser.text(".word.current"), "&")
        browser.keys(Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ARROW_UP, Keys.HOME)
        self.assertIn("“The”", self.read_out())
        browser.keys(Keys.ESCAPE)
        self.assertEqual(len(browser.all(".word.current")), 0)

    def test_long_texts_come_in_parts(self):
        browser = self.show(3)
        self.assertLess(len(browser.all(".word")), LONG * 2 + 1)
        browser.click("[aria-label='Show more sentences']")
        browser.click("[aria-label='Show more sentences']")
        self.assertEqual(len(browser.all(".word")), LONG * 3)
        self.assertFalse(browser.find("[aria-label='Show more sentences']").is_displayed())

    def test_single_dark_and_narrow(self):
        browser = self.show(2)
        self.assertEqual(self.style(0, "backgroundColor"), self.ramp(1))
        light = self.style(0, "backgroundColor")
        browser.click("#theme")
        self.assertNotEqual(self.style(0, "backgroundColor"), light)
        self.assertEqual(self.style(0, "backgroundColor"), self.ramp(1))
        browser.size(400, 800)
        for example in range(5):
            self.show(example, theme="dark")
            self.assert_fits(400)
        self.show(theme="dark")
        browser.screenshot("hierarchy-narrow")


if __name__ == "__main__":
    unittest.main(verbosity=2)
