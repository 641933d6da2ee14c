"""The page around the views: choosers, tabs, keys, address, light and dark, messages, names for screen readers; exported and served."""

import pathlib
import re
import subprocess
import unittest

import pages
from browser import Keys, Server, ViewerTest, tool

CONTROLS = "button:not(:disabled), select, input, [tabindex='0']"


class ShellTest(ViewerTest):
    def chosen(self):
        return self.browser.js("return ['example', 'item', 'panel'].map(id => document.getElementById(id).value)")

    def tabs(self):
        return self.browser.js("return [...document.querySelectorAll('[role=tab]')].map(t => t.textContent)")

    # What is chosen

    def test_title_tabs_and_facts(self):
        browser = self.open(pages.small)
        self.assertIn("small.attn", browser.text("#title"))
        self.assertIn("small.attn", browser.driver.title)
        self.assertLessEqual({"Grid", "Matrix", "Links"}, set(self.tabs()))
        self.assertIn("head 3 × target 12 × source 11", browser.text("#facts"))
        self.assertEqual(browser.js("return [...document.querySelectorAll('#example option')].length"), 8)
        self.assertEqual(browser.js("return document.querySelector('main [data-view]').dataset.view"), "matrix")

    def test_choosers_choose(self):
        browser = self.open(pages.small)
        browser.choose("#item", 1)
        browser.wait_ready()
        self.assertEqual(browser.js("return document.querySelectorAll('#panel option').length"), 2)
        self.assertIn("layer 2", browser.text("#facts"))
        browser.choose("#panel", 1)
        self.assertEqual((browser.address()["item"], browser.address()["panel"]), ("1", "1"))
        browser.choose("#example", pages.MISSING)
        self.assertEqual(browser.address()["example"], str(pages.MISSING))
        self.assertNotIn("item", browser.address())  # that example has no second item
        browser.click("#example-after")
        self.assertEqual(self.chosen()[0], str(pages.TOP))
        browser.click("#example-before")
        self.assertEqual(self.chosen()[0], str(pages.MISSING))

    def test_keys(self):
        browser = self.open(pages.small)
        browser.keys(".", ".")
        self.assertEqual(self.chosen(), ["0", "0", "2"])
        browser.keys(".")  # the last one: stays
        self.assertEqual(self.chosen(), ["0", "0", "2"])
        browser.keys(",")
        self.assertEqual(self.chosen(), ["0", "0", "1"])
        browser.wait("return document.getElementById('announcements').textContent === 'head 2 of 3'")
        browser.keys("'")
        self.assertEqual(self.chosen()[1], "1")
        browser.keys(";", "]")
        self.assertEqual(self.chosen()[:1], ["1"])
        browser.keys("[")
        self.assertEqual(self.chosen()[:2], ["0", "0"])
        browser.keys(str(1 + self.tabs().index("Links")))
        browser.wait_ready("links")
        browser.keys(str(1 + self.tabs().index("Grid")))
        browser.wait_ready("grid")

    def test_keys_stay_in_a_list_that_has_the_focus(self):
        browser = self.open(pages.small)
        browser.focus("#example")
        browser.keys("]", ".")
        self.assertEqual(self.chosen()[2], "0")

    def test_arrows_move_among_the_tabs(self):
        browser = self.open(pages.small)
        browser.focus("#tab-matrix")
        browser.keys(Keys.ARROW_RIGHT)
        browser.wait_ready("links")
        self.assertEqual(browser.js("return document.activeElement.id"), "tab-links")
        self.assertEqual(browser.js("return [...document.querySelectorAll('[role=tab]')].map(t => t.getAttribute('aria-selected')).filter(s => s === 'true').length"), 1)

    def test_help(self):
        browser = self.open(pages.small)
        browser.keys("?")
        self.assertTrue(browser.js("return document.getElementById('help').open"))
        for part in ("Everywhere", "Matrix", "move the cross-hair"):
            self.assertIn(part, browser.text("#help"))
        browser.screenshot("help")
        browser.keys(Keys.ESCAPE)
        self.assertFalse(browser.js("return document.getElementById('help').open"))

    # Address

    def test_the_address_restores_what_is_seen(self):
        browser = self.open(pages.small)
        browser.keys("'", ".", str(1 + self.tabs().index("Links")))
        browser.wait_ready("links")
        browser.click("#theme")
        browser.address()
        address = browser.driver.current_url
        browser.open(address)
        self.assertEqual((browser.view(), self.chosen(), browser.js("return document.documentElement.dataset.theme")), ("links", ["0", "1", "1"], "dark"))

    def test_another_address_is_followed_without_reloading(self):
        browser = self.open(pages.small)
        browser.js("window.sameDocument = true; location.hash = 'example=3&view=links'")
        browser.wait_ready("links")
        self.assertEqual(self.chosen()[0], "3")
        self.assertTrue(browser.js("return window.sameDocument"))

    def test_nonsense_in_the_address_falls_back(self):
        for state in ({"example": "99", "item": "-1", "panel": "1.5", "view": "nothing", "theme": "pink"}, {"example": "<b>", "panel": ""}, {"%": "&&=", "example": "1e400"}):
            self.open(pages.small, **state)
            self.assertEqual((self.browser.view(), self.chosen()), ("matrix", ["0", "0", "0"]))

    def test_fast_changes_all_arrive(self):
        browser = self.open(pages.large)
        browser.js("for (let i = 0; i < 1000; ++i) attend.state.set({cell: `${i}.${i}`})")
        self.assertEqual(browser.address()["cell"], "999.999")
        self.assertEqual([entry for entry in browser.driver.get_log("browser")], [])  # browsers warn where the address changes too often

    # Light and dark

    def test_follows_the_system_until_chosen(self):
        browser = self.browser
        browser.prefer("dark")
        self.open(pages.small)
        theme = "return document.documentElement.dataset.theme"
        self.assertEqual(browser.js(theme), "dark")
        browser.prefer("light")
        browser.wait(theme + " === 'light'")
        browser.click("#theme")
        self.assertEqual((browser.js(theme), browser.address()["theme"]), ("dark", "dark"))
        browser.prefer("dark")
        browser.click("#theme")
        self.assertEqual(browser.js(theme), "light")

    def test_text_can_be_read(self):
        for theme in ("light", "dark"):
            browser = self.open(pages.small, theme=theme)
            ratios = browser.js("""
                const style = getComputedStyle(document.documentElement);
                const luminance = name => { const n = parseInt(style.getPropertyValue(name).trim().slice(1), 16);
                  const [r, g, b] = [n >> 16, n >> 8 & 255, n & 255].map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
                  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
                const ratio = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
                return [['--ink', '--paper'], ['--quiet', '--paper'], ['--quiet', '--surface'], ['--accent', '--paper'], ['--accent', '--accent-soft'], ['--warn', '--warn-soft'],
                        ['--error', '--error-soft']].map(([a, b]) => [a, b, ratio(a, b)]);""")
            for ink, surface, ratio in ratios:
                self.assertGreaterEqual(ratio, 4.5, f"{ink} on {surface}, {theme}")

    def test_colours_are_those_of_the_pictures(self):
        """The same weights as the tool draws them into an SVG."""
        for theme, arguments in (("light", []), ("dark", ["--dark"])):
            file = pathlib.Path(self.folder.name) / f"ramp-{theme}.svg"
            subprocess.run([tool(), "view", str(self.recording(pages.ramp)), "--export", str(file), *arguments], check=True, capture_output=True, timeout=120)
            drawn = {tuple(round(float(part) * 2.55) for part in parts) for parts in re.findall(r"rgb\(([\d.]+)%,\s*([\d.]+)%,\s*([\d.]+)%\)", file.read_text())}
            browser = self.open(pages.ramp)
            for weight in [*pages.RAMP, None]:
                colour = browser.js("return attend.colours.of(arguments[0] === null ? NaN : arguments[0], arguments[1])", weight, theme == "dark")
                self.assertTrue(any(all(abs(a - b) <= 1 for a, b in zip(colour, other)) for other in drawn), f"{theme} {weight}: {colour} is not in the picture")

    # For all users

    def test_everything_has_a_name(self):
        for view in ("matrix", "links", "grid"):
            browser = self.open(pages.small, view=view)
            nameless = browser.js("""
                const text = ids => ids.split(' ').map(id => document.getElementById(id)?.textContent ?? '').join(' ');
                const name = e => e.getAttribute('aria-label') || (e.hasAttribute('aria-labelledby') && text(e.getAttribute('aria-labelledby'))) ||
                  (e.labels && [...e.labels].map(l => l.textContent).join(' ')) || e.textContent;
                return [...document.querySelectorAll("button, select, input, [role=listbox], [role=application], [role=tabpanel], dialog[open], canvas:not([aria-hidden])")]
                  .filter(e => !name(e).trim()).map(e => e.outerHTML.slice(0, 200));""")
            self.assertEqual(nameless, [], view)
            self.assertEqual(browser.js("const ids = [...document.querySelectorAll('[id]')].map(e => e.id); return ids.filter((id, i) => ids.indexOf(id) !== i)"), [])
            self.assertEqual(browser.js("return document.documentElement.lang"), "en")

    def test_tab_reaches_everything_with_a_visible_focus(self):
        for view in ("matrix", "links"):
            browser = self.open(pages.small, view=view)
            wanted = browser.js("""
                const seen = e => e.offsetParent !== null || getComputedStyle(e).position === 'fixed' || e.id === 'skip';
                const all = [...document.querySelectorAll(arguments[0])].filter(e => seen(e) && e.tabIndex === 0 && !(e.type === 'radio' && !e.checked));
                all.forEach((e, i) => { e.dataset.stop = i; });
                return all.length;""", CONTROLS)
            reached, unseen = set(), []
            for _ in range(wanted + 5):
                browser.keys(Keys.TAB)
                stop, outline = browser.js("""
                    const e = document.activeElement, shown = e.type === 'radio' ? e.nextElementSibling : e;
                    return [e.dataset.stop === undefined ? null : Number(e.dataset.stop), getComputedStyle(shown).outlineStyle];""")
                if stop is None:
                    continue
                reached.add(stop)
                if outline == "none":
                    unseen.append(browser.js("return document.activeElement.outerHTML.slice(0, 120)"))
            missed = browser.js("return [...document.querySelectorAll('[data-stop]')].filter(e => !arguments[0].includes(Number(e.dataset.stop))).map(e => e.outerHTML.slice(0, 120))", list(reached))
            self.assertEqual((missed, unseen), ([], []), view)

    def test_skips_to_the_view(self):
        browser = self.open(pages.small)
        browser.keys(Keys.TAB)
        self.assertEqual(browser.js("return document.activeElement.id"), "skip")
        self.assertGreaterEqual(browser.js("return document.activeElement.getBoundingClientRect().top"), 0)
        browser.keys(Keys.ENTER)
        self.assertEqual(browser.js("return document.activeElement.id"), "view")

    def test_fits_every_width(self):
        for width, height in ((400, 800), (760, 900), (1600, 900)):
            self.browser.size(width, height)
            for view in ("matrix", "links", "grid"):
                self.open(pages.small, view=view)
                self.assert_fits(width)
                self.browser.screenshot(f"shell-{view}-{width}")

    # Little and nothing

    def test_no_examples(self):
        browser = self.open(pages.none)
        self.assertIn("no examples", browser.text("#view"))
        self.assertEqual(self.tabs(), [])
        browser.keys("]", "[", ".", ",", "'", ";", "1", "?")
        self.assertTrue(browser.js("return document.getElementById('help').open"))

    def test_an_example_without_items(self):
        browser = self.open(pages.small, example=pages.BARE)
        self.assertIn("holds no weights", browser.text("#view"))
        browser.keys("[", ".", "'")
        self.assertEqual(self.chosen()[0], str(pages.THUMBNAIL))

    # Errors

    def broken(self, name, change):
        self.page(pages.small)
        original = (pathlib.Path(self.folder.name) / "small.html").read_text()
        broken = change(original)
        self.assertNotEqual(broken, original)
        file = pathlib.Path(self.folder.name) / name
        file.write_text(broken)
        self.browser.open(file.resolve().as_uri())

    def test_a_damaged_index_is_said(self):
        self.broken("damaged.html", lambda html: re.sub(r'(data-key="record">)[^<]*', r"\1!!!", html))
        self.assertIn("damaged", self.browser.text("#view"))
        self.browser.screenshot("damaged")

    def test_missing_weights_are_said(self):
        first = r'<script[^>]*data-key="weights\?example=0&(?:amp;)?item=0&(?:amp;)?panel=0">[^<]*</script>'
        self.broken("missing.html", lambda html: re.sub(first, "", html))
        self.assertIn("exported without", self.browser.text("[data-view=matrix]"))
        self.browser.keys(".")  # the next head is there
        self.browser.wait("return document.querySelector('canvas.map').width > 10")
        self.assertFalse(self.browser.find(".view .empty").is_displayed())

    def test_short_weights_are_said(self):
        first = r'(data-key="weights\?example=0&(?:amp;)?item=0&(?:amp;)?panel=0">)[^<]*'
        self.broken("short.html", lambda html: re.sub(first, r"\1AAAA", html))
        self.assertIn("Expected at least 528 bytes", self.browser.text("[data-view=matrix]"))

    # Served

    def test_served_pages_show_the_same(self):
        browser = self.browser
        with Server(self.recording(pages.small)) as server:
            browser.open(server.address)
            self.assertEqual(browser.view(), "matrix")
            served = browser.js("return document.querySelector('canvas.map').toDataURL()")
            browser.open(server.address + f"#example={pages.MISSING}&view=links")
            self.assertEqual((browser.view(), self.chosen()[0]), ("links", str(pages.MISSING)))
            self.assertEqual(browser.problems(), [])
        self.open(pages.small)
        self.assertEqual(browser.js("return document.querySelector('canvas.map').toDataURL()"), served)

    def test_a_server_that_is_gone_is_said(self):
        self.allowed = "ERR_CONNECTION_REFUSED"
        browser = self.browser
        with Server(self.recording(pages.small)) as server:
            browser.open(server.address)
            server.stop()
            browser.keys("]")
            browser.wait("return document.querySelector('#view').textContent.includes('Is “attend view” still running?')")
            browser.screenshot("server-gone")
            browser.keys("[")  # what was read before can still be seen
            browser.wait("return document.querySelector('canvas.map').width > 10 && document.querySelector('.view .empty').hidden")


if __name__ == "__main__":
    unittest.main()
