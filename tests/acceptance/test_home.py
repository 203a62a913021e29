#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Home Assistant finds a stream's counts, presence and best view at a broker, and nothing of it after it was removed.

    test_home.py DVCAMERA

Exits with 77 without mosquitto or Python's bindings. The broker is mosquitto, what it retains is read by a client of our
own, and fields are held against those that Home Assistant documents."""
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time

from checks import run_checks
from test_camera import OwnPort

MOSQUITTO = "/usr/sbin/mosquitto"
try:
    import gi
    gi.require_version("Gst", "1.0")
    from gi.repository import Gst
    gi.require_version("GstDvnn", "1.0")
    from gi.repository import GstDvnn
except (ImportError, AttributeError, ValueError) as missing:
    print("skipped: %s" % missing)
    sys.exit(77)

STREAM = 'Tür "1" {{ x }}/#+'
TOPIC = "haus/tür"
CONFIG = "homeassistant/device/dvnn__T_c3_bcr_20_221_22_20_7b_7b_20x_20_7d_7d_2f_23_2b/config"
ZONES = {"lines": [{"name": "door", "points": [[0.5, 0.9], [0.5, 0.1]]}],
         "areas": [{"name": 'yard\'s "end"', "points": [[0.5, 0], [1, 0], [1, 1], [0.5, 1]]}]}

# https://www.home-assistant.io/integrations/mqtt/#device-discovery-payload and the pages of the components, read November
# 2026: what the payload must have, and may. Home Assistant refuses a component with a value outside.
ROOT = {"device", "origin", "availability", "components"}
DEVICE = {"identifiers", "name", "manufacturer", "model", "sw_version"}
ORIGIN = {"name", "sw_version"}
MUST = {"sensor": {"unique_id", "state_topic"}, "binary_sensor": {"unique_id", "state_topic"}, "image": {"unique_id",
                                                                                                      "image_topic"}}
MAY = {"sensor": {"name", "value_template", "state_class"}, "binary_sensor": {"name", "value_template", "device_class"},
       "image": {"name", "content_type"}}
VALUES = {"state_class": {"measurement", "total", "total_increasing"}, "device_class": {"occupancy", "presence"},
          "content_type": {"image/jpeg"}}


def _text(text):
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack(">H", len(raw)) + raw


class Reader:
    """A client of MQTT 3.1.1 that only reads, written from the standard (OASIS, 2014): what a broker retains, told by another
    program than libmosquitto. Subscribes to topics and reads messages, until it is closed."""

    def __init__(self, port, *topics, seconds=40):
        self.socket = socket.create_connection(("127.0.0.1", port), seconds)
        self._send(0x10, _text("MQTT") + b"\x04\x02" + struct.pack(">H", 60) + _text("reader%d" % id(self)))
        kind, body = self._packet()
        assert kind >> 4 == 2 and body[1] == 0, "no connection: %r" % body
        self._send(0x82, b"\x00\x01" + b"".join(_text(topic) + b"\x00" for topic in topics))
        self.waiting = []
        while True:  # retained messages may come first
            kind, body = self._packet()
            if kind >> 4 == 9:
                break
            self.waiting.append((kind, body))

    def _send(self, kind, body):
        size, length = len(body), b""
        while True:
            size, digit = divmod(size, 128)
            length += bytes([digit | (0x80 if size else 0)])
            if not size:
                break
        self.socket.sendall(bytes([kind]) + length + body)

    def _bytes(self, count):
        got = b""
        while len(got) < count:
            more = self.socket.recv(count - len(got))
            assert more, "the broker has ended the connection"
            got += more
        return got

    def _packet(self):
        kind = self._bytes(1)[0]
        size = shift = 0
        while True:
            digit = self._bytes(1)[0]
            size |= (digit & 0x7F) << shift
            shift += 7
            if digit < 0x80:
                return kind, self._bytes(size)

    def next(self):
        """Returns topic, body and whether the message was retained; waits for it."""
        while True:
            kind, body = self.waiting.pop(0) if self.waiting else self._packet()
            if kind >> 4 != 3:
                continue
            size = struct.unpack(">H", body[:2])[0]
            assert not kind & 6, "QoS 0 was asked for"
            return body[2:2 + size].decode(), body[2 + size:], bool(kind & 1)

    def until(self, is_wanted):
        """Reads on until is_wanted(newest), of the newest body of each topic, is true; returns these."""
        newest = {}
        while not is_wanted(newest):
            topic, body, _ = self.next()
            newest[topic] = body
            if not body:
                del newest[topic]
        return newest

    def close(self):
        self.socket.close()


def retained(port, marker="dvnn-marker"):
    """Returns all that the broker retains, by topic."""
    # What is retained has come once a message that is sent afterwards has.
    reader = Reader(port, "#")
    reader._send(0x30, _text(marker) + b"x")
    found = {}
    while True:
        topic, body, was_retained = reader.next()
        if topic == marker and not was_retained:
            reader.close()
            return found
        found[topic] = body


class Broker:
    def __init__(self, folder):
        self.own_port = OwnPort()
        self.port = int(self.own_port.number)
        path = os.path.join(folder, "mosquitto.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write("listener %d 127.0.0.1\nallow_anonymous true\nlog_dest none\n" % self.port)
        self.process = subprocess.Popen([MOSQUITTO, "-c", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                retained(self.port)
                return
            except OSError:
                assert self.process.poll() is None, "mosquitto has ended"
                time.sleep(0.05)

    def end(self):
        self.process.kill()
        self.process.wait()


class Stream:
    """People who walk through the picture of a dvpublish."""

    def __init__(self, port, zones=None, more="discovery=home-assistant snapshot=object mode=tracks"):
        self.line = Gst.parse_launch(
            "appsrc name=in format=time caps=video/x-raw,format=GRAY8,width=200,height=100,framerate=10/1 ! dvtrack ! "
            "dvzones name=z ! dvpublish name=p url=mqtt://127.0.0.1:%d topic=%s %s ! fakesink name=out sync=false" % (
                port, TOPIC, more))
        self.port = port
        self.publisher = self.line.get_by_name("p")
        self.publisher.set_property("stream", STREAM)
        self.set_zones(zones or ZONES)
        self.source = self.line.get_by_name("in")
        self.frames = 0
        self.line.set_state(Gst.State.PLAYING)

    def set_zones(self, zones):
        self.line.get_by_name("z").set_property("zones", json.dumps(zones))

    def push(self, x=None, label="person"):
        buffer = Gst.Buffer.new_wrapped(bytes([90]) * 20000)
        buffer.pts = self.frames * Gst.SECOND // 10
        self.frames += 1
        meta = GstDvnn.buffer_add_dv_objects_meta(buffer)
        meta.add_pass("people", GstDvnn.PassState.INFERRED)
        if x is not None:
            meta.add_object(GstDvnn.ObjectKind.DETECTION, 1, label, 0.9)
            one = meta.get_object(0)
            one.network = 0
            one.set_box(x - 8, 20, x + 8, 60)
            meta.put_object(one)
        self.source.emit("push-buffer", buffer)

    def walk(self, label="person", back=False):
        for x in range(40, 170, 5):
            self.push(200 - x if back else x, label)

    def wait_empty(self, count=40):
        for _ in range(count):
            self.push()

    def end(self):
        self.source.emit("end-of-stream")
        message = self.line.get_bus().timed_pop_filtered(40 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
        assert message and message.type == Gst.MessageType.EOS, message
        self.line.set_state(Gst.State.NULL)
        # The broker reads this last, after all else.
        while json.loads(retained(self.port)[TOPIC + "/status"])["state"] != "offline":
            time.sleep(0.02)


def checked(config):
    """Holds a configuration against what is documented. Returns its components without those that it removes."""
    assert set(config) == ROOT, config
    assert set(config["device"]) == DEVICE and config["device"]["name"] == STREAM
    assert set(config["origin"]) == ORIGIN
    assert config["availability"] == [{"topic": TOPIC + "/status", "value_template": "{{ value_json.state }}"}]
    ids = []
    found = {}
    for key, one in config["components"].items():
        one = dict(one)
        platform = one.pop("platform")
        if not one:
            continue
        assert MUST[platform] <= set(one) <= MUST[platform] | MAY[platform], (platform, one)
        for name, value in one.items():
            assert value in VALUES.get(name, (value,)), (name, value)
            assert not name.endswith("_topic") or value.startswith(TOPIC + "/"), value
        ids.append(one["unique_id"])
        found[key] = one
    assert len(set(ids)) == len(ids)
    return found


def values(port):
    """Returns what Home Assistant would show of the counts: names and states."""
    found = retained(port)
    state = json.loads(found[TOPIC + "/home"])
    shown = {}
    for one in checked(json.loads(found[CONFIG])).values():
        if "value_template" in one:
            before, key, after = one["value_template"].split("'")
            assert (before, after) == ("{{ value_json[", "] }}") and one["state_topic"] == TOPIC + "/home"
            shown[one["name"]] = state[key]
    return shown


def check_that_counts_presence_and_best_view_are_retained_for_other_clients(folder):
    broker = Broker(folder)
    stream = Stream(broker.port)
    stream.walk()
    stream.push(165)
    reader = Reader(broker.port, TOPIC + "/home")
    key = "area__yard_27s_20_22end_22__occupied__person"
    reader.until(lambda newest: json.loads(newest.get(TOPIC + "/home", "{}")).get(key) == "ON")
    stream.wait_empty()
    reader.until(lambda newest: json.loads(newest.get(TOPIC + "/home", "{}")).get(key) == "OFF")
    stream.walk("car", back=True)
    stream.wait_empty()
    stream.end()
    shown = values(broker.port)
    area = 'yard\'s "end"'
    # Who walks to the right crosses a line that goes up from its left to its right: forward.
    wanted = {"door forward": 1, "door backward": 1, "door forward person": 1, "door backward person": 0, "door forward car": 0,
              "door backward car": 1}
    assert {name: shown[name] for name in wanted} == wanted, shown
    assert shown["%s entered" % area] == 2 and shown["%s entered person" % area] == 1, shown
    assert shown["%s occupied" % area] == "OFF" and shown["%s inside car" % area] == 0, shown
    picture = retained(broker.port)[TOPIC + "/best-view"]
    assert picture.startswith(b"\xff\xd8\xff") and picture.endswith(b"\xff\xd9"), picture[:20]
    reader.close()
    broker.end()


def check_that_ids_and_labels_outlast_a_restart_and_zones_that_are_gone_do_not(folder):
    broker = Broker(folder)
    first = Stream(broker.port)
    first.walk()
    first.end()
    before = json.loads(retained(broker.port)[CONFIG])
    second = Stream(broker.port)
    second.push()
    # The label was not seen by this process, which may end at once.
    second.end()
    assert json.loads(retained(broker.port)[CONFIG]) == before
    third = Stream(broker.port, {"areas": ZONES["areas"]})
    third.push()
    reader = Reader(broker.port, CONFIG)
    gone = {key for key in before["components"] if key.startswith("line__door__")}
    assert len(gone) == 4, gone

    def is_removed(newest):
        now = json.loads(newest.get(CONFIG, '{"components":{}}'))["components"]
        return all(now.get(key) == {"platform": "sensor"} for key in gone)
    newest = reader.until(is_removed)
    assert set(checked(json.loads(newest[CONFIG]))) == set(before["components"]) - gone
    third.set_zones(ZONES)
    third.push()
    third.wait_empty(5)
    reader.until(lambda newest: "name" in json.loads(newest.get(CONFIG, '{"components":{}}'))["components"].get(
        "line__door__forward", {}))
    third.end()
    reader.close()
    broker.end()


def check_that_it_is_removed_on_request_and_off_by_default(folder):
    broker = Broker(folder)
    quiet = Stream(broker.port, more="mode=tracks")
    quiet.walk()
    quiet.end()
    assert set(retained(broker.port)) == {TOPIC + "/status"}, retained(broker.port)
    stream = Stream(broker.port)
    stream.walk()
    stream.wait_empty()
    reader = Reader(broker.port, "#")
    reader.until(lambda newest: {CONFIG, TOPIC + "/home", TOPIC + "/best-view"} <= set(newest))
    stream.publisher.set_property("discovery", "remove")
    stream.push()
    left = {CONFIG, TOPIC + "/home", TOPIC + "/best-view"}
    while left:
        topic, body, _ = reader.next()
        left -= {topic} if not body else set()
    stream.end()
    assert set(retained(broker.port)) == {TOPIC + "/status"}, retained(broker.port)
    reader.close()
    broker.end()


def check_that_a_killed_process_is_offline(folder):
    broker = Broker(folder)
    process = subprocess.Popen([sys.executable, __file__, "--stream", str(broker.port)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"plays\n"
    availability = "%s/status" % TOPIC
    reader = Reader(broker.port, availability, CONFIG)
    newest = reader.until(lambda newest: CONFIG in newest and json.loads(newest.get(availability, "{}")).get("state") == "online")
    assert json.loads(newest[CONFIG])["availability"][0]["topic"] == availability
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    reader.until(lambda newest: json.loads(newest.get(availability, "{}")).get("state") == "offline")
    assert json.loads(retained(broker.port)[availability])["state"] == "offline"
    assert CONFIG in retained(broker.port)
    reader.close()
    broker.end()


def check_that_discovery_without_mqtt_is_refused(folder):
    for line, words in (("location=%s/x" % folder, "needs MQTT"),
                        ("url=mqtt://127.0.0.1 options=status=no", "needs the status")):
        made = Gst.parse_launch("fakesrc ! dvpublish discovery=home-assistant %s ! fakesink" % line)
        made.set_state(Gst.State.PLAYING)
        message = made.get_bus().timed_pop_filtered(40 * Gst.SECOND, Gst.MessageType.ERROR)
        assert words in message.parse_error()[0].message + str(message.parse_error()[1]), message.parse_error()
        made.set_state(Gst.State.NULL)


def check_that_a_camera_is_shown_and_removed_by_its_configuration(folder):
    broker = Broker(folder)

    def run(wanted, url="mqtt://127.0.0.1:%d" % broker.port):
        path = os.path.join(folder, "camera.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"source": "test", "home-assistant": wanted, "elements": [
                {"element": "dvzones", "zones": ZONES}, {"element": "dvpublish", "url": url, "stream": STREAM, "topic": TOPIC}]},
                      file, indent=1)
        return subprocess.Popen([sys.argv[1], path], stderr=subprocess.PIPE, text=True)

    def end(camera):
        camera.terminate()
        camera.communicate()
    reader = Reader(broker.port, "#")
    camera = run({"prefix": "ha"})
    other = CONFIG.replace("homeassistant", "ha")
    newest = reader.until(lambda newest: {other, TOPIC + "/home"} <= set(newest))
    found = checked(json.loads(newest[other]))
    assert "best-view" in found and "line__door__forward" in found, found
    assert json.loads(newest[TOPIC + "/home"])["line__door__forward"] == 0
    end(camera)
    camera = run({"prefix": "ha", "picture": False})
    reader.until(lambda newest: other in newest and "best-view" not in json.loads(newest[other])["components"])
    end(camera)
    camera = run({"prefix": "ha", "remove": True})
    while reader.next()[:2] != (other, b""):
        pass
    end(camera)
    assert set(retained(broker.port)) == {TOPIC + "/status"}, retained(broker.port)
    reader.close()
    mistaken = run(True, "file:/dev/null")
    _, log = mistaken.communicate()
    assert mistaken.returncode == 2 and "line 3, column 2: home-assistant: no entry of elements is a dvpublish" in log, log
    broker.end()


def play(port):
    stream = Stream(port)
    stream.walk()
    print("plays", flush=True)
    time.sleep(600)


def main():
    Gst.init(None)
    if sys.argv[1] == "--stream":
        return play(int(sys.argv[2]))
    if not os.access(MOSQUITTO, os.X_OK):
        print("skipped: there is no %s" % MOSQUITTO)
        return 77
    run_checks(globals())
    return 0


if __name__ == "__main__":
    sys.exit(main())
