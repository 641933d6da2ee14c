"""The pictures of the viewer in docs/images: what a browser shows of a quickstart's folder.

    ATTEND_TOOL=build/release/bin/attend /usr/bin/python3 scripts/viewer_pictures.py quickstart docs/images
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "viewer"))
from browser import Browser, Server  # noqa: E402


def main():
    if len(sys.argv) != 3:
        sys.exit("viewer_pictures.py: expected the folder of a quickstart and the folder for pictures")
    quickstart, images = (pathlib.Path(argument) for argument in sys.argv[1:])
    browser = Browser()

    def picture(name, address, width, height):
        browser.size(width, height)
        browser.driver.get("about:blank")
        browser.open(address)
        browser.driver.save_screenshot(str(images / f"{name}.png"))

    with Server(quickstart / "words.attn") as server:
        picture("viewer_matrix", server.address + "#view=matrix&example=4&cell=9.10", 1000, 680)
        picture("viewer_links", server.address + "#view=links&example=2&theme=dark", 1000, 620)
    with Server(quickstart / "run") as server:
        picture("viewer_curves", server.address + "#view=curves", 1000, 680)
    browser.close()


if __name__ == "__main__":
    main()
