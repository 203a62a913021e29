#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""dvcamera's `serve` gives the drawn picture by RTSP to several clients, by one encoder, and to nobody without the password.

    test_serve.py DVCAMERA

Exits with 77 without Python's bindings of GStreamer and of gst-rtsp-server. Clients are rtspsrc; what they see is held against
what the same elements draw without a server."""
import json
import os
import re
import socket
import subprocess
import sys
import time

from checks import run_checks
from test_camera import OwnPort

try:
    import gi
    gi.require_version("Gst", "1.0")
    gi.require_version("GstRtspServer", "1.0")
    gi.require_version("GstVideo", "1.0")
    from gi.repository import Gst, GstVideo
except (ImportError, AttributeError, ValueError) as missing:
    print("skipped: %s" % missing)
    sys.exit(77)

DVCAMERA = sys.argv[1]
WIDTH, HEIGHT = 320, 240
# Flat colours, so that what an encoder changes is small.
SOURCE = "videotestsrc is-live=true pattern=colors ! video/x-raw,format=I420,width=%d,height=%d,framerate=10/1" % (WIDTH, HEIGHT)
FLAT = SOURCE.replace("pattern=colors", "pattern=solid-color foreground-color=0xff206020")
ZONES = {"lines": [{"name": "gate", "points": [[0.5, 0.9], [0.5, 0.1]]}]}
DECODERS = {"H264": "rtph264depay ! avdec_h264", "JPEG": "rtpjpegdepay ! jpegdec"}


class Camera:
    def __init__(self, folder, elements=None, **fields):
        self.own_port = OwnPort()
        self.port = self.own_port.number
        path = os.path.join(folder, "camera.json")
        config = dict({"name": "door", "source-line": FLAT, "serve": ":%s/door" % self.port,
                       "elements": elements or [{"element": "dvzones", "zones": ZONES}]}, **fields)
        if isinstance(config["serve"], dict):
            config["serve"].setdefault("listen", ":%s/door" % self.port)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        self.path = os.path.join(folder, "log")
        with open(self.path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([DVCAMERA, path], stdout=log, stderr=log)

    def log(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def until(self, pattern):
        while not re.search(pattern, self.log()):
            assert self.process.poll() is None, self.log()
            time.sleep(0.05)
        return re.search(pattern, self.log())

    def url(self, who=""):
        self.until("rtsp://127.0.0.1:%s/door, by (.*)" % self.port)
        return "rtsp://%s127.0.0.1:%s/door" % (who, self.port)

    def codec(self):
        return "JPEG" if "by jpegenc" in self.log() else "H264"

    def end(self):
        self.process.terminate()
        self.process.wait()
        return self.log()


class Client:
    def __init__(self, url, codec, protocols="tcp"):
        self.line = Gst.parse_launch(
            "rtspsrc location=%s protocols=%s latency=0 ! %s ! videoconvert ! video/x-raw,format=RGB ! appsink name=a sync=false" % (
                url, protocols, DECODERS[codec]))
        self.sink = self.line.get_by_name("a")
        self.line.set_state(Gst.State.PLAYING)

    def frame(self):
        sample = self.sink.emit("try-pull-sample", 60 * Gst.SECOND)
        if not sample:
            message = self.line.get_bus().pop_filtered(Gst.MessageType.ERROR)
            raise AssertionError(message.parse_error() if message else "no frame")
        return pixels_of(sample)

    def error(self):
        message = self.line.get_bus().timed_pop_filtered(60 * Gst.SECOND, Gst.MessageType.ERROR)
        assert message, "no error"
        return message.parse_error()[0].message

    def end(self):
        self.line.set_state(Gst.State.NULL)


def pixels_of(sample):
    info = GstVideo.VideoInfo.new_from_caps(sample.get_caps())
    size = info.width, info.height
    assert size == (WIDTH, HEIGHT), size
    buffer = sample.get_buffer()
    return buffer.extract_dup(0, buffer.get_size())


def drawn(elements):
    """Returns what the elements make of a frame of the source, without a server."""
    line = Gst.parse_launch("%s ! %s videoconvert ! video/x-raw,format=RGB ! appsink name=a sync=false" % (
        FLAT.replace("is-live=true", "num-buffers=5"), elements))
    zones = line.get_by_name("z")
    if zones:
        zones.set_property("zones", json.dumps(ZONES))
    line.set_state(Gst.State.PLAYING)
    frame = pixels_of(line.get_by_name("a").emit("pull-sample"))
    line.set_state(Gst.State.NULL)
    return frame


def distance(one, other):
    """Returns the mean difference of two frames' bytes."""
    return sum(abs(a - b) for a, b in zip(one, other)) / len(one)


def check_that_several_clients_see_the_drawn_picture_by_one_encoder(folder):
    wanted = drawn("dvzones name=z ! videoconvert ! dvoverlay !")
    plain = drawn("")
    contrast = distance(wanted, plain)
    assert contrast > 0.5, contrast  # the line and its caption are there to be seen
    camera = Camera(folder)
    url = camera.url()
    clients = [Client(url, camera.codec()) for _ in range(3)]
    for client in clients:
        # Of H.264, pictures before the first key frame are wrong.
        for _ in range(100):
            seen = client.frame()
            near, far = distance(seen, wanted), distance(seen, plain)
            if near < 2 and near < 0.6 * far:
                break
        else:
            raise AssertionError((near, far, contrast))
    assert camera.log().count("the first client has come") == 1, camera.log()
    for client in clients:
        client.end()
    # And the next one begins anew.
    again = Client(url, camera.codec(), "udp")
    again.frame()
    again.end()
    camera.end()


def check_that_without_the_password_nobody_watches(folder):
    camera = Camera(folder, serve={"password": "s3cret", "user": "eve"})
    for who in ("", "eve:wrong@", "other:s3cret@"):
        client = Client(camera.url(who), camera.codec())
        message = client.error()
        assert re.search("[Uu]nauthorized|not authorized", message), message
        client.end()
    client = Client(camera.url("eve:s3cret@"), camera.codec())
    client.frame()
    client.end()
    assert "s3cret" not in camera.end()


def check_that_it_listens_where_it_is_told_and_says_who_may_watch(folder):
    camera = Camera(folder)
    camera.url()
    others = [one[4][0] for one in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET) if not one[4][0].startswith("127.")]
    for address in others:
        try:
            socket.create_connection((address, int(camera.port)), 5)
            raise AssertionError("it listens at %s" % address)
        except OSError:
            pass
    camera.end()
    camera = Camera(folder, serve="0.0.0.0:%s/door" % OwnPort().number)
    camera.until("whoever reaches 0.0.0.0 may watch: there is no password")
    camera.end()


def check_that_mistakes_are_told(folder):
    for serve, elements, words in (
            ("8554", None, "must be"), (":99999/door", None, "must be a text such as :8554/door"), (":8554", None, "must be"),
            ({"password": ""}, None, "serve.password"), (":8554/x", ["fakesink"], "lets no frames on"),
            (":8554/../x y", None, "must be")):
        camera = Camera(folder, elements, serve=serve)
        assert camera.process.wait() == 2, camera.log()
        assert re.search(r"line 1, column \d+: serve", camera.log()) and words in camera.log(), camera.log()
    other = socket.create_server(("127.0.0.1", 0))
    camera = Camera(folder, serve=":%d/door" % other.getsockname()[1])
    assert camera.process.wait() == 1, camera.log()
    assert "error: serve: :%d/door: " % other.getsockname()[1] in camera.log(), camera.log()
    other.close()


if __name__ == "__main__":
    Gst.init(None)
    run_checks(globals())
