# SPDX-License-Identifier: Apache-2.0
"""A camera with a page, for tests: dvcamera with the seeded objects of walking_camera.py, and what it says.

The importing test ends with 77 if Python's bindings of GStreamer, or GstDvnn's, are not installed."""
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

try:
    import walking_camera
except (ImportError, AttributeError, ValueError) as missing:
    print("skipped: %s" % missing)
    sys.exit(77)

DVCAMERA = sys.argv[1]
HERE = os.path.dirname(os.path.abspath(__file__))
PASSWORD = "correct horse"
SEED = int(os.environ.get("DVNN_TEST_SEED", random.randrange(1 << 30)))
WIDTH, HEIGHT = 640, 360
SOURCE = ("videotestsrc is-live=true pattern=solid-color foreground-color=0xff405060 ! "
          "video/x-raw,width=%d,height=%d,framerate=25/1" % (WIDTH, HEIGHT))
# Order and lines of people, which stay when the page writes.
CAMERA = """{
  "name": "door",
  "source-line": %s,

  "elements": ["videoconvert", "video/x-raw,format=RGB", "walkers",
    "dvdecode threshold=0.1 labels=\\"person,small car\\"",
    "dvtrack max-lost-ms=200",  {"element": "dvzones", %s}],
  "record": {"location": %s, "trigger": "cross", "before-ms": 600, "after-ms": 600,
             "encoder": "videoconvert ! vp8enc deadline=1 keyframe-max-dist=5"},
  "page": {"port": 0}
}
"""
ZONES = {"areas": [{"name": "hall", "points": [[0.1, 0.1], [0.3, 0.1], [0.3, 0.2], [0.1, 0.2]], "dwell": 5000, "crowd": 3}],
         "ground": {"points": [[0.1, 0.9], [0.9, 0.9], [0.7, 0.5], [0.3, 0.5]], "rectangle": [4, 8]}}


class Camera:
    """dvcamera with walkers and a page."""

    def __init__(self, folder, zones=ZONES, password=PASSWORD, inline=False):
        self.config, self.file, self.clips = (os.path.join(folder, name) for name in ("camera.json", "zones.json", "clips"))
        os.mkdir(self.clips)
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump(zones, file)
        member = '"zones": %s' % json.dumps(zones) if inline else '"zones-file": %s' % json.dumps(self.file)
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(CAMERA % (json.dumps(SOURCE), member, json.dumps(self.clips)))
        if password:
            self.set_password(password)
        self.log = open(os.path.join(folder, "log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, "walking_camera.py"), DVCAMERA, self.config, str(SEED)],
                                        stdout=self.log, stderr=self.log)
        end = time.monotonic() + 40
        while not re.search("the page is (.*)\n", self.text()):
            assert self.process.poll() is None and time.monotonic() < end, self.text()
            time.sleep(0.05)
        self.url = re.search("the page is (.*)/\n", self.text())[1]
        self.cookie = self.token = ""

    def set_password(self, password):
        subprocess.run([DVCAMERA, self.config, "--set-password"], input=password + "\n", text=True, check=True,
                       stderr=subprocess.DEVNULL)

    def text(self):
        with open(self.log.name, encoding="utf-8") as file:
            return file.read()

    def open(self, path, body=None, method=None, **headers):
        """Returns status and contents of an answer. `headers`: other than those of the page."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        own = {} if data is None else {"Content-Type": "application/json", "Origin": self.url, "X-Token": self.token}
        own["Cookie"] = self.cookie
        own.update({name.replace("_", "-"): value for name, value in headers.items()})
        request = urllib.request.Request(self.url + path, data, {name: value for name, value in own.items() if value is not None},
                                         method=method)
        try:
            with urllib.request.urlopen(request, timeout=40) as answer:
                self.headers = answer.headers
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            self.headers = error.headers
            return error.code, error.read()

    def ask(self, path, body=None, **headers):
        status, data = self.open(path, body, **headers)
        return status, json.loads(data)

    def log_in(self, password=PASSWORD):
        status, told = self.ask("/login", {"password": password})
        if status == 200:
            self.cookie, self.token = self.headers["Set-Cookie"].partition(";")[0], told["token"]
        return status, told

    def zones(self):
        with open(self.file, encoding="utf-8") as file:
            return json.load(file)

    def config_text(self):
        with open(self.config, encoding="utf-8") as file:
            return file.read()

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            assert self.process.wait(40) == 0, self.text()
            assert "Traceback" not in self.text(), self.text()
        finally:
            self.process.kill()
            self.log.close()


def write_clip(path, lines):
    """Writes a film of a second whose text track has these lines, one in each frame."""
    Gst = walking_camera.Gst
    pipeline = Gst.parse_launch(
        "videotestsrc num-buffers=%d ! video/x-raw,width=%d,height=%d,framerate=25/1 ! vp8enc deadline=1 ! matroskamux name=film ! filesink"
        " name=file appsrc name=text format=time ! text/x-raw,format=utf8 ! film.subtitle_0" % (len(lines), WIDTH, HEIGHT))
    pipeline.get_by_name("text").set_property("caps", Gst.Caps.from_string("text/x-raw,format=utf8"))
    pipeline.get_by_name("file").set_property("location", path)
    pipeline.set_state(Gst.State.PLAYING)
    for number, line in enumerate(lines):
        buffer = Gst.Buffer.new_wrapped(line)
        buffer.pts, buffer.duration = number * Gst.SECOND // 25, Gst.SECOND // 25
        pipeline.get_by_name("text").emit("push-buffer", buffer)
    pipeline.get_by_name("text").emit("end-of-stream")
    told = pipeline.get_bus().timed_pop_filtered(60 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    assert told and told.type == Gst.MessageType.EOS, told and told.parse_error()


class Reader(threading.Thread):
    """Reads all documents, as the page does."""

    def __init__(self, camera):
        super().__init__(daemon=True)
        self.answer = urllib.request.urlopen(camera.url + "/documents", timeout=60)
        self.documents = []
        self.start()

    def run(self):
        try:
            for line in self.answer:
                if line.startswith(b"data: "):
                    self.documents.append(json.loads(line[6:]))
        except (OSError, ValueError, AttributeError):  # the camera has ended
            pass

    def walks(self):
        """Returns the walks that were seen from their first step to their last, with the crossings of each: its directions."""
        seen, crossings, walk = {}, {}, None
        for document in list(self.documents):
            if document["type"] == "frame" and document["objects"]:
                walk = document["objects"][0]["class_id"]
                seen.setdefault(walk, []).append(document["objects"][0]["box"])
            if document["type"] == "event" and document["event"]["kind"] == "cross":
                crossings.setdefault(walk, []).append(document["event"]["direction"])
        return {walk: crossings.get(walk, []) for walk, boxes in seen.items() if len(boxes) == walking_camera.STEPS}
