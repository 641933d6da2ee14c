"""How quick the viewer's page is: the lines of docs/benchmarks.md, "The viewer".

    ATTEND_TOOL=build/release/bin/attend /usr/bin/python3 bench/viewer/times.py

Writes two recordings into a temporary folder (400 MB: 24 layers of 16 heads at 512 tokens, every weight; and one map of 2048 × 2048), exports and serves them, and
opens them in a headless Chromium. Needs what the tests of the page need: chromium, chromium-driver, python3-selenium.
"""

import array
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "viewer"))
import pages  # noqa: E402
from browser import Browser, Server, tool  # noqa: E402

OPENINGS = 5


def deep(file, layers=24, heads=16, tokens=512):
    """Every weight of layers × heads maps: near the diagonal, each head as wide as its number says, with noise, so that no two rows are alike."""
    record, noise = pages.Recording(), random.Random(1)
    e = record.example("deep", [f"word{i}" for i in range(tokens)])
    for layer in range(layers):
        weights = array.array("f")
        for head in range(heads):
            curve = pages.softened([-abs(d) / (2 + head) + noise.random() for d in range(2 * tokens)])
            curve = array.array("f", curve)
            for r in range(tokens):
                begin = noise.randrange(tokens)
                weights.extend(curve[begin:begin + tokens])
        record.item(e, f"encoder.layers.{layer}.self_attention", "self", ["head", "source", "source"], [heads, tokens, tokens], weights, layer=layer)
    return record.save(file)


def first_view(browser, address):
    browser.driver.get("about:blank")
    browser.open(address)
    return browser.js("return performance.getEntriesByName('attend-first-view')[0].startTime")


def middle(numbers):
    return f"{statistics.median(numbers):.0f} ms (at most {max(numbers):.0f})"


def main():
    browser = Browser()
    with tempfile.TemporaryDirectory(prefix="attend-viewer-") as folder:
        for name, make, keep in [("24 × 16 maps of 512 × 512", deep, "top-k"), ("one map of 2048 × 2048", pages.large, "all")]:
            recording, page = make(f"{folder}/{make.__name__}.attn"), f"{folder}/{make.__name__}.html"
            print(f"| {name}: the recording | {os.path.getsize(recording) / 1e6:.1f} MB |", flush=True)
            start = time.monotonic()
            subprocess.run([tool(), "view", recording, "--export", page, "--keep", keep], check=True, stdout=subprocess.DEVNULL)
            print(f"| page by `--keep {keep}` | {os.path.getsize(page) / 1e6:.1f} MB, written in {time.monotonic() - start:.1f} s |", flush=True)
            print(f"| first view of that page | {middle([first_view(browser, 'file://' + page) for _ in range(OPENINGS)])} |", flush=True)
            start = time.monotonic()
            with Server(recording) as server:
                print(f"| `attend view`: until the address is printed | {1000 * (time.monotonic() - start):.0f} ms |")
                print(f"| first view, served | {middle([first_view(browser, server.address) for _ in range(OPENINGS)])} |", flush=True)
                browser.open(server.address + "#view=matrix")
                browser.wait("return document.documentElement.dataset.view === 'matrix'")
                print(f"| hover, until the next frame | {middle([time for time, _ in browser.hover_times(100, 100, 7, 5, 51)])} |", flush=True)
    browser.close()


if __name__ == "__main__":
    main()
