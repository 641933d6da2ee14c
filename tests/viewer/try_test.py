"""The view that tries a run's model: its page is the real one, its server answers as each test needs."""

import array
import threading
import unittest

from browser import Keys, ViewerTest
from stand_in import StandIn, alignment_entry, index

FIELD, SEND = "#try-text", ".try button"


class Model:
    """Answers with the letters in upper case, each looking at its own letter."""

    def __init__(self, examples=(), can_try=True):
        self.record = index(examples, {"name": "a-run", "system": "B3", "can_try": can_try, "try_hint": "a word"})
        self.weights = {}
        self.failure = None
        self.entry = None
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self, key, body):
        if key == "record":
            return self.record
        if key == "try":
            self.gate.wait(15)
            return self.failure or self.answer(body["text"])
        name, _, query = key.partition("?")
        example = int(query.split("&")[0].split("=")[1])
        if name in ("weights", "thumbnails"):
            return self.weights[example]
        if name == "summary":
            return {"panels": [{"largest": 0.8, "entropy": 1.0, "distance": 0.0, "not_a_number": 0}]}
        raise KeyError(key)

    def answer(self, text):
        number, target = len(self.record["examples"]), [letter.upper() for letter in text]
        entry = self.entry or alignment_entry(text, list(text), target, " ".join(target))
        self.record["examples"].append(entry)
        size = len(text)
        self.weights[number] = array.array("f", (0.8 if r == c else 0.2 / max(1, size - 1) for r in range(size) for c in range(size))).tobytes()
        return {"example": number, "entry": entry, "output": " ".join(target)}


class TryTest(ViewerTest):
    def start(self, model, state="#view=try"):
        server = StandIn(self.folder.name, model)
        server.__enter__()
        self.addCleanup(server.__exit__)
        self.browser.open(server.address + state)
        return server

    def send(self, text):
        self.browser.find(FIELD).send_keys(text + Keys.ENTER)

    def wait_answer(self, text):
        self.browser.wait("return document.querySelector('.try-output')?.textContent === arguments[0]", text)
        self.browser.wait_ready("try")
        self.browser.settle()

    def history(self):
        return self.browser.js("return [...document.querySelectorAll('.try-history li')].map(l => [...l.querySelectorAll('bdi')].map(b => b.textContent))")

    def test_enter_sends_and_the_answer_appears_with_its_attention(self):
        server = self.start(Model())
        browser = self.browser
        self.assertEqual(browser.view(), "try")
        self.send("cat")
        self.wait_answer("C A T")
        self.assertIn(("try", {"text": "cat"}, "application/json"), server.asked)
        self.assertEqual(browser.address()["example"], "0")
        browser.wait("return document.querySelector('.try-attention [data-view=matrix] canvas.map')?.width > 100")
        x, y, width, height = browser.js("const d = document.querySelector('canvas.map').dataset; return [d.x, d.y, d.cellWidth, d.cellHeight].map(Number)")
        for column, weight in [(1, 0.8), (0, 0.1)]:
            seen = browser.pixel("canvas.map", x + (column + 0.15) * width, y + 1.2 * height)[:3]
            wanted = browser.js("return attend.colours.of(arguments[0])", weight)
            self.assertTrue(all(abs(a - b) <= 3 for a, b in zip(seen, wanted)), f"expected {wanted}, got {seen}")
        browser.wait("return document.querySelector('#announcements').textContent === 'Answer: C A T'")
        browser.screenshot("try")

    def test_the_field_is_ready_for_the_next_text(self):
        self.start(Model())
        self.send("cat")
        self.wait_answer("C A T")
        self.assertEqual(self.browser.js("return document.activeElement.id"), "try-text")
        self.assertEqual(self.browser.find(FIELD).get_property("value"), "")
        self.send("dog")
        self.wait_answer("D O G")

    def test_the_button_sends_too(self):
        self.start(Model())
        self.browser.find(FIELD).send_keys("cat")
        self.browser.click(SEND)
        self.wait_answer("C A T")

    def test_nothing_is_sent_without_a_text(self):
        server = self.start(Model())
        self.send("")
        self.send("   ")
        self.browser.wait("return document.querySelector('#announcements').textContent.includes('nothing to send')")
        self.assertNotIn("try", server.keys())

    def test_what_was_tried_can_be_seen_again(self):
        self.start(Model())
        browser = self.browser
        for text, answer in [("cat", "C A T"), ("dog", "D O G")]:
            self.send(text)
            self.wait_answer(answer)
        self.assertEqual(self.history(), [["dog", "D O G"], ["cat", "C A T"]])
        browser.click(".try-history li:nth-child(2) button")
        self.wait_answer("C A T")
        self.assertEqual(browser.address()["example"], "0")
        self.assertEqual(browser.js("return document.querySelector('[aria-current]').textContent"), "catC A T")
        browser.focus(FIELD)
        browser.keys(Keys.ARROW_UP)
        self.assertEqual(browser.find(FIELD).get_property("value"), "dog")
        browser.keys(Keys.ARROW_UP)
        self.assertEqual(browser.find(FIELD).get_property("value"), "cat")

    def test_the_new_example_can_be_chosen_like_any_other(self):
        self.start(Model())
        browser = self.browser
        self.send("cat")
        self.wait_answer("C A T")
        self.send("dog")
        self.wait_answer("D O G")
        self.assertEqual(len(browser.all("#example option")), 2)
        browser.click("#tab-matrix")
        browser.wait_ready("matrix")
        browser.click("#example-before")
        self.assertEqual(browser.address()["example"], "0")
        browser.click("#tab-try")
        browser.wait_ready("try")
        self.assertEqual(browser.text(".try-output"), "C A T")
        self.assertEqual(len(self.history()), 2)

    def test_attention_as_links(self):
        self.start(Model())
        browser = self.browser
        self.send("cat")
        self.wait_answer("C A T")
        browser.click("label[for$='-links']")
        browser.wait("return document.querySelector('.try-attention [data-view=links]')")
        self.assertEqual(len(browser.all(".try-attention [data-view=matrix]")), 0)
        self.assertEqual(browser.address()["attention"], "links")
        self.send("dog")
        self.wait_answer("D O G")
        self.assertEqual(len(browser.all(".try-attention [data-view=links]")), 1)

    def test_while_it_waits_the_page_goes_on(self):
        model = Model([alignment_entry("first", ["a"], ["b"])])
        model.weights[0] = array.array("f", [1]).tobytes()
        model.gate.clear()
        self.addCleanup(model.gate.set)
        server = self.start(model)
        browser = self.browser
        self.send("cat")
        browser.wait("return document.querySelector('.try button').disabled")
        self.assertTrue(browser.find(FIELD).get_property("readOnly"))
        self.assertEqual(browser.find(".try").get_attribute("aria-busy"), "true")
        browser.keys(Keys.ENTER)
        self.assertEqual(server.keys().count("try"), 1)
        browser.click("#tab-matrix")
        browser.wait_ready("matrix")
        model.gate.set()
        browser.wait("return document.querySelectorAll('#example option').length === 2")
        self.assertEqual(browser.view(), "matrix")  # whoever looks elsewhere stays there
        self.assertEqual(browser.find("#example").get_property("value"), "0")
        browser.click("#tab-try")
        browser.wait_ready("try")
        self.assertEqual(self.history(), [["cat", "C A T"]])
        self.assertFalse(browser.find(SEND).get_property("disabled"))

    def test_errors_are_shown_and_the_text_stays(self):
        self.allowed = "400"
        model = Model()
        model.failure = (400, {"error": "expected at most 3 characters, got <b>4</b>"})
        self.start(model)
        browser = self.browser
        self.send("fish")
        browser.wait("return !document.querySelector('.try-problem').hidden")
        self.assertIn("expected at most 3 characters, got <b>4</b>", browser.text(".try-problem"))
        self.assertEqual(len(browser.all(".view b")), 0)
        self.assertEqual(browser.find(FIELD).get_property("value"), "fish")
        self.assertEqual(browser.js("return document.activeElement.id"), "try-text")
        self.assertFalse(browser.find(SEND).get_property("disabled"))
        browser.wait("return document.querySelector('#announcements').textContent.startsWith('Error:')")
        model.failure = None
        browser.keys(Keys.ENTER)
        self.wait_answer("F I S H")
        self.assertTrue(browser.find(".try-problem").get_property("hidden"))

    def test_a_server_that_is_gone_and_one_that_talks_nonsense(self):
        self.allowed = "ERR_|Failed to load"
        model = Model()
        model.failure = (200, {"surprise": True})
        server = self.start(model)
        self.send("cat")
        self.browser.wait("return document.querySelector('.try-problem').textContent.includes('does not understand')")
        server.__exit__()
        self.browser.keys(Keys.ENTER)
        self.browser.wait("return document.querySelector('.try-problem').textContent.includes(\"doesn't answer\")")

    def test_answers_are_texts(self):
        self.start(Model())
        self.send("<b>x")
        self.wait_answer("< B > X")
        self.assertEqual(len(self.browser.all(".view b")), 0)
        self.assertEqual(self.history(), [["<b>x", "< B > X"]])

    def test_a_system_without_attention(self):
        model = Model()
        model.entry = {"id": "cat", "source": ["c"], "target": ["C"], "items": []}
        self.start(model)
        self.send("cat")
        self.wait_answer("C A T")
        self.assertIn("no attention", self.browser.text(".try-attention"))

    def test_weights_that_fail_leave_the_field(self):
        self.allowed = "404"
        model = Model()
        self.start(model)
        answer = model.answer

        def without_weights(text):
            result = answer(text)
            model.weights.clear()
            return result
        model.answer = without_weights
        self.send("cat")
        self.wait_answer("C A T")
        self.browser.wait("return document.querySelector('.try-attention').textContent.includes('there is no')")
        self.assertEqual(len(self.browser.all(FIELD)), 1)

    def test_it_is_offered_only_where_it_works(self):
        model = Model([alignment_entry("x", ["a"], ["b"])], can_try=False)
        model.weights[0] = array.array("f", [1]).tobytes()
        self.start(model, "")
        self.assertEqual(len(self.browser.all("#tab-try")), 0)

    def test_dark_and_narrow(self):
        self.browser.size(400, 800)
        self.start(Model(), "#view=try&theme=dark")
        self.send("a word with many letters in it, longer than the page is wide")
        self.browser.wait("return document.querySelector('.try-output')?.textContent.startsWith('A   W')")
        self.browser.wait_ready("try")
        self.assert_fits(400)
        self.browser.screenshot("try-narrow")


if __name__ == "__main__":
    unittest.main(verbosity=2)
