#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pipelines/live: its answers, and what the page shows in Chromium.

    test_live.py DVLIVE [SCREENSHOT.png]

The parts with pictures skip if gst-launch-1.0 or its jpegenc are absent, the parts with Chromium if that is absent;
exits with 77 if both are.
"""
import http.client
import importlib
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import chromium
import page_map
from checks import mutated, run_checks

WIDTH, HEIGHT = 320, 180
GREEN = 0xff208040


def jpegs(colour, count):
    """Returns pictures of one colour, one after the other."""
    line = ("videotestsrc num-buffers=%d pattern=solid-color foreground-color=%d ! video/x-raw,width=%d,height=%d"
            " ! jpegenc ! fdsink" % (count, colour, WIDTH, HEIGHT))
    return subprocess.run(["gst-launch-1.0", "-q"] + line.split(), stdout=subprocess.PIPE, check=True).stdout


def frame(number, objects, counts=None, **more):
    """Returns a document in dvpublish's form."""
    return dict({"version": 1, "type": "frame", "id": "0123456789abcdef-%d" % number, "session": "0123456789abcdef",
                 "seq": number, "stream": "any", "time": {"pts": number * 40000000, "utc_from": "clock",
                                                          "utc": "2026-11-23T21:50:13.123456Z"},
                 "frame": {"width": WIDTH, "height": HEIGHT}, "passes": [{"network": "n", "state": "inferred"}],
                 "objects": objects, "counts": counts or {"areas": [], "lines": []}}, **more)


def thing(track, x, y, label="person", **more):
    return dict({"id": track, "track_id": track, "kind": "detection", "class_id": 0, "label": label,
                 "confidence": 0.93, "network": "n", "box": [x, y, x + 40, y + 60]}, **more)


def heat(unit, cells, cell=20):
    return {"from": 0, "to": 60000000000, "unit": unit, "cell": cell, "labels": [{"name": "person", "seconds": 1, "cells": cells}],
            "left_out": 0}


class Live:
    """dvlive with two streams, and the files that feed it."""

    def __init__(self, folder, *streams):
        self.folder = folder
        self.process = subprocess.Popen([sys.executable, DVLIVE, "--folder", folder, "--port", "0", *streams],
                                        stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://127.0.0.1:"), self.url

    def write(self, name, data):
        if not isinstance(data, bytes):
            data = (json.dumps(data) + "\n").encode()
        with open(os.path.join(self.folder, name), "ab") as file:
            file.write(data)

    def open(self, path):
        return urllib.request.urlopen(self.url + path, timeout=40)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def next_document(answer):
    while True:
        line = answer.readline()
        assert line, "the server has hung up"
        if line.startswith(b"data: "):
            return json.loads(line[6:])


def check_that_documents_arrive_in_order_from_pipes_and_files(folder):
    rotated = os.path.join(folder, "yard.jsonl")
    with open(rotated, "w", encoding="utf-8") as file:
        file.write(json.dumps(frame(1000, [])) + "\n")  # written before the start, so not shown
    live = Live(folder, "door", "yard")
    try:
        answer = live.open("documents")
        time.sleep(0.3)
        for number in range(50):
            live.write("door.jsonl", frame(number, [thing(1, 10, 10)]))
        told = [next_document(answer) for _ in range(50)]
        assert [document["seq"] for document in told] == list(range(50))
        assert told[0]["stream"] == "door" and told[0]["objects"][0]["track_id"] == 1
        # A file that is followed, and continued in a new one; lines that are no documents are left
        # out.
        live.write("yard.jsonl", frame(1, []))
        assert next_document(answer)["seq"] == 1
        live.write("yard.jsonl", b"{no document\n[1]\n")
        os.rename(rotated, rotated + ".1")
        live.write("yard.jsonl", frame(2, []))
        document = next_document(answer)
        assert document["seq"] == 2 and document["stream"] == "yard"
    finally:
        live.close()


def check_that_a_client_that_reads_nothing_keeps_nobody_waiting(folder):
    live = Live(folder, "door")
    try:
        with socket.create_connection(("127.0.0.1", int(live.url.split(":")[2].strip("/")))) as slow:
            slow.sendall(b"GET /documents HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = live.open("documents")
            time.sleep(0.3)
            padding = "x" * 20000
            began = time.monotonic()
            for number in range(600):
                live.write("door.jsonl", frame(number, [], fields={"padding": padding}))
                assert next_document(answer)["seq"] == number
            assert time.monotonic() - began < 60
    finally:
        live.close()


def check_that_what_is_not_there_is_refused(folder):
    live = Live(folder, "door")
    try:
        for path in ("nothing", "live/nobody", "picture/door", "../dvlive", "live/..%2f..%2fetc%2fpasswd"):
            try:
                live.open(path)
                raise AssertionError(path)
            except urllib.error.HTTPError as error:
                assert error.code == 404, (path, error.code)
        policy = live.open("").headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy, policy
    finally:
        live.close()
    os.symlink("/nothing/there", os.path.join(folder, "link.jsonl"))
    for words, message in ((["../x"], "no name of a stream"), (["--port", "65536", "x"], "'65536' is no port: 0 to 65535"),
                           (["--folder", folder + "/none", "x"], "none/x.jsonl"), (["--folder", folder, "link"], "link.jsonl"),
                           (["--folder", folder, "--bind", "no address", "x"], "--bind no address --port 8080: ")):
        done = subprocess.run([sys.executable, DVLIVE, *words], stderr=subprocess.PIPE, text=True, timeout=60)
        assert done.returncode in (1, 2) and message in done.stderr and "Traceback" not in done.stderr, done.stderr


def check_pictures_that_arrive_whole(folder):
    live = Live(folder, "door")
    pictures = jpegs(GREEN, 3)
    try:
        answer = live.open("live/door")
        for begin in range(0, len(pictures), 1000):
            live.write("door.mjpeg", pictures[begin:begin + 1000])
        boundary = answer.headers.get_param("boundary")
        assert len(boundary) >= 32 and boundary != live.open("live/door").headers.get_param("boundary")
        assert answer.readline() == b"--%s\r\n" % boundary.encode() and answer.readline() == b"Content-Type: image/jpeg\r\n"
        size = int(answer.readline().split()[1])
        assert answer.readline() == b"\r\n"
        picture = answer.read(size)
        assert picture.startswith(b"\xff\xd8\xff") and picture.endswith(b"\xff\xd9") and picture in pictures
        assert live.open("picture/door").read() in pictures
    finally:
        live.close()


# Lines of a folder that anybody may write to: none of them may end anything.
HOSTILE = [b"", b"5", b"null", b"[" * 5000, b"{" * 5000, b'{"a":' * 3000 + b"1" + b"}" * 3000, b'{"objects":5}',
           b'{"objects":[null,5,[1],"x"]}', b'{"objects":{"a":1}}', b'{"a":NaN}', b'{"a":-Infinity}', b'{"a":1e999}',
           b'{"picture":5}', b'{"picture":{"of":"frame","base64":"\xc3\xa9"}}', b"\xff\xfe\x00", b'{"a":"\\ud800"}',
           b'{"a":' + b"9" * 6000 + b"}", b'{"stream":[1]}']


def check_that_no_line_ends_a_reader(folder):
    live = Live(folder, "door")
    try:
        answer = live.open("documents")
        time.sleep(0.3)
        for number, line in enumerate(HOSTILE):
            live.write("door.jsonl", line + b"\n")
            live.write("door.jsonl", frame(number, []))
            signs_of_life = 0
            while True:
                line = answer.readline()
                assert line, "the server has hung up"
                signs_of_life += line.startswith(b": alive")
                assert signs_of_life < 4, "the reader has ended"
                if not line.startswith(b"data: "):
                    continue
                # Only JSON as browsers know it arrives.
                document = json.loads(line[6:], parse_constant=lambda name: 1 / 0)
                assert document["stream"] == "door"
                if document.get("seq") == number:
                    break
        for zones in (b"[" * 5000, b'{"lines":NaN}', b"5", b"\xff", b" " * (2 << 20)):
            with open(os.path.join(folder, "door.zones"), "wb") as file:
                file.write(zones)
            assert json.load(live.open("streams")) == [{"name": "door", "zones": json.loads("5") if zones == b"5" else {}}]
        os.unlink(os.path.join(folder, "door.zones"))
        os.mkfifo(os.path.join(folder, "door.zones"))
        assert json.load(live.open("streams")) == [{"name": "door", "zones": {}}]
    finally:
        live.close()


def status_of(live, path, host):
    try:
        return urllib.request.urlopen(urllib.request.Request(live.url + path, headers={"Host": host}), timeout=40).status
    except urllib.error.HTTPError as error:
        return error.code


def check_that_only_those_who_mean_it_are_answered(folder):
    live = Live(folder, "door", "--host", "Cameras.example")
    try:
        for host in ("localhost", "localhost:1234", "127.0.0.1", "192.0.2.7:80", "[::1]:80", "cameras.example",
                     socket.gethostname()):
            assert status_of(live, "streams", host) == 200, host
        for host in ("evil.example", "evil.example:80", "localhost/evil", "evil@localhost", "localhost#evil", "[localhost]", "localhost.evil.example", "127.0.0.1.evil.example", "", "a b",
                     "[::1", "127.1"):
            for path in ("", "streams", "documents", "live/door", "picture/door"):
                assert status_of(live, path, host) == 421, (host, path)
    finally:
        live.close()


def check_that_no_request_is_left_without_an_answer(folder):
    live = Live(folder, "door")
    one = b"Host: localhost\r\n"
    try:
        for line, hosts, status in ((b"GET / HTTP/1.1", one, 200), (b"GET http://[ HTTP/1.1", one, 400), (b"GET / HTTP/1.1", b"", 421),
                                    (b"GET / HTTP/1.1", one + b"Host: evil\r\n", 421), (b"GET /\0 HTTP/1.1", one, 404),
                                    (b"POST / HTTP/1.1", one, 501), (b"GET /" + b"a" * 70000 + b" HTTP/1.1", one, 414),
                                    (b"GET / HTTP/1.1", one + b"X: a\r\n" * 2000, 431)):
            with socket.create_connection(("127.0.0.1", int(live.url.split(":")[2].strip("/"))), timeout=40) as connection:
                connection.sendall(line + b"\r\n" + hosts + b"\r\n")
                told = connection.recv(12)
                assert told == b"HTTP/1.1 %d" % status, (line[:40], hosts[:40], told)
    finally:
        live.close()


def check_that_what_waits_for_a_client_has_a_bound(_folder):
    waiting = live_module("live_streams").Waiting()
    for number in range(300):
        waiting.put(b"%d" % number)
    assert [waiting.get(0) for _ in range(201)] == [b"%d" % number for number in range(100, 300)] + [None]
    big = 3 << 20
    for number in range(9):
        waiting.put(bytes([number]) * big)
    assert [waiting.get(0)[0] for _ in range(5)] == [4, 5, 6, 7, 8]
    assert waiting.get(0) is None and waiting.bytes == 0


def check_that_every_answer_says_how_it_may_be_used(folder):
    live = Live(folder, "door")
    try:
        for path in ("", "icon.svg", "main.js", "live.css", "streams", "documents", "live/door", "picture/door", "nothing"):
            try:
                headers = live.open(path).headers
            except urllib.error.HTTPError as error:
                headers = error.headers
            assert headers["X-Content-Type-Options"] == "nosniff", path
            assert headers["Cross-Origin-Resource-Policy"] == "same-origin", path
            assert "default-src 'none'" in headers["Content-Security-Policy"], path
            assert len(headers.get_all("Content-Security-Policy")) == 1, path
    finally:
        live.close()


def check_that_connections_have_a_bound(folder):
    live = Live(folder, "door")
    address = ("127.0.0.1", int(live.url.split(":")[2].strip("/")))
    held = []
    try:
        for _ in range(300):
            held.append(socket.create_connection(address))
            try:
                held[-1].sendall(b"GET / HTTP/1.1\r\nHost: localh")
            except OSError:  # it was closed
                pass
        refused = 0
        for connection in held[::-1]:
            connection.settimeout(0 if refused else 40)
            try:
                refused += connection.recv(1) == b""
            except ConnectionError:
                refused += 1
            except BlockingIOError:
                break
        assert refused >= 100, refused
        assert len(os.listdir("/proc/%d/task" % live.process.pid)) < 160
        for connection in held:
            connection.close()
        # There is room again when the threads of closed connections have noticed.
        while True:
            try:
                assert live.open("streams").status == 200
                break
            except (ConnectionError, urllib.error.URLError, http.client.HTTPException):
                pass
    finally:
        for connection in held:
            connection.close()
        live.close()


def live_module(name):
    sys.path[:0] = [os.path.dirname(DVLIVE), os.path.dirname(os.path.dirname(DVLIVE))]
    try:
        return importlib.import_module(name)
    finally:
        del sys.path[:2]


def check_that_a_request_must_arrive_in_time(_folder):
    live_server = live_module("live_server")
    live_server.REQUEST_SECONDS = -1  # every request is late
    live_server.Handler.timeout = None
    server = live_server.Server(("127.0.0.1", 0), {}, live_module("live_streams").Documents(), [])
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with socket.create_connection(server.server_address, timeout=60) as slow:
            slow.sendall(b"GET / HTTP/1.1\r\n")
            assert slow.recv(1) == b""
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def check_page_that_survives_any_document(folder):
    chance = random.Random(41)
    counts = {"areas": [{"name": "hall", "inside": 1}], "lines": [{"name": "gate", "forward": 2, "backward": 1}]}
    with open(os.path.join(folder, "door.zones"), "w", encoding="utf-8") as file:
        json.dump({"areas": [None, 5, {"points": [None, [1], [0.1, "x"]]}, {"points": 7}], "lines": {"a": 1}}, file)
    live = Live(folder, "door", "yard")
    browser = chromium.Chromium(chromium.find())
    try:
        browser.call("Page.navigate", url=live.url)
        browser.wait_for("document.querySelectorAll('figure').length === 2")
        for number in range(1500):
            document = frame(number, [thing(1, 20, 60), thing(2, 250, 100, "car", predicted=True)], counts)
            kind = chance.choice(("frame", "frame", "frame", "event", "clip", "heat"))
            if kind == "heat":
                document["heat"] = heat(chance.choice(("pixels", "metres")), [[3, 2, 0.5], [-4, 1, 10.0]])
            if kind == "event":
                document["event"] = {"kind": "cross", "line": "gate", "track_id": 3, "label": "person", "direction": "forward"}
            document = mutated(chance, document)
            live.write("door.jsonl", dict(document, type=kind) if isinstance(document, dict) else document)
            if number % 300 == 0:  # it draws some of them
                browser.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        for name in ("door", "yard"):
            live.write(name + ".jsonl", frame(9, [thing(1, 20, 60)]))
            browser.wait_for("document.querySelector('[data-stream=%s] span').textContent.startsWith('1 objects')" % name)
            browser.wait_for("(%s)[3] > 128" % (PIXEL % (name, WIDTH, HEIGHT, 20, 90, "canvas")))
        assert browser.evaluate("document.querySelectorAll('figure b').length") == 2
        assert 0 < browser.evaluate("document.querySelectorAll('.events li').length") <= 20
        assert not browser.complaints, browser.complaints
    finally:
        browser.close()
        live.close()


# The colour of the page at a place of a stream's frame: of its canvas, or of its picture.
PIXEL = """(() => {
  const view = document.querySelector('[data-stream=%s] .view');
  const of = (element, w, h) => {
    const canvas = Object.assign(document.createElement('canvas'), {width: %d, height: %d});
    canvas.getContext('2d').drawImage(element, 0, 0, canvas.width, canvas.height);
    return [...canvas.getContext('2d').getImageData(%d, %d, 1, 1).data];
  };
  return of(view.querySelector('%s'));
})()"""


def pixel(browser, stream, element, x, y):
    return browser.evaluate(PIXEL % (stream, WIDTH, HEIGHT, x, y, element))


def check_page_that_shows_pictures_boxes_tracks_and_counts(folder):
    with open(os.path.join(folder, "door.zones"), "w", encoding="utf-8") as file:
        json.dump({"lines": [{"name": "gate", "points": [[0.75, 0.9], [0.75, 0.1]]}]}, file)
    live = Live(folder, "door", "yard")
    browser = chromium.Chromium(chromium.find())
    stop = threading.Event()

    def feed():
        pictures = {"door": jpegs(GREEN, 1), "yard": jpegs(0xff804020, 1)}
        for number in range(10000):
            if stop.wait(0.04):
                return
            x = min(20 + 2 * number, 200)
            counts = {"areas": [{"name": "hall", "inside": number // 20 % 4, "entered": 0, "left": 0}],
                      "lines": [{"name": "gate", "forward": number // 30, "backward": 1}]}
            live.write("door.jsonl", frame(number, [thing(1, x, 60), thing(2, 250, 100, "<b>car</b>")], counts))
            live.write("yard.jsonl", frame(number, [thing(3, 100, 80, predicted=True)]))
            for name, picture in pictures.items():
                live.write(name + ".mjpeg", picture)

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        browser.call("Page.navigate", url=live.url)
        browser.wait_for("document.querySelectorAll('figure').length === 2")
        browser.wait_for("/[1-9]\\d* objects, [1-9]/.test(document.querySelector('[data-stream=door] span').textContent)")
        browser.wait_for("[...document.querySelectorAll('img')].every((image) => image.naturalWidth === %d)" % WIDTH)
        browser.wait_for("document.querySelector('[data-stream=door] ul').textContent.includes('gate +: 3')")
        # The track's trail, which ends at the middle of the box's lower edge. It is drawn for three
        # seconds only.
        browser.wait_for("(%s)[3] > 128" % (PIXEL % ("door", WIDTH, HEIGHT, 190, 120, "canvas")))
        time.sleep(1)
        png = browser.picture()
        # Each stream shows its own picture.
        red, green, blue, _ = pixel(browser, "door", "img", 160, 20)
        assert abs(red - 0x20) < 12 and abs(green - 0x80) < 12 and abs(blue - 0x40) < 12, (red, green, blue)
        # Boxes are drawn at their places, and nothing elsewhere.
        assert pixel(browser, "door", "canvas", 200, 90)[3] > 128
        assert pixel(browser, "door", "canvas", 239, 90)[3] > 128
        assert pixel(browser, "door", "canvas", 220, 90)[3] == 0
        assert pixel(browser, "door", "canvas", 100, 30)[3] == 0
        line = pixel(browser, "door", "canvas", 240, 30)
        assert min(line) > 100, line
        # A cell of heat is drawn where it is.
        assert pixel(browser, "door", "canvas", 50, 150)[3] == 0
        live.write("door.jsonl", frame(0, [], type="heat", heat=heat("pixels", [[2, 7, 1.5]])))
        browser.wait_for("(%s)[3] > 50" % (PIXEL % ("door", WIDTH, HEIGHT, 50, 150, "canvas")))
        assert pixel(browser, "door", "canvas", 30, 150)[3] == 0
        page_map.see_map(browser, lambda cells: live.write("yard.jsonl", frame(0, [], type="heat", heat=heat("metres", cells, 0.5))))
        # The streams are side by side, and no text has become part of the page.
        assert browser.evaluate("(([a, b]) => a.top === b.top && a.right <= b.left)"
                                "([...document.querySelectorAll('figure')].map((f) => f.getBoundingClientRect()))")
        assert browser.evaluate("document.querySelectorAll('figure b').length") == 2
        words = browser.evaluate("document.querySelector('[data-stream=door] ul').textContent")
        assert "<b>car</b>: 1" in words and "person: 1" in words and "in hall: " in words, words
        drawn = browser.evaluate("(() => { const chart = document.querySelector('[data-stream=door] .chart');"
                                 "const data = chart.getContext('2d').getImageData(0, 0, chart.width, chart.height).data;"
                                 "let n = 0; for (let i = 3; i < data.length; i += 4) n += data[i] > 128; return n })()")
        assert drawn > 500, drawn
        assert not browser.complaints, browser.complaints
        # The page says when nothing comes any more.
        stop.set()
        feeder.join()
        # A new session numbers tracks again, so no trail leads from the old one's to the new one's.
        live.write("door.jsonl", frame(0, [thing(1, 20, 0)], session="f" * 16))
        live.write("door.jsonl", frame(1, [thing(1, 22, 0)], session="f" * 16))
        browser.wait_for("(%s)[3] > 128" % (PIXEL % ("door", WIDTH, HEIGHT, 40, 60, "canvas")))
        assert pixel(browser, "door", "canvas", 125, 90)[3] == 0
        assert pixel(browser, "door", "canvas", 190, 120)[3] == 0
        browser.wait_for("document.querySelector('[data-stream=door] span').textContent === 'no documents'")
        if len(sys.argv) > 2:
            with open(sys.argv[2], "wb") as file:
                file.write(png)
    finally:
        stop.set()
        feeder.join()
        browser.close()
        live.close()


def check_page_of_many_streams_that_shows_all_pictures(folder):
    names = ["stream%d" % i for i in range(9)]
    live = Live(folder, *names)
    browser = chromium.Chromium(chromium.find())
    try:
        browser.call("Page.navigate", url=live.url)
        for i, name in enumerate(names):
            live.write(name + ".mjpeg", jpegs(0xff000000 + 20 * i, 1))
            live.write(name + ".jsonl", frame(i, [thing(i + 1, 10, 10)]))
        browser.wait_for("document.images.length === 9"
                         " && [...document.images].every((image) => image.naturalWidth === %d)" % WIDTH)
        live.write("stream8.mjpeg", jpegs(0xffff0000, 1))
        browser.wait_for("(%s)[0] > 200" % (PIXEL % ("stream8", WIDTH, HEIGHT, 160, 90, "img")))
    finally:
        browser.close()
        live.close()


def main():
    gstreamer = subprocess.run(["gst-inspect-1.0", "--exists", "jpegenc"], check=False).returncode == 0

    def missing(claim):
        if "picture" in claim and not gstreamer:
            return "jpegenc"
        return "Chromium" if "page" in claim and not chromium.find() else None

    run_checks(globals(), missing)


if __name__ == "__main__":
    DVLIVE = sys.argv[1]
    main()
