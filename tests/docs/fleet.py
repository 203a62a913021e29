#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the pipelines of docs/fleet.md as the page says, with a broker that fails in between.

    fleet.py PAGE BUILD_FOLDER CLIP

Exits with 77 where there is no mosquitto.
"""
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

PAGE, BUILD, CLIP = map(os.path.abspath, sys.argv[1:])
PRINTED_PORT = "11883"


def pipelines(page):
    """Returns the commands of the first part, each in one line."""
    text = open(page).read().split("## A real fleet")[0].replace("\\\n", " ")
    return [line.strip() for line in text.splitlines() if line.startswith("    gst-launch-1.0")]


def free_port():
    with socket.socket() as one:
        one.bind(("localhost", 0))
        return one.getsockname()[1]


def text_of_mqtt(text):
    return struct.pack(">H", len(text)) + text.encode()


class Reader(threading.Thread):
    """Replaces mosquitto_sub -t 'dvnn/#' of the page: returns (topic, document) in the order of arrival."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.found = []
        self.socket = socket.create_connection(("localhost", port))
        self.stream = self.socket.makefile("rb")
        hello = text_of_mqtt("MQTT") + b"\x04\x02\x00\x00" + text_of_mqtt("reader")
        self.send(0x10, hello)
        self.packet()
        self.send(0x82, b"\x00\x01" + text_of_mqtt("dvnn/#") + b"\x00")
        self.packet()
        self.start()

    def send(self, kind, body):
        self.socket.sendall(bytes([kind, len(body)]) + body)

    def packet(self):
        kind, length, shift = self.stream.read(1), 0, 0
        if not kind:
            return None
        while True:
            byte = self.stream.read(1)[0]
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return self.stream.read(length)

    def run(self):
        while True:
            body = self.packet()
            if body is None:
                return
            end = 2 + struct.unpack(">H", body[:2])[0]
            self.found.append((body[2:end].decode(), json.loads(body[end:])))

    def tracks(self, topic):
        return [document for name, document in self.found if name == topic and document["type"] == "track"]


class Broker:
    def __init__(self, port):
        self.process = subprocess.Popen(["mosquitto", "-p", str(port)], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        for _ in range(100):
            try:
                self.reader = Reader(port)
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError("the broker does not start")

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.reader.join(10)
        return self.reader


def main():
    if not shutil.which("mosquitto"):
        print("skipped: there is no mosquitto")
        return 77
    os.environ["GST_PLUGIN_PATH"] = os.path.join(BUILD, "gst")
    port = free_port()
    commands = [line.replace(PRINTED_PORT, str(port)) for line in pipelines(PAGE)]
    assert len(commands) == 2 and all(str(port) in line for line in commands), commands
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(CLIP, os.path.join(folder, "codes.webm"))

        def run(command):
            subprocess.run(command, shell=True, cwd=folder, check=True, timeout=120, stdout=subprocess.DEVNULL)

        broker = Broker(port)
        run(commands[0])
        reader = broker.stop()
        told = [document["state"] for topic, document in reader.found if topic == "dvnn/kyoto/south/status"]
        assert told and told[0] == "online", reader.found
        south = reader.tracks("dvnn/kyoto/south")
        assert south and all(document["stream"] == "kyoto-south" for document in south), reader.found
        run(commands[1])
        assert os.listdir(os.path.join(folder, "spool", "kyoto-north")), "nothing waits for the broker"
        broker = Broker(port)
        run(commands[1])
        north = broker.stop().tracks("dvnn/kyoto/north")
        sessions = [document["session"] for document in north]
        assert len(set(sessions)) == 2 and sessions == sorted(sessions, key=sessions.index), sessions
        first = sum(session == sessions[0] for session in sessions)
        print("%d tracks at the south door, %d and %d at the north door" % (len(south), first, len(north) - first))
        assert first == len(north) - first == len(south), "documents are missing"
    return 0


if __name__ == "__main__":
    sys.exit(main())
