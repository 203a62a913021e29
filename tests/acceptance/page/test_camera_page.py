#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The page of a camera, used in Chromium as a new user would, on a desktop's and on a telephone's screen.

    test_camera_page.py DVCAMERA [FOLDER_FOR_SCREENSHOTS]

Objects are seeded anew each time: DVNN_TEST_SEED is the seed. Without Chromium all parts skip."""
import json
import os
import random
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import chromium  # noqa: E402
from checks import mutated, run_checks  # noqa: E402
from page_camera import HEIGHT, PASSWORD, SEED, WIDTH, ZONES, Camera, Reader, walking_camera, write_clip  # noqa: E402


def save(browser, name):
    if len(sys.argv) > 2:
        with open(os.path.join(sys.argv[2], name + ".png"), "wb") as file:
            file.write(browser.picture())


# --- as a new user would -----------------------------------------------------------------------

ROUNDS = 15
CANVAS = "document.querySelector('.view canvas')"
FORM = "document.querySelector('form input')"


def button(text):
    return "[...document.querySelectorAll('button')].find((one) => one.textContent === %s && one.offsetParent)" % json.dumps(text)


def tap(browser, x, y, *to, touch=False):
    """Taps the picture at a place in fractions, or drags from there."""
    browser.press(*browser.middle_of(CANVAS, x, y), *(browser.middle_of(CANVAS, *place) for place in to), touch=touch)


def press(browser, text):
    browser.wait_for(button(text) + " && !%s.disabled" % button(text))
    browser.click(button(text))


def near(place, x, y):
    return abs(place[0] - x) < 0.01 and abs(place[1] - y) < 0.01


def own_complaints(browser):
    """Those beside wrong passwords, which browsers tell of by themselves."""
    browser.complaints = [one for one in browser.complaints if not str(one.get("url", "")).endswith("/login")]
    return browser.complaints


def log_in(browser):
    browser.write(FORM, PASSWORD)
    press(browser, "Log in")
    browser.wait_for(button("Edit areas and lines"))


def draw_line(browser, camera):
    press(browser, "Edit areas and lines")
    press(browser, "+ Line")
    tap(browser, 0.5, 0.97)
    tap(browser, 0.5, 0.03)
    press(browser, "Done")
    browser.write("document.querySelector('.fields input[name=name]')", "gate")
    browser.wait_for("document.querySelector('.editor .note').textContent.startsWith('Drag')")
    press(browser, "Save")
    browser.wait_for(button("Edit areas and lines"))
    written = camera.zones()
    line = written.pop("lines")[0]
    assert written == ZONES, "what was there has changed: %s" % written
    assert line["name"] == "gate" and near(line["points"][0], 0.5, 0.97) and near(line["points"][1], 0.5, 0.03), line


def see_walkers(browser, reader):
    """Every walk crosses the line once, in its own direction; the page counts as many."""
    browser.wait_for("document.querySelector('.legend').textContent.includes('gate +')")
    end = time.monotonic() + 60
    while sum(map(bool, reader.walks().values())) < 3:
        assert time.monotonic() < end, reader.walks()
        time.sleep(0.2)
    walks = reader.walks()
    counted = {walk: crossings for walk, crossings in walks.items() if crossings}
    assert len(counted) >= 3 and all(crossings for walk, crossings in walks.items() if walk > min(counted)), walks
    for walk, crossings in counted.items():
        direction = walking_camera.walk(SEED, walk)[0]
        assert crossings == ["forward" if direction > 0 else "backward"], (SEED, walk, direction, crossings)
    words = browser.evaluate("[document.querySelector('.legend').textContent, document.querySelectorAll('.figure, .events li').length]")
    shown = sum(int(number) for number in re.findall(r"gate [+-]: (\d+)", words[0]))
    assert shown >= len(counted) and words[1] >= len(counted), (words, counted)


def draw_wrong_area(browser, camera):
    """dvzones' own sentence stands at the area, and nothing is written until it is mended."""
    before = camera.zones()
    press(browser, "Edit areas and lines")
    press(browser, "+ Area")
    for place in ((0.6, 0.3), (0.8, 0.7), (0.8, 0.3), (0.6, 0.7)):
        tap(browser, *place)
    press(browser, "Done")
    fault = "document.querySelector('.fault.at')"
    browser.wait_for("!%s.hidden" % fault)
    words = browser.evaluate(fault + ".textContent")
    assert words == "areas[1]: its edges meet or cross each other elsewhere than at its corners", words
    left, top = browser.evaluate("(() => { const f = %s.getBoundingClientRect(), v = %s.getBoundingClientRect();"
                                 " return [(f.left - v.left) / v.width, (f.top - v.top) / v.height]; })()" % (fault, CANVAS))
    assert 0.3 < left < 0.8 and 0.1 < top < 0.8, (left, top)
    assert browser.evaluate(button("Save") + ".disabled") and camera.zones() == before
    save(browser, "desktop-wrong")
    # The two points that are crossed change their places: the area is good.
    tap(browser, 0.8, 0.3, (0.9, 0.5), (0.6, 0.95))
    browser.wait_for("%s.hidden" % fault)
    press(browser, "Save")
    browser.wait_for(button("Edit areas and lines"))
    area = camera.zones()["areas"][1]
    assert area["name"] == "area 2" and near(area["points"][2], 0.6, 0.95), area
    assert camera.zones()["areas"][0] == before["areas"][0]


def play_clip(browser, camera):
    whole = "[...document.querySelectorAll('.clips li button')].find((one) => !one.textContent.includes('being'))"
    browser.wait_for(whole)
    browser.click(whole)
    browser.wait_for("document.querySelector('.player video').readyState >= 2 && document.querySelector('.player .events button')")
    browser.click("document.querySelector('.player .events button')")  # jumps to the crossing
    browser.wait_for("!document.querySelector('.player video').seeking")
    browser.evaluate("document.querySelector('.player video').pause()")
    browser.wait_for("(() => { const c = document.querySelector('.player canvas'); const d = c.getContext('2d').getImageData(0, 0,"
                     " c.width, c.height).data; let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 128; return n > 200; })()")
    # The box is drawn where the clip's documents say that it is at this time.
    now, path = browser.evaluate("(() => { const v = document.querySelector('.player video'); return [v.currentTime, new URL(v.src).pathname]; })()")
    lines = [json.loads(line) for line in camera.open(path.replace("/clip/", "/clip-documents/"))[1].splitlines()]
    frames = [line["document"] for line in lines if line["document"]["type"] == "frame" and line["at"] <= now * 1e9]
    x0, _, x1, y1 = frames[-1]["objects"][0]["box"]
    columns = browser.evaluate(
        "(() => { const c = document.querySelector('.player canvas'), y = Math.round(%f * c.height), xs = [];"
        " const row = c.getContext('2d').getImageData(0, y, c.width, 1).data;"
        " for (let x = 0; x < c.width; ++x) if (row[4 * x + 3] > 128) xs.push(x / c.width); return [Math.min(...xs), Math.max(...xs)]; })()"
        % ((y1 - 20) / HEIGHT))
    assert abs(columns[0] - x0 / WIDTH) < 0.01 and abs(columns[1] - x1 / WIDTH) < 0.01, (columns, x0, x1)
    save(browser, "desktop-clip")
    press(browser, "Close")


def set_threshold(browser, camera):
    """A slider changes the element and one value of camera.json, and nothing else of its text."""
    before = camera.config_text()
    slide = "document.querySelector('input[name=threshold]')"
    browser.evaluate("(() => { %s.value = 0.35; %s.dispatchEvent(new Event('change')); })()" % (slide, slide))
    end = time.monotonic() + 20
    while camera.config_text() == before:
        assert time.monotonic() < end, camera.text()
        time.sleep(0.05)
    assert camera.config_text() == before.replace("threshold=0.1", "threshold=0.35"), camera.config_text()
    settings = {}
    while abs(settings.get("threshold", 0) - 0.35) > 1e-6:  # it is written first
        assert time.monotonic() < end, settings
        settings = {one["name"]: one["value"] for one in camera.ask("/settings")[1][0]["settings"]}
    assert settings["labels"] == "person,small car", settings
    # A label that has a mistake is told at its field.
    field = "document.querySelector('input[name=thresholds]')"
    browser.write(field, "person:much")
    browser.wait_for("[...document.querySelectorAll('.settings .fault')].some((one) => one.textContent.includes('person:much'))")
    assert "much" not in camera.config_text()
    browser.complaints = [one for one in browser.complaints if not str(one.get("url", "")).endswith("/setting")]


def measure_ground(browser, camera):
    """Four places and the metres between them, a shape that is named, turned and deleted, and what is undone."""
    press(browser, "Edit areas and lines")
    press(browser, "+ Ground")
    for place in ((0.2, 0.9), (0.8, 0.92), (0.7, 0.4), (0.35, 0.4)):
        tap(browser, *place)
    press(browser, "Done")
    number = "document.querySelectorAll('.fields input[type=number]')[%d]"
    browser.wait_for(number % 1)
    browser.write(number % 0, "6.5")
    browser.write(number % 1, "18")
    tap(browser, 0.5, 0.2)  # the line
    browser.wait_for("document.querySelector('.fields input[name=name]')?.value === 'gate'")
    browser.write("document.querySelector('.fields input[name=labels]')", "person, car")
    press(browser, "Turn round")
    tap(browser, 0.62, 0.5)  # the area's edge
    browser.wait_for("document.querySelector('.fields input[name=name]')?.value === 'area 2'")
    press(browser, "Delete")
    tap(browser, 0.2, 0.15)
    browser.wait_for("document.querySelector('.fields input[name=name]')?.value === 'hall'")
    press(browser, "Delete")
    press(browser, "Undo")
    press(browser, "Save")
    browser.wait_for(button("Edit areas and lines"))
    written = camera.zones()
    assert [area["name"] for area in written["areas"]] == ["hall"] and written["areas"][0] == ZONES["areas"][0], written
    assert written["ground"]["rectangle"] == [6.5, 18] and near(written["ground"]["points"][1], 0.8, 0.92), written
    line = written["lines"][0]
    assert line["labels"] == ["person", "car"] and near(line["points"][0], 0.5, 0.03), line


def use_telephone(browser, camera):
    log_in(browser)
    small = browser.evaluate("[...document.querySelectorAll('button, input')].filter((one) => one.offsetParent).map((one) =>"
                             " [one.outerHTML, one.getBoundingClientRect()]).filter(([, box]) => box.height < 44 || box.width < 44)")
    assert not small, small
    press(browser, "Edit areas and lines")
    browser.wait_for("document.querySelector('.view.editing')")
    tap(browser, 0.2, 0.15, touch=True)  # within the hall
    browser.wait_for("document.querySelector('.fields input[name=name]')?.value === 'hall'")
    # A finger meets the point although it is some pixels away.
    tap(browser, 0.31, 0.24, (0.4, 0.3), (0.45, 0.6), touch=True)
    save(browser, "telephone-edit")
    # The session ends meanwhile: what was drawn waits until one has logged in again.
    camera.set_password(PASSWORD)
    press(browser, "Save")
    browser.wait_for(FORM + " && document.querySelector('.fault.at').textContent === 'Log in first.'")
    browser.write(FORM, PASSWORD)
    press(browser, "Log in")
    browser.complaints = [one for one in browser.complaints if "401" not in str(one.get("text"))]
    press(browser, "Save")
    browser.wait_for(button("Edit areas and lines"))
    hall = camera.zones()["areas"][0]
    assert near(hall["points"][2], 0.45, 0.6) and hall["points"][:2] == ZONES["areas"][0]["points"][:2], hall
    assert (hall["dwell"], hall["crowd"]) == (5000, 3), hall
    browser.check_width(360)
    browser.evaluate("scrollTo(0, 0)")
    save(browser, "telephone")
    press(browser, "Log out")
    browser.wait_for(FORM)


def check_that_a_new_user_draws_a_line_on_the_page_and_sees_count_and_clip(folder):
    camera = Camera(folder)
    try:
        reader = Reader(camera)
        with chromium.opened(camera.url, FORM, (1200, 900)) as browser:
            browser.write(FORM, "wrong horse")
            press(browser, "Log in")
            browser.wait_for("document.querySelector('form .fault').textContent.startsWith('The password is wrong')")
            log_in(browser)
            draw_line(browser, camera)
            see_walkers(browser, reader)
            save(browser, "desktop")
            draw_wrong_area(browser, camera)
            play_clip(browser, camera)
            set_threshold(browser, camera)
            measure_ground(browser, camera)
            assert not own_complaints(browser), browser.complaints
        with chromium.opened(camera.url, FORM, (360, 640), mobile=True) as browser:
            use_telephone(browser, camera)
    finally:
        camera.close()


def edit_anything(browser, camera, chance):
    """A zones' file that somebody else has written meanwhile, of which the page can show some."""
    zones = {"areas": [dict(ZONES["areas"][0], unit="fractions"), {"name": "b", "points": [[0.5, 0.5], [0.9, 0.5], [0.9, 0.9]], "labels": ["x"]}],
             "lines": [{"name": "l", "points": [[300, 20], [320, 200]], "unit": "pixels"}], "masks": [{"name": "m", "points": [[0, 0], [1, 0]]}],
             "ground": chance.choice((ZONES["ground"], {"height": 3}, {"points": [[0, 1]] * 5, "metres": [[0, 1]] * 5}))}
    with open(camera.file, "w", encoding="utf-8") as file:
        json.dump(mutated(chance, zones), file)
    press(browser, "Edit areas and lines")
    browser.wait_for("document.querySelector('.view.editing')")
    if chance.random() < 0.5 and not browser.evaluate(button("+ Line") + ".disabled"):
        press(browser, chance.choice(("+ Area", "+ Line", "+ Mask", "+ Ground")))
        for _ in range(4):
            tap(browser, chance.random(), chance.random())
        browser.evaluate("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))")
    for _ in range(4):
        tap(browser, chance.random(), chance.random())
        browser.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    browser.evaluate("[...document.querySelectorAll('.fields input')].forEach((one) => one.dispatchEvent(new Event('change')))")
    press(browser, "Cancel")


def check_page_that_survives_any_document_in_a_clip_and_any_zones(folder):
    chance = random.Random(SEED)
    camera, lines = Camera(folder), []
    frame = {"type": "frame", "frame": {"width": WIDTH, "height": HEIGHT},
             "objects": [{"track_id": 1, "box": [100, 90, 300, 270], "label": "person", "confidence": 0.9}]}
    event = {"type": "event", "time": {"utc": "2026-11-28T13:57:37.123456Z"}, "event": {"kind": "cross", "line": "<b>gate", "label": "x"}}
    for _ in range(200):
        line = json.dumps(mutated(chance, mutated(chance, chance.choice((frame, event)))), ensure_ascii=chance.random() < 0.5).encode()
        lines.append(chance.choice((line, line, line, line[:-1] or b" ", b" ", b"[" * 3000, b"&lt;b>", b"NaN")))
    write_clip(os.path.join(camera.clips, "door-20991128T135737.123Z.mkv"), lines + [json.dumps(frame).encode()] * 25)
    try:
        with chromium.opened(camera.url, "document.querySelector('.clips li button')") as browser:
            browser.click("document.querySelector('.clips li button')")
            browser.wait_for("document.querySelector('.player video').readyState >= 2 && document.querySelector('.player .events button')")
            browser.evaluate("(() => { const v = document.querySelector('.player video'); v.pause(); v.currentTime = %f; })()" % (212 / 25))
            browser.wait_for("(() => { const c = document.querySelector('.player canvas'), at = (x, y) => c.getContext('2d').getImageData("
                             "x * c.width / %d, y * c.height / %d, 1, 1).data[3]; return at(100, 180) > 128 && at(200, 180) === 0; })()"
                             % (WIDTH, HEIGHT))
            assert not browser.evaluate("document.querySelectorAll('.player b').length")
            assert 0 < browser.evaluate("document.querySelectorAll('.player .events button').length") <= 200
            press(browser, "Close")
            log_in(browser)
            for _ in range(ROUNDS):
                edit_anything(browser, camera, chance)
    finally:
        camera.close()


def check_page_that_changes_nothing_without_a_password(folder):
    camera = Camera(folder, password=None)
    try:
        with chromium.opened(camera.url, "document.querySelector('.bar > .note')") as browser:
            assert "no password is set" in browser.evaluate("document.querySelector('.bar > .note').textContent")
            browser.wait_for("document.querySelector('.settings fieldset')")
            assert browser.evaluate("document.querySelector('.settings fieldset').disabled && !document.querySelector('form')")
    finally:
        camera.close()


if __name__ == "__main__":
    print("seed %d" % SEED)
    run_checks(globals(), lambda claim: None if chromium.find() else "Chromium")
