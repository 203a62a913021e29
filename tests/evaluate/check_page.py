#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the page of `dvnet evaluate --html` in a headless Chromium, and looks at its pictures and curves.

    check_page.py DVNET NETWORK.dvn [SCREENSHOT.png]

Where there is no Chromium only the page's text is looked at.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, os.path.join(HERE, "..", "acceptance")]
import chromium  # noqa: E402
import drawn_pictures as drawn  # noqa: E402

DVNET, NETWORK = sys.argv[1:3]


def check_text(text, told):
    """Nothing is fetched, and the data is what --json says."""
    assert not re.search(r"(src|href)\s*=\s*\"|@import|url\(", text), "the page refers to other files"
    assert text.count("<script") == 2 and text.count("</script>") == 2, "a name has become markup"
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1))
    worst = data["networks"][0]["detection"].pop("worst")
    assert data == told, "the page's numbers are not those of --json"
    return worst


def check_worst(worst, told, pictures):
    """The pictures with most mistakes, each with all that is there: every object once, as found or missed."""
    counts = [picture["mistakes"] for picture in worst]
    assert counts == sorted(counts, reverse=True) and 0 < len(worst) <= 12, counts
    cells = told["networks"][0]["detection"]["confusion"]
    mistakes = sum(cell["count"] for cell in cells if cell["is"] != cell["found"])
    assert sum(counts) == mistakes if len(worst) < 12 else sum(counts) <= mistakes, (counts, mistakes)
    by_name = dict(pictures)
    for picture in worst:
        states = [box["state"] for box in picture["boxes"]]
        objects = by_name[os.path.splitext(os.path.basename(picture["path"]))[0]]
        there = sorted([round(v) for v in box["box"]] for box in picture["boxes"] if box["state"] in ("truth", "missed"))
        assert there == sorted(box for _, *box in objects), (there, objects)
        assert states.count("missed") + states.count("wrong") >= picture["mistakes"] > 0, picture["boxes"]


def check_page(browser, told, worst, screenshot):
    detection = told["networks"][0]["detection"]
    assert browser.evaluate("document.querySelectorAll('#networks tbody tr').length") == len(told["networks"])
    assert browser.evaluate("document.querySelectorAll('#classes tbody tr').length") == len(detection["classes"])
    assert browser.evaluate("document.querySelectorAll('#curves path').length") == len(detection["classes"])
    assert browser.evaluate("byId('thresholds').textContent") == 'thresholds="%s"' % detection["thresholds"]
    assert browser.evaluate("document.querySelectorAll('#worst figure').length") == len(worst)
    # The pictures are there, and what was found is drawn on them.
    assert browser.evaluate("document.querySelectorAll('#worst rect').length") == sum(len(p["boxes"]) for p in worst)
    sizes = browser.evaluate("(async () => JSON.stringify(await Promise.all([...document.querySelectorAll('#worst image')].map(async i => {"
                             "const p = new Image(); p.src = i.getAttribute('href'); await p.decode(); return [p.width, p.height]; }))))()")
    assert json.loads(sizes) == [[drawn.WIDTH, drawn.HEIGHT]] * len(worst), sizes
    if screenshot:
        open(screenshot, "wb").write(browser.picture())
    # A click on a class leaves its curve alone, a second one shows all; a click on a picture makes it large.
    for dim in (len(detection["classes"]) - 1, 0):
        browser.evaluate("document.querySelector('#classes tbody tr').click()")
        assert browser.evaluate("document.querySelectorAll('#curves .dim').length") == dim
    browser.evaluate("document.querySelector('#worst figure').click()")
    assert browser.evaluate("byId('large').open && byId('large').querySelectorAll('li').length") == len(worst[0]["boxes"])
    browser.evaluate("byId('large').click()")
    assert not browser.evaluate("byId('large').open")
    # The other network's numbers.
    browser.evaluate("byId('choices').children[1].click()")
    assert browser.evaluate("byId('chosen').textContent") == told["networks"][1]["network"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        data, page = os.path.join(folder, "<script><b>x"), os.path.join(folder, "page.html")
        pictures = drawn.write_yolo(data, range(3000, 3060))
        told = json.loads(subprocess.check_output([DVNET, "evaluate", NETWORK, NETWORK, "--data", data, "--html", page, "--json",
                                                   "--samples", "20"]))
        assert told["networks"][0] == told["networks"][1]
        with open(page) as file:
            text = file.read()
        second = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1))["networks"][1]["detection"]["worst"]
        told["networks"][1]["detection"]["worst"] = second
        worst = check_text(text, told)
        check_worst(worst, told, pictures)
        with chromium.opened("file://" + page, "document.title.endsWith('evaluated')") as browser:
            if browser:
                check_page(browser, told, worst, sys.argv[3] if len(sys.argv) > 3 else None)
                browser.reload_on_telephone("document.querySelector('#worst figure')")
    return 0


if __name__ == "__main__":
    sys.exit(main())
