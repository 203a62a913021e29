# SPDX-License-Identifier: Apache-2.0
"""The streams of the live page: their documents and pictures, as they come, for any number of readers. This file belongs beside
the program that serves the page."""
import base64
import collections
import json
import os
import stat
import threading
import time

import untrusted

MOST_WAITING = 200             # documents of a client that is slow: the oldest are dropped
MOST_WAITING_BYTES = 16 << 20  # of them
MOST_DOCUMENT = 4 << 20        # bytes; what is longer is dropped
MOST_PICTURE = 16 << 20
MOST_ZONES = 1 << 20


class Newest:
    """The newest picture of a stream: slow clients miss some."""

    def __init__(self):
        self.changed = threading.Condition()
        self.number = 0
        self.picture = None

    def put(self, picture):
        with self.changed:
            self.picture = picture
            self.number += 1
            self.changed.notify_all()

    def newest(self):
        return self.picture

    def after(self, number, seconds):
        """Returns the next number and picture, or the old number if no new one comes in time."""
        with self.changed:
            self.changed.wait_for(lambda: self.number > number, seconds)
            return self.number, self.picture


class Waiting:
    """Documents that a client has not taken yet: the newest ones, within bounds."""

    def __init__(self):
        self.changed = threading.Condition()
        self.documents = collections.deque()
        self.bytes = 0

    def put(self, document):
        with self.changed:
            self.documents.append(document)
            self.bytes += len(document)
            while len(self.documents) > MOST_WAITING or self.bytes > MOST_WAITING_BYTES:
                self.bytes -= len(self.documents.popleft())
            self.changed.notify()

    def get(self, seconds):
        """Returns the oldest one; None if none comes in time."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.documents, seconds):
                return None
            document = self.documents.popleft()
            self.bytes -= len(document)
            return document


class Documents:
    """Gives each document, as bytes, to every client."""

    def __init__(self):
        self.lock = threading.Lock()
        self.clients = set()

    def put(self, document):
        with self.lock:
            for client in self.clients:
                client.put(document)

    def join(self):
        client = Waiting()
        with self.lock:
            self.clients.add(client)
        return client

    def leave(self, client):
        with self.lock:
            self.clients.discard(client)


def open_input(path):
    """Opens a file or a pipe; a pipe without waiting for a writer, and without an end when the writer goes. Anything
    else counts as missing: it may be replaced."""
    while True:
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
            try:
                mode = os.fstat(handle).st_mode
                if stat.S_ISREG(mode):
                    return os.dup(handle), False
                if stat.S_ISFIFO(mode):
                    return os.open("/proc/self/fd/%d" % handle, os.O_RDWR | os.O_CLOEXEC), True
            finally:
                os.close(handle)
        except OSError:
            pass
        time.sleep(0.2)  # the file may just be rotated


def chunks_of(path):
    """Yields the lines that are appended to a file or come through a pipe; None where another file begins."""
    handle, pipe = open_input(path)
    if not pipe:
        os.lseek(handle, 0, os.SEEK_END)  # earlier lines are not shown
    while True:
        data = os.read(handle, 1 << 16)
        if data:
            yield data
            continue
        time.sleep(0.02)
        try:
            there = os.stat(path)
        except OSError:
            continue
        here = os.fstat(handle)
        if there.st_ino != here.st_ino or there.st_size < os.lseek(handle, 0, os.SEEK_CUR):
            os.close(handle)
            handle, pipe = open_input(path)
            yield None


def read_documents(path, stream, documents, pictures):
    rest = b""
    for data in chunks_of(path):
        rest = b"" if data is None else rest + data
        *lines, rest = rest.split(b"\n")
        if len(rest) > MOST_DOCUMENT:
            rest = b""
        for line in lines:
            try:
                documents.put(("data: %s\n\n" % document_of(line, stream, pictures)).encode())
            except (ValueError, RecursionError):
                continue  # not a document, or the rest of a line that began earlier


def document_of(line, stream, pictures):
    """Returns the page's form of a line. Raises ValueError or RecursionError if it is no document."""
    document = untrusted.parse_json(line)
    if not isinstance(document, dict):
        raise ValueError("it is no object")
    take_pictures(document, pictures)
    # The page has the streams' names of the command line.
    document["stream"] = stream
    return json.dumps(document, separators=(",", ":"), allow_nan=False)


def take_pictures(document, pictures):
    """Shows the picture of the frame in a document; documents go on without pictures."""
    picture = document.pop("picture", None)
    objects = document.get("objects")
    for thing in objects if isinstance(objects, list) else ():
        if isinstance(thing, dict):
            thing.pop("picture", None)
    if isinstance(picture, dict) and picture.get("of") == "frame" and isinstance(picture.get("base64"), str):
        try:
            pictures.put(base64.b64decode(picture["base64"], validate=True))
        except ValueError:
            pass


def read_pictures(path, pictures):
    """Splits JPEG pictures: they begin with ff d8 and end with ff d9, which compressed data never contain."""
    rest = b""
    for data in chunks_of(path):
        rest = b"" if data is None else rest + data
        while True:
            begin = rest.find(b"\xff\xd8\xff")
            if begin < 0:
                rest = rest[-2:]
                break
            end = rest.find(b"\xff\xd9", begin)
            if end < 0:
                rest = rest[begin:] if len(rest) - begin < MOST_PICTURE else b""
                break
            pictures.put(rest[begin:end + 2])
            rest = rest[end + 2:]


def make_pipe(path):
    try:
        os.mkfifo(path, 0o600)
    except OSError as error:  # its message does not say where
        raise OSError(error.errno, error.strerror, path) from error


class Stream:
    def __init__(self, name, folder, documents):
        self.name = name
        self.zones = os.path.join(folder, name + ".zones")
        self.pictures = Newest()
        for kind, read, more in (("jsonl", read_documents, (name, documents, self.pictures)),
                                 ("mjpeg", read_pictures, (self.pictures,))):
            path = os.path.join(folder, name + "." + kind)
            if not os.path.exists(path):
                make_pipe(path)
            threading.Thread(target=read, args=(path, *more), daemon=True).start()

    def describe(self):
        """Describes the stream as JSON."""
        try:
            return json.dumps({"name": self.name, "zones": untrusted.read_json(self.zones, MOST_ZONES)})
        except (OSError, ValueError, RecursionError):
            return json.dumps({"name": self.name, "zones": {}})
