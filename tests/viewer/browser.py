"""Chromium, driven for the tests of the viewer: it notes every message of the console and every request.

Environment: ATTEND_TOOL, the binary under test; ATTEND_ARTEFACTS, where screenshots go (else the working folder).
Needs Debian's chromium, chromium-driver and python3-selenium.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

PATIENCE = 20  # seconds that anything may take before the test fails


def program(*names):
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    sys.exit(f"browser.py: expected {' or '.join(names)} in PATH, found none; install chromium, chromium-driver and python3-selenium")


def tool():
    path = os.environ.get("ATTEND_TOOL")
    if not path:
        sys.exit("browser.py: expected the path of the attend binary in ATTEND_TOOL, which is not set; ATTEND_TOOL=build/release/bin/attend python3 TEST")
    return path


def artefacts():
    folder = pathlib.Path(os.environ.get("ATTEND_ARTEFACTS", "."))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Browser:
    """A headless Chromium of its own profile."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="attend-chromium-")
        options = Options()
        options.binary_location = program("chromium", "chromium-browser", "google-chrome")
        for switch in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
                       "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--force-device-scale-factor=1", "--lang=en",
                       f"--user-data-dir={self.profile.name}"]:
            options.add_argument(switch)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(program("chromedriver")), options=options)
        self.driver.set_script_timeout(PATIENCE)
        self.size(1280, 800)

    def close(self):
        self.driver.quit()
        self.profile.cleanup()

    # Window

    def size(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def prefer(self, scheme):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def open(self, address):
        """Opens a page, or only another # of the same one, and waits until the first view is drawn."""
        self.driver.get("about:blank")
        self.driver.get(address)
        self.wait_ready()

    def wait_ready(self, view=None):
        self.wait("return document.documentElement.dataset.ready === '1'" + (f" && document.documentElement.dataset.view === {json.dumps(view)}" if view else ""))

    def wait(self, condition, *arguments):
        """Runs JavaScript until it gives something true, and returns that."""
        end = time.monotonic() + PATIENCE
        while True:
            value = self.js(condition, *arguments)
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"waited {PATIENCE} s in vain for: {condition} {arguments or ''}")
            time.sleep(0.02)

    def settle(self):
        """Waits until what was set has been drawn."""
        self.driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));")

    def screenshot(self, name):
        self.driver.save_screenshot(str(artefacts() / f"{name}.png"))

    # Page

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.js("const e = document.querySelector(arguments[0]); return e ? e.textContent : null", selector)

    def hover_times(self, left, top, right, down, count):
        """Milliseconds of `count` hovers over the matrix, each `right` and `down` of the one before: [from the event to the next frame, the work alone]."""
        return self.driver.execute_async_script("""
            const [left, top, right, down, count, done] = arguments;
            const map = document.querySelector('canvas.map'), box = map.getBoundingClientRect(), times = [];
            const frame = () => new Promise(resolve => requestAnimationFrame(() => { const c = new MessageChannel(); c.port1.onmessage = resolve; c.port2.postMessage(0); }));
            (async () => {
              for (let i = 0; i < count; ++i) {
                await frame();
                const start = performance.now();
                map.dispatchEvent(new PointerEvent('pointermove', {pointerId: 1, clientX: box.left + left + right * i, clientY: box.top + top + down * i, bubbles: true}));
                await frame();
                times.push([performance.now() - start, performance.getEntriesByName('attend-hover')[0].duration]);
              }
              done(times);
            })();""", left, top, right, down, count)

    def view(self):
        return self.js("return document.documentElement.dataset.view")

    def click(self, selector):
        self.find(selector).click()
        self.settle()

    def keys(self, *keys):
        for key in keys:
            ActionChains(self.driver, duration=0).send_keys(key).perform()
        self.settle()

    def focus(self, selector):
        self.js("document.querySelector(arguments[0]).focus()", selector)
        self.settle()

    def point(self, selector, x, y, click=False):
        """Moves the mouse to (x, y) from the upper left corner of an element."""
        # Selenium counts from the middle
        width, height = self.js("const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.width, b.height]", selector)
        chain = ActionChains(self.driver, duration=0).move_to_element_with_offset(self.find(selector), round(x - width // 2), round(y - height // 2))
        (chain.click() if click else chain).perform()
        self.settle()

    def choose(self, selector, value):
        """Sets a drop-down list or a slider as a user would."""
        self.js("const e = document.querySelector(arguments[0]); e.value = arguments[1]; e.dispatchEvent(new Event(e.tagName === 'SELECT' ? 'change' : 'input', {bubbles: true}))",
                selector, str(value))
        self.settle()

    def labelled(self, label):
        """Selector of the control with that label."""
        found = self.js("const l = [...document.querySelectorAll('label')].find(l => l.textContent === arguments[0]); return l ? l.htmlFor : ''", label)
        if not found:
            raise AssertionError(f"no control is labelled {label}")
        return f"[id='{found}']"

    def pixel(self, selector, x, y):
        """Colour [red, green, blue, alpha] of a canvas at a place of the page's pixels."""
        return self.js("const e = document.querySelector(arguments[0]), k = devicePixelRatio;"
                       "return [...e.getContext('2d').getImageData(Math.floor(arguments[1] * k), Math.floor(arguments[2] * k), 1, 1).data]", selector, x, y)

    def address(self):
        """What stands behind the # now; written with a small delay."""
        time.sleep(0.4)
        return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.driver.current_url).fragment))

    # What went wrong

    def problems(self):
        """Errors of the console, and requests to anything but the page's own origin, since the last call."""
        found = [f"{entry['level']}: {entry['message']}" for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]
        requests = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                requests.append((message["params"]["request"]["url"], message["params"].get("documentURL", "")))
        for url, page in requests:
            if not is_own(url, page):
                found.append(f"request to {url[:200]} from {page[:200]}")
        return found


def is_own(url, page):
    target, own = urllib.parse.urlsplit(url), urllib.parse.urlsplit(page)
    if target.scheme in ("data", "blob", "about"):
        return True
    if target.scheme == "file":
        return target.path == own.path
    return target.scheme == "http" and target.hostname == "127.0.0.1" and target.netloc == own.netloc


def export(recording, page):
    """attend view RECORDING --export PAGE; gives the address of the page."""
    done = subprocess.run([tool(), "view", str(recording), "--export", str(page)], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise AssertionError(f"attend view {recording} --export {page} ended with {done.returncode}: {done.stderr}{done.stdout}")
    return pathlib.Path(page).resolve().as_uri()


class Server:
    """attend view RECORDING --no-open, as long as the block lasts."""

    def __init__(self, recording):
        self.process = subprocess.Popen([tool(), "view", str(recording), "--no-open"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def __enter__(self):
        said = []
        for line in self.process.stdout:
            said.append(line)
            found = re.search(r"http://127\.0\.0\.1:\d+/", line)
            if found:
                self.address = found.group()
                return self
        raise AssertionError("attend view --no-open ended without an address; it said: " + "".join(said))

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(timeout=PATIENCE)
        self.process.stdout.close()

    def __exit__(self, *_):
        self.stop()


class ViewerTest(unittest.TestCase):
    """A browser and a folder for each class; a test fails on errors of the console and on requests to elsewhere."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        tool()  # complains before a browser is started
        cls.folder = tempfile.TemporaryDirectory(prefix="attend-viewer-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)
        cls.pages = {}

    def setUp(self):
        self.allowed = None  # a pattern of problems that the test itself brings about
        self.browser.size(1280, 800)
        self.browser.prefer("light")
        self.browser.problems()

    def run(self, result=None):
        before = len(result.failures) + len(result.errors) if result else 0
        result = super().run(result)
        if result and len(result.failures) + len(result.errors) > before:
            self.browser.screenshot("failed-" + self.id().rsplit(".", 1)[-1])
        return result

    def tearDown(self):
        problems = [problem for problem in self.browser.problems() if not (self.allowed and re.search(self.allowed, problem))]
        self.assertEqual(problems, [])

    def recording(self, make):
        """The file that a function of pages.py makes, once for all tests of the class."""
        file = pathlib.Path(self.folder.name) / f"{make.__name__}.attn"
        if not file.exists():
            make(file)
        return file

    def page(self, make):
        """Address of the exported page of such a recording."""
        if make not in self.pages:
            self.pages[make] = export(self.recording(make), pathlib.Path(self.folder.name) / f"{make.__name__}.html")
        return self.pages[make]

    def open(self, make, **state):
        self.browser.open(self.page(make) + ("#" + urllib.parse.urlencode(state) if state else ""))
        return self.browser

    def first_view(self):
        """Milliseconds from the navigation to the first view."""
        return self.browser.js("return performance.getEntriesByName('attend-first-view')[0].startTime")

    def assert_fits(self, width):
        """No horizontal scrolling of the page."""
        self.assertLessEqual(self.browser.js("return document.documentElement.scrollWidth"), width)


__all__ = ["Browser", "Keys", "Server", "ViewerTest", "export", "artefacts"]
