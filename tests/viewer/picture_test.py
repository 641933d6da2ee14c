"""The picture view of the real page: maps over a picture, words to walk through, glimpses."""

import math
import unittest

import pages
from browser import Keys, ViewerTest

RED, BLUE = (200, 40, 40), (40, 60, 200)
HEIGHT, WIDTH = 60, 90
WORDS = ["a", "<script>alert(1)</script>", "dog"]
MAPS = [[0.1, 0.2, 0.3, 0.1, 0.1, 0.2], [0.6, 0.0, 0.0, 0.0, 0.0, 0.4], [0.0, 0.05, 0.05, 0.2, 0.5, 0.2]]  # 2 rows, 3 columns
CAPTION, HEADS, MISSING, EMPTY, SINGLE, SHORT, SCALES, STEPS, PEAK = range(9)
BOXES = [(0.1, 0.1, 0.2, 0.3), (0.5, 0.2, 0.2, 0.3), (0.6, 0.6, 0.2, 0.3)]
STAGE = ".picture-stage canvas"
CURRENT = [255, 196, 66]


def scenes(file):
    """A picture, red on the left and blue on the right, with everything that can lie on it; the same maps without a picture; right-to-left words."""
    record = pages.Recording()
    spatial = ("spatial", ["target", "row", "column"])
    e = record.example("scene", [], WORDS)
    record.picture(e, HEIGHT, WIDTH, bytes(v for _ in range(HEIGHT) for x in range(WIDTH) for v in (RED if x < WIDTH // 2 else BLUE)))
    record.item(e, "decoder.attention", *spatial, [3, 2, 3], sum(MAPS, []))
    record.item(e, "decoder.heads", "spatial", ["head", "target", "row", "column"], [2, 3, 2, 3], sum(MAPS, []) + [w / 2 for w in sum(MAPS, [])])
    record.item(e, "missing", "spatial", ["row", "column"], [1, 2], [math.nan, 0.5])
    record.item(e, "empty", "spatial", ["row", "column"], [0, 5], [])
    record.item(e, "single", "spatial", ["row", "column"], [1, 1], [1])
    record.item(e, "short", "spatial", ["row", "column"], [4, 4], [0.1, 0.2, 0.3, 0.4], block=[2, 2])
    record.item(e, "ram", "glimpse", ["step", "scale", "coordinate"], [3, 2, 4],
                [v for left, top, width, height in BOXES for v in (left, top, width, height, left - width / 2, top - height / 2, width * 2, height * 2)])
    record.item(e, "dram", "glimpse", ["step", "coordinate"], [3, 4], [v for box in BOXES for v in box])
    peak = [0.0] * (400 * 1600)
    peak[123 * 1600 + 777] = 1.0
    record.item(e, "peak", "spatial", ["row", "column"], [400, 1600], peak)
    e = record.example("no picture", [], WORDS)
    record.item(e, "decoder.attention", *spatial, [3, 2, 3], sum(MAPS, []))
    record.item(e, "dram", "glimpse", ["step", "coordinate"], [3, 4], [v for box in BOXES for v in box])
    e = record.example("right to left", [], ["שלום", "עולם", "טוב"])
    record.item(e, "decoder.attention", *spatial, [3, 2, 3], sum(MAPS, []))
    return record.save(file)


class PictureTest(ViewerTest):
    def show(self, item, example=0, **state):
        return self.open(scenes, example=example, item=item, view="picture", **state)

    def size(self):
        return self.browser.js("const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.width, b.height]", STAGE)

    def pixel(self, across, down):
        """The colour at parts of the stage's width and height."""
        width, height = self.size()
        return self.browser.pixel(STAGE, across * width, down * height)[:3]

    def cell(self, row, column, rows=2, columns=3):
        return self.pixel((column + 0.5) / columns, (row + 0.5) / rows)

    def ramp(self, fraction, dark=True):
        return self.browser.js("return attend.colours.of(arguments[0], arguments[1])", fraction, dark)

    def assert_close(self, seen, wanted, slack=2):
        self.assertTrue(all(abs(a - b) <= slack for a, b in zip(seen, wanted)), f"expected the colour {wanted}, got {seen}")

    def read_out(self):
        return self.browser.text(".read-out")

    def chosen(self):
        return self.browser.js("return [...document.querySelectorAll('.frame[aria-selected=true]')].map(f => Number(f.dataset.place))")

    # The map over the picture

    def test_full_opacity_shows_the_weights_alone(self):
        self.show(CAPTION, map="blocks", opacity=100, panel=1)
        for row, column in [(0, 0), (0, 1), (1, 2)]:
            self.assert_close(self.cell(row, column), self.ramp(MAPS[1][row * 3 + column] / 0.6))

    def test_no_opacity_shows_the_picture_alone(self):
        browser = self.show(CAPTION, map="blocks", panel=1)
        before = self.cell(0, 0)
        self.assertNotEqual(before, list(RED))
        browser.choose(browser.labelled("Opacity"), 0)
        self.assert_close(self.cell(0, 0), RED)
        self.assert_close(self.cell(1, 2), BLUE)
        self.assertEqual(browser.address()["opacity"], "0")

    def test_strong_weights_cover_more_of_the_picture(self):
        self.show(CAPTION, map="blocks", opacity=60, panel=1)
        strong, weak = self.cell(0, 0), self.pixel(0.55, 0.25)  # 0.6 over red; 0 over blue
        self.assertGreater(sum(strong), sum(weak))
        self.assertGreater(sum(weak), 0)
        self.assertEqual(self.browser.view(), "picture")
        self.browser.screenshot("picture-light")

    def test_light_leaves_the_picture_where_the_weight_is(self):
        browser = self.show(CAPTION, map="blocks", opacity=100, panel=1)
        browser.click("label[for$='-light']")
        self.assert_close(self.cell(0, 0), RED)
        self.assert_close(self.cell(0, 2), (0, 0, 0))
        self.assert_close(self.cell(1, 2), [round(v * 0.4 / 0.6) for v in BLUE])
        self.assertEqual(browser.address()["shade"], "light")

    def test_smooth_goes_through_the_cells_and_between_them(self):
        browser = self.show(CAPTION, map="blocks", opacity=100, panel=1)
        blocky = self.pixel(1 / 3 - 0.02, 0.25)
        self.assert_close(blocky, self.ramp(1))
        browser.click("label[for$='-smooth']")
        self.assert_close(self.cell(0, 0), self.ramp(1), slack=6)
        self.assert_close(self.cell(0, 2), self.ramp(0), slack=6)
        between = self.pixel(1 / 3, 0.25)
        self.assertTrue(sum(self.ramp(0.2)) < sum(between) < sum(self.ramp(0.8)), f"{between} is no colour of the middle")

    def test_strongest_of_all_maps(self):
        browser = self.show(CAPTION, map="blocks", opacity=100, panel=2)
        self.assert_close(self.cell(1, 1), self.ramp(1))
        browser.click("label[for$='-all']")
        self.assert_close(self.cell(1, 1), self.ramp(0.5 / 0.6))
        self.assertIn("0.6", browser.text(".legend"))

    def test_a_lone_peak_is_seen_though_it_is_smaller_than_a_pixel(self):
        for kind in ["blocks", "smooth"]:
            self.show(PEAK, map=kind, opacity=100)
            brightest = self.browser.js("""
              const c = document.querySelector(arguments[0]), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
              let most = 0;
              for (let i = 0; i < d.length; i += 4) most = Math.max(most, d[i] + d[i + 1] + d[i + 2]);
              return most;""", STAGE)
            self.assertGreater(brightest, sum(self.ramp(0.9)))
        self.assertIn("row 124, column 778", self.read_out())

    def test_not_a_number_has_a_colour_of_its_own(self):
        browser = self.show(MISSING, map="blocks", opacity=100)
        missing = browser.js("return attend.colours.missing(true)")
        self.assert_close(self.cell(0, 0, 1, 2), missing)
        self.assert_close(self.cell(0, 1, 1, 2), self.ramp(1))
        browser.click("label[for$='-smooth']")
        self.assert_close(self.cell(0, 0, 1, 2), missing)
        self.assertIn("not a number", browser.text(".legend"))
        browser.point(STAGE, 30, 30)
        self.assertEqual(self.read_out(), "Row 1, column 1: not a number")

    def test_without_a_picture_the_map_has_the_colours_of_the_page(self):
        browser = self.show(0, example=1, map="blocks", panel=1)
        self.assert_close(self.cell(0, 0), self.ramp(1, dark=False))
        self.assert_close(self.cell(0, 1), self.ramp(0, dark=False))
        self.assertFalse(browser.find(browser.labelled("Opacity")).is_displayed())
        browser.click("#theme")
        self.assert_close(self.cell(0, 0), self.ramp(1, dark=True))
        browser.screenshot("picture-dark")

    def test_empty_and_single_maps(self):
        browser = self.show(EMPTY)
        self.assert_close(self.pixel(0.25, 0.5), RED)
        self.assertIn("no cells", self.read_out())
        browser.focus(".picture-stage")
        browser.keys(Keys.ARROW_RIGHT)
        self.show(SINGLE, opacity=100)
        self.assert_close(self.pixel(0.5, 0.5), self.ramp(1))
        self.assertIn("1 × 1 cells", self.read_out())

    def test_a_shortened_map_says_so(self):
        browser = self.show(SHORT, map="blocks", opacity=100)
        self.assert_close(self.cell(3, 3, 4, 4), self.ramp(1))
        self.assert_close(self.cell(0, 0, 4, 4), self.ramp(0.25))
        width, height = self.size()
        browser.point(STAGE, width * 0.9, height * 0.9)
        self.assertEqual(self.read_out(), "Row 4, column 4: 0.4 (mean of its block)")

    # Cells

    def test_the_pointer_reads_a_cell(self):
        browser = self.show(CAPTION, panel=2)
        width, height = self.size()
        browser.point(STAGE, width * 0.5, height * 0.75)
        self.assertEqual(self.read_out(), "Row 2, column 2: 0.5")
        browser.point("#title", 2, 2)
        self.assertIn("2 × 3 cells; largest 0.5 in row 2, column 2", self.read_out())

    def test_keys_move_from_cell_to_cell(self):
        browser = self.show(CAPTION, panel=2)
        browser.focus(".picture-stage")
        browser.keys(Keys.ARROW_RIGHT)
        self.assertEqual(self.read_out(), "Row 2, column 2: 0.5")  # begins at the largest
        browser.keys(Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_LEFT)
        self.assertEqual(self.read_out(), "Row 1, column 1: 0")
        browser.wait("return document.querySelector('#announcements').textContent === 'Row 1, column 1: 0'")
        browser.keys(Keys.END)
        self.assertEqual(self.read_out(), "Row 2, column 3: 0.2")
        browser.keys(Keys.ESCAPE)
        self.assertIn("2 × 3 cells", self.read_out())

    # Words

    def test_a_click_on_the_strip_shows_its_word(self):
        browser = self.show(CAPTION, map="blocks", opacity=100)
        self.assertEqual(self.chosen(), [0])
        browser.click(".frame[data-place='2']")
        self.assertEqual(browser.address()["panel"], "2")
        self.assertEqual(self.chosen(), [2])
        self.assertEqual(browser.text(".picture-title bdi"), "dog")
        self.assert_close(self.cell(1, 1), self.ramp(1))

    def test_words_are_texts(self):
        browser = self.show(CAPTION, panel=1)
        self.assertEqual(browser.text(".picture-title bdi"), WORDS[1])
        self.assertEqual(browser.text(".frame[data-place='1'] .frame-name"), WORDS[1][:24] + "…")
        self.assertEqual(len(browser.all(".view script")), 0)

    def test_frames_show_their_maps(self):
        self.show(CAPTION, map="blocks", opacity=100)
        frame = ".frame[data-place='1'] canvas"
        width, height = self.browser.js("const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.width, b.height]", frame)
        self.assert_close(self.browser.pixel(frame, width / 6, height / 4)[:3], self.ramp(1))
        self.assert_close(self.browser.pixel(frame, width / 2, height / 4)[:3], self.ramp(0))
        self.assert_close(self.browser.pixel(frame, width * 5 / 6, height * 3 / 4)[:3], self.ramp(0.4 / 0.6))

    def test_keys_on_the_strip(self):
        browser = self.show(CAPTION)
        browser.focus(".strip")
        browser.keys(Keys.ARROW_RIGHT)
        self.assertEqual(self.chosen(), [1])
        browser.keys(Keys.END)
        self.assertEqual(self.chosen(), [2])
        browser.wait("return document.querySelector('#announcements').textContent === 'dog, 3 of 3'")
        browser.keys(Keys.ARROW_RIGHT)
        self.assertEqual(self.chosen(), [2])
        browser.keys(Keys.HOME)
        self.assertEqual(self.chosen(), [0])

    def test_right_to_left_words_stand_from_right_to_left(self):
        browser = self.show(0, example=2)
        first, last = (browser.js("return document.querySelector(arguments[0]).getBoundingClientRect().left", f".frame[data-place='{n}']") for n in (0, 2))
        self.assertGreater(first, last)
        browser.focus(".strip")
        browser.keys(Keys.ARROW_LEFT)
        self.assertEqual(self.chosen(), [1])

    def test_words_keep_the_head(self):
        browser = self.show(HEADS, panel=3)
        self.assertEqual(self.chosen(), [0])
        browser.click(".frame[data-place='1']")
        self.assertEqual(browser.address()["panel"], "4")
        self.assertIn("largest 0.3", self.read_out())  # half of 0.6: the second head
        browser.keys(",")  # the shell's panel before: head 2, word 1
        self.assertEqual(self.chosen(), [0])

    def test_playing_goes_through_all_words_and_stops(self):
        browser = self.show(CAPTION, speed=5)
        browser.click(".play")
        self.assertEqual(browser.text(".play"), "Pause")
        browser.wait("return document.querySelector('.frame[data-place=\"2\"]').getAttribute('aria-selected') === 'true'")
        browser.wait("return document.querySelector('.play').textContent === 'Play'")
        browser.choose(browser.labelled("Speed"), 0.5)
        browser.focus(".strip")
        browser.keys(" ")  # again from the start
        self.assertEqual(self.chosen(), [0])
        browser.keys(" ")
        self.assertEqual(browser.text(".play"), "Play")

    def test_slider_and_step_buttons(self):
        browser = self.show(CAPTION)
        self.assertTrue(browser.find("[aria-label='Step before']").get_property("disabled"))
        browser.click("[aria-label='Next step']")
        self.assertEqual(self.chosen(), [1])
        browser.choose(browser.labelled("Step"), 3)
        self.assertEqual(self.chosen(), [2])
        self.assertTrue(browser.find("[aria-label='Next step']").get_property("disabled"))

    # Glimpses

    def edge(self, box, extent=(0, 0, 1, 1)):
        """The brightest pixel across the left edge of a box, below the number in its corner."""
        left, top, right, bottom = extent
        width, _ = self.size()
        places = [(box[0] - left) / (right - left) + shift / width for shift in (-1, 0, 1)]
        return max((self.pixel(place, (box[1] + box[3] * 0.6 - top) / (bottom - top)) for place in places), key=sum)

    def test_the_path_ends_at_its_step(self):
        browser = self.show(STEPS, step=2)
        self.assert_close(self.edge(BOXES[1]), CURRENT, slack=12)
        self.assertGreater(min(self.edge(BOXES[0])), 200)  # white: a step before
        self.assert_close(self.edge(BOXES[2]), BLUE, slack=12)  # not yet
        browser.click("label[for$='-all']")
        self.assertGreater(min(self.edge(BOXES[2])), 200)
        browser.click("label[for$='-one']")
        self.assert_close(self.edge(BOXES[0]), RED, slack=12)
        self.assert_close(self.edge(BOXES[1]), CURRENT, slack=12)
        browser.screenshot("glimpses")

    def test_steps_by_keys_pointer_and_player(self):
        browser = self.show(STEPS)
        self.assertIn("Step 1: left 0.1, top 0.1, width 0.2, height 0.3 (18 × 18 pixels at 9, 6)", self.read_out())
        browser.focus(".picture-stage")
        browser.keys(Keys.ARROW_RIGHT)
        self.assertEqual(browser.address()["step"], "2")
        browser.wait("return document.querySelector('#announcements').textContent.startsWith('Step 2 of 3')")
        width, height = self.size()
        browser.point(STAGE, width * 0.2, height * 0.25, click=True)
        self.assertEqual(browser.address()["step"], "1")
        browser.choose(browser.labelled("Speed"), 5)
        browser.click(".play")
        browser.wait("return document.querySelector('.picture-title').textContent.startsWith('Step 3')")
        browser.wait("return document.querySelector('.play').textContent === 'Play'")

    def test_coarser_scales_are_dashed(self):
        browser = self.show(SCALES, panel=1)
        rows = browser.js("return [...document.querySelectorAll('.picture-side tbody tr')].map(r => [...r.children].map(c => c.textContent))")
        self.assertEqual(rows, [["1", "0.5", "0.2", "0.2", "0.3"], ["2", "0.4", "0.05", "0.4", "0.6"]])
        box, extent = (0.4, 0.05, 0.4, 0.6), (-0.01, -0.06, 1.01, 1.06)  # of all boxes, with a little around: they reach from −0.05 to 1.05
        width, height = self.size()
        x = (box[0] - extent[0]) / (extent[2] - extent[0]) * width
        top, bottom = ((y - extent[1]) / (extent[3] - extent[1]) * height for y in (0.3, 0.6))
        column = [self.browser.pixel(STAGE, x, y)[:3] for y in range(round(top), round(bottom), 2)]
        dashes = [all(abs(a - b) < 40 for a, b in zip(pixel, CURRENT)) for pixel in column]
        self.assertTrue(any(dashes) and not all(dashes), f"expected dashes and gaps, got {column}")

    def test_a_pointer_over_a_box_reads_it(self):
        browser = self.show(STEPS, step=1, boxes="all")
        width, height = self.size()
        browser.point(STAGE, width * 0.7, height * 0.75)
        self.assertTrue(self.read_out().startswith("Step 3: left 0.6, top 0.6"))
        browser.point("#title", 2, 2)
        self.assertTrue(self.read_out().startswith("Step 1:"))

    def test_without_a_picture_boxes_lie_in_an_empty_square(self):
        browser = self.show(1, example=1, step=2)
        width, height = self.size()
        self.assertAlmostEqual(width, height, delta=1)
        self.assert_close(self.edge(BOXES[1]), CURRENT, slack=12)
        self.assertGreater(min(self.edge(BOXES[0])), 200)
        background = self.pixel(0.05, 0.9)
        self.assert_close(self.edge(BOXES[2]), background, slack=12)
        self.assertNotEqual(self.pixel(0.5 / width, 0.7), background)  # the frame
        self.assertEqual(self.read_out(), "Step 2: left 0.5, top 0.2, width 0.2, height 0.3")
        self.assertFalse(browser.find(".crops-titled").is_displayed())
        self.assertEqual(self.open(scenes, example=1, item=1).view(), "picture")  # what is shown first, as with a picture
        browser.screenshot("glimpses-without-picture")

    # Everywhere

    def test_narrow_pages(self):
        self.browser.size(400, 800)
        for item in [CAPTION, MISSING, EMPTY, SCALES, STEPS]:
            self.show(item)
            self.assert_fits(400)
        self.browser.screenshot("picture-narrow")

    def test_wrong_addresses_fall_back(self):
        self.show(CAPTION, map="nonsense", opacity=-5, shade="x", strongest="y", speed=99)
        self.assertIn("2 × 3 cells", self.read_out())
        self.show(STEPS, step=77, boxes="?")
        self.assertTrue(self.read_out().startswith("Step 1:"))

    def test_everything_can_be_reached_by_tab(self):
        browser = self.show(CAPTION)
        browser.js("document.querySelector('#view').focus()")
        reached = set()
        for _ in range(30):
            browser.keys(Keys.TAB)
            reached.add(browser.js("const e = document.activeElement; return e.className || e.id || e.tagName"))
            if browser.js("return document.activeElement.matches('.strip')"):
                break
        self.assertTrue({"strip", "surface picture-stage"} <= reached, reached)
        self.assertNotEqual(browser.js("return getComputedStyle(document.activeElement).outlineStyle"), "none")


if __name__ == "__main__":
    unittest.main(verbosity=2)
