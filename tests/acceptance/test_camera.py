#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pipelines/camera survives cameras that go away, come back and fall silent.

    test_camera.py DVCAMERA CLIP

Exits with 77 if Python's bindings of GStreamer are not installed. The RTSP server is
gst-rtsp-server, by gir1.2-gst-rtsp-server-1.0; without it a TCP server replaces it.
"""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

from checks import run_checks

try:
    import gi
    gi.require_version("Gst", "1.0")
    from gi.repository import GLib, Gst
except (ImportError, AttributeError, ValueError) as missing:
    print("skipped: %s" % missing)
    sys.exit(77)

LONG = 40  # seconds, for events that come at once on an idle machine
PICTURES = ("videotestsrc is-live=true ! video/x-raw,format=I420,width=320,height=240,framerate=25/1"
            " ! jpegenc")


def serve_rtsp(port):
    """A camera: prints a line when it is reachable, and serves until it is killed."""
    gi.require_version("GstRtspServer", "1.0")
    from gi.repository import GstRtspServer
    Gst.init(None)
    server = GstRtspServer.RTSPServer()
    server.set_service(port)
    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_launch("( %s ! rtpjpegpay name=pay0 )" % PICTURES)
    server.get_mount_points().add_factory("/stream", factory)
    assert server.attach(None)
    print("ready", flush=True)
    GLib.MainLoop().run()


class OwnPort:
    """A port that is nobody else's while this lives, for a server that allows its address to be used again, as all do.
    tests/publish/server_process.h says why."""

    def __init__(self):
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        # Not before it is bound: two that allow it could have the same one.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.number = str(self.socket.getsockname()[1])


class Server:
    """A camera in a process, which can be killed and restarted at the same port."""

    def __init__(self):
        self.own_port = OwnPort()
        self.port = self.own_port.number
        self.process = None
        probe = subprocess.run([sys.executable, "-c", "import gi; gi.require_version('GstRtspServer', '1.0')\n"
                                "from gi.repository import GstRtspServer"], stderr=subprocess.DEVNULL)
        self.rtsp = probe.returncode == 0
        if not self.rtsp:
            print("gir1.2-gst-rtsp-server-1.0 is not installed: the camera is a TCP server")

    def config(self):
        if self.rtsp:
            return {"source": "rtsp://127.0.0.1:%s/stream" % self.port}
        return {"source-line": "tcpclientsrc host=127.0.0.1 port=%s ! multipartdemux ! jpegdec ! videoconvert"
                               % self.port}

    def start(self):
        if self.rtsp:
            self.process = subprocess.Popen([sys.executable, __file__, "--serve", self.port],
                                            stdout=subprocess.PIPE, text=True)
            assert self.process.stdout.readline() == "ready\n"
            return
        line = "%s ! multipartmux boundary=x ! tcpserversink host=127.0.0.1 port=%s" % (PICTURES, self.port)
        self.process = subprocess.Popen(["gst-launch-1.0", "-q"] + line.split())

    def kill(self):
        if not self.process:
            return
        self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()


class Service:
    """dvcamera, as systemd runs it, and its messages to systemd."""

    def __init__(self, folder, config, watchdog=0.4, full=False):
        """`full`: nothing can be told to systemd any more."""
        self.folder = folder
        path = os.path.join(folder, "camera.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        address = os.path.join(folder, "notify-%d" % id(self))
        self.socket.bind(address)
        self.told = []
        if full:
            self.fill(address)
        self.log = open(os.path.join(folder, "log"), "w+", encoding="utf-8")
        environment = dict(os.environ, NOTIFY_SOCKET=address, WATCHDOG_USEC=str(int(watchdog * 1e6)))
        self.process = subprocess.Popen([DVCAMERA, path], env=environment, stdout=self.log, stderr=self.log)

    @staticmethod
    def fill(address):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
            to.setblocking(False)
            while True:
                try:
                    to.sendto(b"FULL=1", address)
                except BlockingIOError:
                    return

    def read(self, seconds):
        """Returns the next message, or None."""
        self.socket.settimeout(max(0.001, seconds))
        try:
            text = self.socket.recv(4096).decode()
        except socket.timeout:
            return None
        fields = dict(line.split("=", 1) for line in text.split("\n"))
        self.told.append(fields)
        return fields

    def wait_for(self, name, pattern, seconds=LONG):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            fields = self.read(end - time.monotonic())
            if fields and re.search(pattern, fields.get(name, "")):
                return fields
        raise AssertionError("no %s like '%s': %s\n%s" % (name, pattern, self.told[-8:], self.text()))

    def wait_for_line(self, pattern, count=1, seconds=LONG):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(0.02)
            if len(re.findall(pattern, self.text())) >= count:
                return
        raise AssertionError("no line like '%s': %s" % (pattern, self.text()))

    def wait_for_signs_of_life(self, count):
        for _ in range(count):
            self.wait_for("WATCHDOG", "1")

    def signs_of_life(self, seconds):
        end = time.monotonic() + seconds
        count = 0
        while time.monotonic() < end:
            fields = self.read(end - time.monotonic())
            count += bool(fields) and fields.get("WATCHDOG") == "1"
        return count

    def text(self):
        with open(self.log.name, encoding="utf-8") as file:
            return file.read()

    def end(self, sign=signal.SIGTERM):
        """Returns its exit status."""
        if sign:
            self.process.send_signal(sign)
        try:
            return self.process.wait(LONG)
        finally:
            self.process.kill()
            self.socket.close()
            self.log.close()


LINE = ["videoconvert", "video/x-raw,format=RGB"]
FAST = {"retry": 200, "retry-most": 400, "elements": LINE}


def check_that_a_camera_that_goes_away_is_found_again(folder):
    server = Server()
    service = Service(folder, dict(FAST, silence=1500, **server.config()))
    try:
        # The service is ready before its camera is, and lives without it.
        service.wait_for("READY", "1")
        service.wait_for("STATUS", "no source")
        service.wait_for_signs_of_life(3)
        for times in (1, 2):
            server.start()
            service.wait_for_line("frames come", times)
            server.kill()
            service.wait_for("STATUS", "no source")
            service.wait_for_signs_of_life(2)
        server.start()
        service.wait_for_line("frames come", 3)
        assert service.end() == 0, service.text()
    finally:
        server.kill()
        service.process.kill()


def documents(path):
    """Returns the published documents; a line that is being written is left out."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def check_that_documents_go_on_where_they_were(folder):
    """Takes the camera away twice: the documents have one session, no gap in their numbers, and times by the clock."""
    server, path = Server(), os.path.join(folder, "documents")
    line = LINE + [{"element": "dvpublish", "location": path, "stream": "door"}]
    service = Service(folder, dict(FAST, silence=1500, elements=line, **server.config()))
    counts, away = [], 0.5  # seconds
    try:
        for times in (1, 2, 3):
            server.start()
            service.wait_for_line("frames come", times)
            end = time.monotonic() + LONG
            while len(documents(path)) < sum(counts[-1:]) + 25:
                assert time.monotonic() < end, "no documents: %d\n%s" % (len(documents(path)), service.text())
                service.read(0.05)
            server.kill()
            service.wait_for("STATUS", "no source")
            counts.append(len(documents(path)))
            time.sleep(away)
        assert service.end() == 0, service.text()
    finally:
        server.kill()
        service.process.kill()
    found = documents(path)
    assert {document["session"] for document in found} == {found[0]["session"]}
    assert [document["seq"] for document in found] == list(range(found[0]["seq"], found[0]["seq"] + len(found)))
    if not server.rtsp:
        return  # pictures over plain TCP bring no times
    pts = [document["time"]["pts"] for document in found]
    assert all(a < b for a, b in zip(pts, pts[1:])), "times go back"
    for last in counts[:2]:
        assert pts[last] - pts[last - 1] >= 1e9 * away, (pts[last - 1], pts[last])


def check_that_a_silent_camera_is_called_again(folder):
    server = Server()
    server.start()
    service = Service(folder, dict(FAST, silence=700, **server.config()))
    try:
        service.wait_for_line("frames come")
        server.process.send_signal(signal.SIGSTOP)
        service.wait_for("STATUS", "no frames for 0.7 s")
        server.process.send_signal(signal.SIGCONT)
        service.wait_for_line("frames come", 2)
        assert service.end() == 0
    finally:
        server.kill()
        service.process.kill()


def check_that_attempts_become_rarer(folder):
    nobodys = OwnPort()
    service = Service(folder, {"source": "rtsp://127.0.0.1:%s/none" % nobodys.number, "retry": 100,
                               "retry-most": 800, "elements": LINE})
    service.wait_for_line("next attempt is in 0.8 s", 2)
    waits = [float(text) for text in re.findall(r"next attempt is in ([\d.]+) s", service.text())]
    assert waits[:5] == [0.1, 0.2, 0.4, 0.8, 0.8], waits
    assert service.end() == 0


def check_that_elements_that_stop_give_no_sign_of_life(folder):
    service = Service(folder, {"source": "test", "hang": 600,
                               "elements": LINE + ["identity sleep-time=100000000"]})
    service.wait_for_line("frames come")
    service.wait_for("STATUS", "let none out")
    assert service.signs_of_life(1.5) == 0
    service.process.kill()  # as systemd does
    service.end(None)


def check_that_an_error_of_an_element_ends_it(folder):
    service = Service(folder, {"source": "test", "elements": LINE + ["identity error-after=5"]})
    assert service.end(None) == 1
    assert "error: identity" in service.text(), service.text()


def check_that_it_goes_on_where_systemd_does_not_listen(folder):
    service = Service(folder, {"source": CLIP, "elements": LINE + [{"element": "fakesink", "sync": False}]}, full=True)
    assert service.end(None) == 0
    assert "systemd cannot be told" in service.text() and "the file has ended" in service.text(), service.text()


def check_that_files_end_or_repeat(folder):
    service = Service(folder, {"source": CLIP, "elements": LINE + [{"element": "fakesink", "sync": False}]})
    assert service.end(None) == 0
    assert "the file has ended" in service.text()
    service = Service(folder, {"source": CLIP, "repeat": True,
                               "elements": LINE + [{"element": "fakesink", "sync": False}]})
    service.wait_for_line("frames come", 3)
    assert service.end() == 0
    # A file that cannot be played is tried again like a camera, and not all the time.
    service = Service(folder, {"source": os.path.join(folder, "none.webm"), "repeat": True, "retry": 100, "retry-most": 800,
                               "elements": LINE})
    service.wait_for_line("next attempt is in 0.8 s", 1)
    assert service.text().count("next attempt") < 6, service.text()
    assert service.end() == 0


def check_that_clips_are_recorded(folder):
    clips = os.path.join(folder, "clips")
    os.mkdir(clips)
    record = {"location": clips, "trigger": "track", "before-ms": 500, "after-ms": 500}
    # The file's own encoding, then one that is made of another source's frames.
    service = Service(folder, {"source": "file://" + CLIP, "elements": ["videoconvert", "dvconvert", "dvinfer", "dvdecode threshold=0.1", "dvtrack"],
                               "record": record})
    assert service.end(None) == 0
    service = Service(folder, {"source": "test", "elements": LINE, "print": ["dvnn-clip"],
                               "record": dict(record, encoder="jpegenc", recording=True)})
    service.wait_for_line("frames come")
    assert service.end() == 0
    names = sorted(os.listdir(clips))
    films = [name for name in names if name.endswith(".mkv")]
    assert len(films) == 2 and not any(".part." in name for name in names), names
    for name, codec in zip(films, (b"V_VP8", b"MJPG")):
        with open(os.path.join(clips, name), "rb") as file:
            head = file.read(4096)
        assert codec in head and b"S_TEXT/UTF8" in head, (name, head[:400])


def check_that_what_a_camera_says_is_shown_as_one_harmless_line(folder):
    words = "\x1b]0;pwned\x07\x1b[31m\r\u202e" + "x" * 60000
    server = socket.create_server(("127.0.0.1", 0))

    def answer():
        while True:
            try:
                caller, _ = server.accept()
            except OSError:  # it is over
                return
            with caller:
                caller.recv(65536)
                caller.sendall(b"HTTP/1.1 404 %s\r\nContent-Length: 0\r\n\r\n" % words.encode())

    thread = threading.Thread(target=answer)
    thread.start()
    service = Service(folder, {"source": "http://127.0.0.1:%d/" % server.getsockname()[1], "elements": LINE})
    try:
        service.wait_for_line("next attempt is in", 1)
        service.wait_for("STATUS", "no source")
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()
        assert service.end() == 0
    text = service.text()
    assert "404" in text or "Not Found" in text or "pwned" in text, text[:1000]
    assert not set(text) & set("\x1b\x07\r\u202e"), text[:1000]
    assert max(map(len, text.splitlines())) < 1000


CROSSED = [[0, 0], [1, 1], [1, 0], [0, 1]]
AGAIN = ["dvconvert", "dvinfer", "dvdecode", "dvtrack", "dvconvert regions=objects", "dvinfer", "dvdecode"]


def check_that_fields_make_elements(folder):
    """What motion, match and agree stand for; what an entry says itself counts."""
    path = os.path.join(folder, "fields.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"source": "test", "motion": {"verify-ms": 700}, "match": {"agree": 4, "labels": ["marker"]},
                   "agree": {"looks": 3, "pattern": {"plate": "[A-Z]+"}, "only-agreed": True},
                   "elements": ["identity ! dvconvert", *AGAIN[1:6], "dvdecode agree=5", "dvoverlay"]}, file)
    asked = subprocess.run([sys.executable, "-c", """
import sys
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/.."]
import camera_config
from gi.repository import Gst
Gst.init(None)
for part in camera_config.Config(sys.argv[2]).make_line():
    print(part.factory, *(part.element.get_property(name) for name in ("verify-ms", "agree", "pattern", "only-agreed")
                          if part.element.find_property(name)))
""", os.path.dirname(DVCAMERA), path], stdout=subprocess.PIPE, text=True)
    assert asked.stdout.splitlines() == [
        "identity", "dvmotion 700", "dvconvert", "dvinfer", "dvdecode 0 ", "dvtrack", "dvconvert", "dvinfer",
        'dvdecode 5 {"plate": "[A-Z]+"}', "dvmatch 4", "dvoverlay True"], asked.stdout


def check_that_mistakes_are_named(folder):
    cases = [({}, "must have either 'source' or 'source-line'"),
             ({"source": "test", "sorce": 1}, "wrong.json', line 3, column 2: sorce: there is no such field"),
             ({"source": 3}, "line 2, column 2: source is 3, must be a text"),
             ({"source": ""}, "source is \"\", must be a text that is not empty"),
             ({"source": "\ud800"}, "line 2, column 2: a text has half of a pair of surrogates"),
             ({"source": "test", "elements": [{"element": "identity", "name": "a\0b"}]}, "line 6, column 4: a text has the character 0"),
             ({"source": "test", "silence": -1}, "silence is -1, must be a whole number of 0 to 86400000"),
             ({"source": "test", "retry": 10 ** 10}, "retry is 10000000000, must be a whole number of 10 to 86400000"),
             ({"source": "test", "retry": 0}, "line 3, column 2: retry is 0, must be a whole number of 10 to 86400000"),
             ({"source": "test", "retry": 500, "retry-most": 100}, "retry is 500, must be in 10..100"),
             ({"source": "test", "print": ["a", 5]}, "line 5, column 3: print[1] is 5, must be a text"),
             ({"source": "test", "elements": ["identity"] * 201}, "elements has 201 entries, at most 200"),
             ({"source": "test", "elements": ["video/x-raw,format=(string"]}, "'video/x-raw,format=(string' are no caps"),
             ({"source": "test", "elements": [{"element": "identity", "name": None}]}, "property 'name' has no value"),
             ({"source": "test", "elements": [{"element": "identity", "sleep-time": -1}]},
              "property 'sleep-time' cannot be '-1', it would become 4294967295"),
             ({"source": "test", "elements": [{"element": "identity", "drop-probability": 2}]},
              "property 'drop-probability' cannot be '2', it would become "),
             ({"source": "test", "elements": [{"element": "identity", "sleep-time": " "}]},
              "line 6, column 4: elements[0].sleep-time: identity: property 'sleep-time' cannot be empty"),
             ({"source-line": "videotestsrc name=dvcamera-source", "elements": [7]}, "line 4, column 3: elements[0] is 7, must be a text that is not empty or an object"),
             ({"source": "test", "transport": "pigeon"}, "line 3, column 2: transport is \"pigeon\", must be one of any, tcp, udp"),
             ({"source": "test", "record": {"location": "/tmp"}}, "line 3, column 2: record must have 'encoder'"),
             ({"source": "test", "record": {"encoder": "jpegenc"}}, "line 3, column 2: record has no 'location'"),
             ({"source": "test", "record": {"location": "/tmp", "encoder": "nothing"}}, "record.encoder: no element"),
             ({"source": "rtsp://192.0.2.7", "record": {"location": "/tmp", "trigger": "walk"}}, "record.trigger: dvrecord: property 'trigger' keeps its value"),
             ({"source": "test", "elements": ["nothing"]}, "line 4, column 4: elements[0]: there is no element 'nothing'"),
             ({"source": "test", "elements": ["identity ! nothing"]}, "line 4, column 15: elements[0]: there is no element 'nothing'"),
             ({"source": "test", "elements": []}, "line 3, column 2: elements is empty"),
             ({"source-line": "videotestsrc ! nothing", "silence": 0}, "line 2, column 2: source-line: no element"),
             ({"source": "test", "elements": ["identity", "identity sleep-time=-1"]},
              "line 5, column 13: elements[1]: identity: property 'sleep-time' cannot be '-1'"),
             ({"source": "test", "elements": ["dvdecode threshold=2"]},
              "line 4, column 13: elements[0]: dvdecode: property 'threshold' keeps its value: it must be in 0..1"),
             ({"source": "test", "elements": [{"element": "identity", "speed": 1}]},
              "identity has no property 'speed' that can be set"),
             ({"source": "test", "elements": [{"element": "dvinfer", "active-device": "soft"}]},
              "dvinfer has no property 'active-device' that can be set"),
             ({"source": "test", "elements": [{"element": "nothing"}]}, "there is no element 'nothing'"),
             ({"source": "test", "elements": [7]}, "elements[0] is 7"),
             ({"source": "test", "elements": ["identity", {"element": "dvdecode", "threshold": 2}]},
              "wrong.json', line 7, column 4: elements[1].threshold is 2, must be a number of 0 to 1"),
             ({"source": "test", "elements": [{"element": "dvzones", "zones": {"areas": 1}}]},
              "wrong.json', line 7, column 5: elements[0].zones.areas is 1, must be a list"),
             ({"source": "test", "elements": [{"element": "dvinfer", "when-busy": "sometimes"}]},
              "elements[0].when-busy is \"sometimes\", must be one of wait, pass"),
             # What no type says is told where it stands, too.
             ({"source": "test", "elements": [{"element": "dvzones", "zones": {"areas": [{"name": "a", "points": CROSSED}]}}]},
              "line 10, column 7: elements[0].zones.areas[0].points: dvzones: property 'zones' keeps its value: zones: areas[0]: its edges"),
             ({"source": "test", "elements": [{"element": "dvmotion", "zones": {"masks": [{"name": "a", "points": CROSSED}]}}]},
              "line 10, column 7: elements[0].zones.masks[0].points: dvmotion: "),
             ({"source": "test", "elements": ["queue max-size-buffers=-3 ! identity"]},
              "line 4, column 10: elements[0]: queue: property 'max-size-buffers' cannot be '-3', it would become"),
             ({"source": "test", "elements": ["tee name=t t. ! queue max-size-buffers=-3 ! fakesink t. ! identity"]},
              "line 4, column 26: elements[0]: property 'max-size-buffers' cannot be '-3', it would become"),
             ({"source": "test", "elements": ["identity ! dvdecode threshold=\"7\""]}, "line 4, column 24: elements[0]: dvdecode: "),
             ({"source": "test", "elements": ["dvconvert", "dvinfer", "dvdecode", {
                 "element": "dvzones", "zones": {"lines": [{"name": "a", "points": [[0, 0], [1, 1]], "labels": ["marker", "barcod"]}]}}]},
              "elements[3].zones.lines[0].labels[1]: dvzones: no network before it has the label 'barcod', but 'barcode'"),
             ({"source": "test", "elements": ["dvconvert ! dvinfer ! dvdecode thresholds=marker:0.5,QR:0.2"]},
              "line 4, column 57: elements[0]: dvdecode: no network before it has the label 'QR'"),
             ({"source": "test", "elements": ["dvconvert", "dvinfer", {"element": "dvdecode", "exclude": ["marker", "cat"]}]},
              "line 10, column 5: elements[2].exclude[1]: dvdecode: no network before it has the label 'cat'"),
             ({"source": "test", "motion": {"verify-ms": -1}}, "line 4, column 3: motion.verify-ms is -1, must be a whole number"),
             ({"source": "test", "motion": True, "elements": ["identity"]}, "line 3, column 2: motion: no entry of elements is a dvconvert"),
             ({"source": "test", "match": True, "elements": ["identity"]}, "line 3, column 2: match: no entry of elements is a dvdecode"),
             ({"source": "test", "match": {"agree": 0}}, "line 4, column 3: match.agree is 0, must be a whole number of 1 to 16"),
             ({"source": "test", "agree": 2}, "line 3, column 2: agree: no element looks at objects again"),
             ({"source": "test", "agree": 17}, "line 3, column 2: agree is 17, must be a whole number of 0 to 16"),
             ({"source": "test", "agree": {"looks": 2, "pattern": {"plate": "("}}, "elements": AGAIN},
              "line 5, column 3: agree.pattern: dvdecode: property 'pattern' keeps its value: the pattern of 'plate'"),
             ({"source": "test", "agree": {"looks": 2, "only-agreed": True}, "elements": AGAIN},
              "line 5, column 3: agree.only-agreed: there is neither dvpublish nor dvoverlay")]
    for config, message in cases:
        path = os.path.join(folder, "wrong.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file, indent=1)
        done = subprocess.run([DVCAMERA, path, "--check"], stderr=subprocess.PIPE, text=True)
        assert done.returncode == 2 and message in done.stderr, (config, done.stderr)
    pipe = os.path.join(folder, "pipe.json")
    os.mkfifo(pipe)
    for path, message in ((pipe, "is not a regular file"), (folder, "is not a regular file")):
        done = subprocess.run([DVCAMERA, path, "--check"], stderr=subprocess.PIPE, text=True, timeout=60)
        assert done.returncode == 2 and message in done.stderr, done.stderr
    for text, message in (('{"source":"test","\\u0065lements":[7]}', "elements[0] is 7"),
                          ('{"source":"test",\n"retry":50,\n"retry":60}', "line 3, column 1: 'retry' stands twice in one object"),
                          ('{"source":"test",\n"retry":50', "line 2, column 11: it is not JSON: "), ("[" * 200000, "nested too deeply"), ('{"latency":NaN}', "wrong.json', line 1, column 12: 'NaN' is no number of JSON"),
                          (" " * (2 << 20), "more than 1048576 bytes")):
        with open(os.path.join(folder, "wrong.json"), "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([DVCAMERA, file.name, "--check"], stderr=subprocess.PIPE, text=True)
        assert done.returncode == 2 and message in done.stderr, done.stderr
    later = os.path.join(folder, "later.json")
    with open(later, "w", encoding="utf-8") as file:
        json.dump({"source": "test", "elements": ["jpegenc ! decodebin ! videoconvert", "identity"]}, file)
    for good in (os.path.join(os.path.dirname(DVCAMERA), "camera.json"), later):
        done = subprocess.run([DVCAMERA, good, "--check"], stderr=subprocess.PIPE, text=True)
        assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve_rtsp(sys.argv[2])
    DVCAMERA, CLIP = sys.argv[1:]
    run_checks(globals())
