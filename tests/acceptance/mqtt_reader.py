# SPDX-License-Identifier: Apache-2.0
"""A client of MQTT 3.1.1 that only reads, written from the standard (OASIS, 2014): what a broker retains, told by another
program than libmosquitto."""
import socket
import struct


def _text(text):
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack(">H", len(raw)) + raw


class Reader:
    """Subscribes to topics and reads messages, until it is closed."""

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
