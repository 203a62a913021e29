#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The requests of a camera's page: who may change what, what dvzones refuses, and clips in parts.

    test_camera_requests.py DVCAMERA"""
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from checks import run_checks  # noqa: E402
from page_camera import DVCAMERA, PASSWORD, ZONES, Camera  # noqa: E402

GOOD = {"lines": [{"name": "gate", "points": [[0.5, 1], [0.5, 0]]}]}


def check_that_nothing_is_written_without_the_password(folder):
    camera = Camera(folder, password=None)
    try:
        version = camera.ask("/zones")[1]["version"]
        body = {"zones": GOOD, "version": version}
        assert camera.log_in()[0] == 403 and camera.open("/zones", body)[0] == 401
        camera.set_password(PASSWORD)  # which counts at once
        assert camera.open("/zones", body)[0] == 401
        assert camera.log_in("")[0] == camera.log_in("correct hors")[0] == 403
        assert camera.log_in()[0] == 200
        session = camera.headers["Set-Cookie"]
        assert "HttpOnly" in session and "SameSite=Strict" in session, session
        for headers, status in (({"Cookie": ""}, 401), ({"Cookie": camera.cookie + "x"}, 401), ({"Cookie": "a=b; \xff;;=" }, 401),
                                ({"X_Token": ""}, 403), ({"X_Token": camera.token[:-1] + "\xe9"}, 403), ({"Origin": None}, 403),
                                ({"Origin": "null"}, 403), ({"Origin": "http://evil.example"}, 403),
                                ({"Origin": camera.url + "0"}, 403), ({"Host": "evil.example", "Origin": "http://evil.example"}, 403),
                                ({"Content_Type": "text/plain"}, 415), ({"Content_Type": "application/x-www-form-urlencoded"}, 415)):
            assert camera.open("/zones", body, **headers)[0] == status, (headers, camera.open("/zones", body, **headers))
        for data, status in ((b"[" * 5000, 400), (b"[]", 400), (b"\xff", 400), (b'{"zones": NaN}', 400), (b'{"zones":1,"zones":2}', 400),
                             (b'{"zones":{"lines":[{"name":"a\\u0000"}]}}', 400),
                             (b" " * (2 << 20), 413)):
            try:
                assert camera.open("/zones", data)[0] == status, data[:50]
            except urllib.error.URLError as error:  # it closes before all is sent
                assert status == 413, error
        for path in ("/zone", "/zones/x", "/../zones", "/etc/passwd"):
            assert camera.open(path, body)[0] == 404, path
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
            assert camera.open("/zones", body, method=method)[0] == 501, method
        assert camera.zones() == ZONES
        assert camera.open("/zones", dict(body, version="0"))[0] == 409 and camera.zones() == ZONES
        status, told = camera.ask("/zones", body)
        assert status == 200 and camera.zones() == GOOD == told["zones"], told
        # A new password ends the session of the one before.
        camera.set_password("another horse")
        assert camera.open("/zones", dict(body, version=told["version"]))[0] == 401
        assert camera.log_in("another horse")[0] == 200 and camera.open("/logout", {})[0] == 200
        assert camera.open("/zones", dict(body, version=told["version"]))[0] == 401
        # Attempts become rare, also with the right one.
        answers = [camera.log_in("wrong %d" % i)[0] for i in range(8)]
        assert answers[:4] == [403] * 4 and answers[-1] == 429, answers
        assert camera.log_in("another horse")[0] == 429
    finally:
        camera.close()


def check_that_zones_are_refused_with_the_sentence_and_place_of_dvzones(folder):
    camera = Camera(folder)
    try:
        camera.log_in()
        version = camera.ask("/zones")[1]["version"]
        square = [[0, 0], [1, 0], [1, 1], [0, 1]]
        for zones, sentence, place in (
                ({"areas": [{"name": "a", "points": [[0, 0], [1, 1], [1, 0], [0, 1]]}]}, "areas[0]: its edges meet", ["areas", 0, "points"]),
                ({"areas": [{"name": "a", "points": square}, {"name": "a", "points": square}]}, "areas[1] is called 'a'", ["areas", 1, "name"]),
                ({"lines": [{"name": "l", "points": [[0, 0]]}]}, "must be an array of 2 to 256 pairs", ["lines", 0, "points"]),
                ({"areas": [{"name": "a", "points": square, "speed-limit": 5}]}, "areas[0] has a 'speed-limit', which needs a 'ground'",
                 ["areas", 0]),
                ({"nothing": 1}, "nothing", []), (5, "must be an object", []), (None, "must be an object", [])):
            status, told = camera.ask("/zones", {"zones": zones, "version": version})
            assert status == 422 and sentence in told["error"] and "keeps its value" not in told["error"], told
            assert told["place"][:len(place)] == place, told
            assert camera.ask("/check", {"zones": zones})[1]["error"] == told["error"]
        assert camera.zones() == ZONES and camera.ask("/check", {"zones": GOOD}) == (200, {})
        # A folder in which nothing can be written: told, and the file is whole.
        if os.geteuid():
            os.chmod(folder, 0o500)
            status, told = camera.ask("/zones", {"zones": GOOD, "version": version})
            os.chmod(folder, 0o700)
            assert status == 500 and "cannot be written" in told["error"], told
        assert camera.zones() == ZONES and not [name for name in os.listdir(folder) if name.endswith(".new")]
    finally:
        camera.close()


def check_that_what_stands_in_camera_json_is_changed_there(folder):
    camera = Camera(folder, inline=True)
    try:
        camera.log_in()
        before, told = camera.config_text(), camera.ask("/zones")[1]
        status, after = camera.ask("/zones", {"zones": GOOD, "version": told["version"]})
        assert status == 200 and after["zones"] == GOOD, after
        text = camera.config_text()
        head, tail = before.split(json.dumps(ZONES))
        assert text.startswith(head) and text.endswith(tail), text
        assert json.loads(text)["elements"][5] == {"element": "dvzones", "zones": GOOD}
        for name, value, wanted in (("exclude", 'a "b" \\, c', None), ("labels", "person", "labels=person"), ("min-size", 0.25, "min-size=0.25")):
            status, told = camera.ask("/setting", {"element": 3, "name": name, "value": value})
            assert status == 200, told
            assert not wanted or wanted in json.loads(camera.config_text())["elements"][3]
        for name, value in (("threshold", 2), ("threshold", "x"), ("threshold", True), ("threshold", [1]), ("name", "x"), ("labels", "x" * 9000),
                            ("thresholds", "person")):
            before = camera.config_text()
            status, told = camera.ask("/setting", {"element": 3, "name": name, "value": value})
            assert status == 422 and camera.config_text() == before, (name, value, told)
        for element in (-1, 2, 99, "3", None, 3.5):
            assert camera.ask("/setting", {"element": element, "name": "threshold", "value": 0.5})[0] == 422, element
        # Somebody edits the file by hand: what is there stays, and another line is not mixed with the one that runs.
        with open(camera.config, "w", encoding="utf-8") as file:
            file.write(before.replace('"dvtrack max-lost-ms=200",', ""))
        status, told = camera.ask("/setting", {"element": 3, "name": "threshold", "value": 0.5})
        assert status == 409 and "restart" in told["error"], told
    finally:
        camera.close()


def check_that_clips_are_given_in_parts_and_by_their_names_only(folder):
    camera = Camera(folder, zones=GOOD)
    try:
        with open(os.path.join(folder, "secret-20261128T135737.123Z.mkv"), "w", encoding="utf-8") as file:
            file.write("secret")
        os.symlink(file.name, os.path.join(camera.clips, "other-20261128T135737.123Z.mkv"))
        os.mkfifo(os.path.join(camera.clips, "door-20261128T135737.123Z.mkv"))
        end = time.monotonic() + 60
        while not [clip for clip in camera.ask("/clips")[1] if not clip["part"] and clip["bytes"] > 1000]:
            assert time.monotonic() < end, camera.text()
            time.sleep(0.2)
        clips = camera.ask("/clips")[1]
        names = [clip["name"] for clip in clips]
        assert names == sorted(names, reverse=True) and all(name.startswith("door-") for name in names), names
        name = next(clip["name"] for clip in clips if not clip["part"] and clip["bytes"] > 1000)
        assert name not in [clip["name"] for clip in camera.ask("/clips?before=" + name)[1]]
        with open(os.path.join(camera.clips, name), "rb") as file:
            data = file.read()
        assert camera.open("/clip/" + name) == (200, data) and camera.headers["Accept-Ranges"] == "bytes"
        size = len(data)
        for asked, status, part in (("bytes=0-", 206, data), ("bytes=10-19", 206, data[10:20]), ("bytes=-7", 206, data[-7:]),
                                    ("bytes=%d-" % (size - 1), 206, data[-1:]), ("bytes=5-%d" % (9 * size), 206, data[5:]),
                                    ("bytes=%d-" % size, 416, None), ("bytes=9-2", 200, data), ("bytes=-", 200, data),
                                    ("bytes=-0", 416, None), ("bytes=0-1,5-6", 200, data), ("lines=1-2", 200, data),
                                    ("bytes=" + "9" * 40 + "-", 200, data)):
            told = camera.open("/clip/" + name, Range=asked)
            assert told[0] == status and (part is None or told[1] == part), (asked, told[0], len(told[1]))
            if status == 206:
                assert re.fullmatch(r"bytes \d+-\d+/%d" % size, camera.headers["Content-Range"]), camera.headers["Content-Range"]
        lines = [json.loads(line) for line in camera.open("/clip-documents/" + name)[1].splitlines()]
        assert [line["at"] for line in lines] == sorted(line["at"] for line in lines)
        assert [line for line in lines if line["document"]["type"] == "event"] and len(lines) > 10, len(lines)
        assert camera.open("/clip-picture/" + name)[1].startswith(b"\xff\xd8\xff")
        # Documents of MP4 are beside it.
        stem = os.path.join(camera.clips, "door-20251128T135737.123Z.")
        for kind, text in (("mp4", "no film"), ("vtt", "WEBVTT\n\n01:00:02.500 --> 01:00:03.000\n{\"type\":\"frame\"}\n{bad\n\n")):
            with open(stem + kind, "w", encoding="utf-8") as file:
                file.write(text)
        told = camera.open("/clip-documents/door-20251128T135737.123Z.mp4")
        assert told[0] == 200 and json.loads(told[1]) == {"at": 3602500000000, "document": {"type": "frame"}}, told
        for wrong in ("../camera.json", "..%2fcamera.json", "%2e%2e/secret-20261128T135737.123Z.mkv", "other-20261128T135737.123Z.mkv",
                      "door-20261128T135737.123Z.mkv", "door-20261128T135737.124Z.mkv", name + "%00", name + "/", "", "/etc/passwd",
                      "door-x/../" + name):
            for kind in ("clip", "clip-picture", "clip-documents"):
                assert camera.open("/%s/%s" % (kind, wrong))[0] == 404, (kind, wrong)
    finally:
        camera.close()


def check_that_a_password_is_set_and_a_taken_port_told(folder):
    path = os.path.join(folder, "camera.json")
    text = '{\n  "source": "test",\n  "elements": ["identity"]\n}\n'

    def run(*words, given=None):
        done = subprocess.run([DVCAMERA, path, *words], input=given, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stderr

    for given, status in (("short\n", 2), ("", 2), ("x" * 300 + "\n", 2), ("correct horse\n", 0)):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        told = run("--set-password", given=given)
        assert told[0] == status, told
        with open(path, encoding="utf-8") as file:
            written = file.read()
        if status:
            assert written == text and "a password has 8 to 200 characters" in told[1], (written, told)
    kept = json.loads(written)["page"]["password"]
    assert "horse" not in kept and written == text.replace('"]\n', '"],\n  "page": {"password": "%s"}\n' % kept), written
    assert run("--check")[0] == 0
    with socket.create_server(("127.0.0.1", 0)) as other:
        with open(path, "w", encoding="utf-8") as file:
            file.write(written.replace('{"password"', '{"port": %d, "password"' % other.getsockname()[1]))
        status, told = run()
        assert status == 1 and "page: nobody can listen" in told, (status, told)


if __name__ == "__main__":
    run_checks(globals())
