# SPDX-License-Identifier: Apache-2.0
"""The clips of a camera's dvrecord, for its page: their list, their bytes, and the documents in them. This file belongs beside
dvcamera."""
import heapq
import html
import json
import os
import re
import threading

import gi

import untrusted

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst  # noqa: E402

NAME = r"-[0-9]{8}T[0-9]{6}\.[0-9]{3}Z(-[0-9]{1,3})?(?P<part>\.part)?\.(?P<kind>mkv|mp4)"  # behind the stream's name
KINDS = {"mkv": "video/webm", "mp4": "video/mp4"}
MOST_LISTED = 50
MOST_NAMES = 200000         # of a folder
MOST_RANGE = 2 << 20        # bytes of an answer: players ask for the next ones
MOST_PICTURE = 4 << 20
MOST_DOCUMENTS = 16 << 20   # bytes of a clip's
DOCUMENT_SECONDS = 20       # to read them in
CUE = re.compile(r"([0-9]{2,4}):([0-9]{2}):([0-9]{2})\.([0-9]{3}) --> ", re.ASCII)
RANGE = re.compile(r"bytes=([0-9]{0,15})-([0-9]{0,15})", re.ASCII)


class Clips:
    def __init__(self, folder, stream):
        self.folder = folder
        self.name = re.compile(re.escape(stream) + NAME, re.ASCII)
        self.listing = threading.Lock()
        self.reading = threading.Semaphore(1)

    def newest(self, before):
        """Returns the newest clips that are older than the one called `before`, if it is not empty."""
        def stamped(name):
            return name.replace(".part.", ".").rpartition(".")[0]

        names = set()
        with self.listing, os.scandir(self.folder) as entries:
            for entry, _ in zip(entries, range(MOST_NAMES)):
                names.add(entry.name)
        clips = (name for name in names if self.name.fullmatch(name) and (not before or stamped(name) < stamped(before)))
        found = []
        for name in heapq.nlargest(MOST_LISTED, clips, stamped):
            try:
                size = os.stat(os.path.join(self.folder, name)).st_size
            except OSError:  # it has just been removed, or is whole now
                continue
            match = self.name.fullmatch(name)
            found.append({"name": name, "bytes": size, "part": bool(match["part"]), "kind": match["kind"],
                          "picture": stamped(name) + ".jpg" in names})
        return found

    def opened(self, name):
        """Returns an open file and its type. Raises OSError or ValueError: only names of clips are opened."""
        match = self.name.fullmatch(name)
        if not match:
            raise ValueError("that is no clip")
        return os.fdopen(untrusted.open_regular(os.path.join(self.folder, name)), "rb"), KINDS[match["kind"]]

    def picture(self, name):
        match = self.name.fullmatch(name)
        if not match:
            raise ValueError("that is no clip")
        stem = name[:-len(match["kind"]) - 1].removesuffix(".part")
        with os.fdopen(untrusted.open_regular(os.path.join(self.folder, stem + ".jpg")), "rb") as file:
            return file.read(MOST_PICTURE)

    def documents(self, name):
        """Returns the documents of a clip as JSON lines: `at`, nanoseconds from its beginning, and `document`. Raises OSError,
        ValueError, or BlockingIOError while another clip is read."""
        file, kind = self.opened(name)
        with file:
            if kind == KINDS["mp4"]:
                return self.documents_beside(name)
            if not self.reading.acquire(blocking=False):
                raise BlockingIOError("another clip is being read")
            try:
                return b"".join(lines_of(file.fileno()))
            finally:
                self.reading.release()


    def documents_beside(self, name):
        """Those of an MP4 file are in a file of WebVTT."""
        try:
            text = untrusted.read_text(os.path.join(self.folder, name.removesuffix("mp4") + "vtt"), MOST_DOCUMENTS)
        except FileNotFoundError:
            return b""
        told, at = [], 0
        for line in text.splitlines():
            cue = CUE.match(line)
            if cue:
                hours, minutes, seconds, milliseconds = map(int, cue.groups())
                at = ((hours * 60 + minutes) * 60 + seconds) * 10 ** 9 + milliseconds * 10 ** 6
            elif line.startswith("{"):
                told.append(told_line(at, line))
        return b"".join(told)


def told_line(at, line):
    """Returns the page's form of a document's line; nothing if it is no document."""
    try:
        return json.dumps({"at": at, "document": untrusted.parse_json(line)}, allow_nan=False).encode() + b"\n"
    except ValueError:
        return b""


def lines_of(handle):
    """Yields a line for each document in the text track of a Matroska file."""
    pipeline = Gst.parse_launch("fdsrc name=file ! matroskademux name=clip clip.subtitle_0 ! appsink name=text sync=false max-buffers=100")
    pipeline.get_by_name("file").set_property("fd", handle)
    sink = pipeline.get_by_name("text")
    pipeline.set_state(Gst.State.PLAYING)
    end, size = GLib.get_monotonic_time() + DOCUMENT_SECONDS * 1000000, 0
    try:
        while True:
            left = end - GLib.get_monotonic_time()
            sample = sink.emit("try-pull-sample", max(0, left) * 1000) if left > 0 else None
            if not sample:
                return
            buffer = sample.get_buffer()
            text = buffer.extract_dup(0, buffer.get_size()).decode("utf-8", "replace")
            for line in html.unescape(text).splitlines():
                told = told_line(buffer.pts, line)
                size += len(told)
                if size > MOST_DOCUMENTS:
                    return
                yield told
    finally:
        pipeline.set_state(Gst.State.NULL)


def part_of(header, size):
    """Returns the first byte and the end of what a request's Range asks for, within MOST_RANGE; None if it asks for all, or for
    what we do not know. Raises ValueError if there is no such part."""
    match = RANGE.fullmatch((header or "").strip())
    if not match or not (match[1] or match[2]):
        return None
    if match[1]:
        begin, end = int(match[1]), int(match[2]) + 1 if match[2] else size
        if match[2] and end <= begin:
            return None  # no range: the whole
    else:
        begin, end = max(0, size - int(match[2])), size
    if begin >= min(end, size):
        raise ValueError("there is no such part")
    return begin, min(end, size, begin + MOST_RANGE)
