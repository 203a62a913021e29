# SPDX-License-Identifier: Apache-2.0
"""The page of a camera: what of the line it shows, and the server's thread. This file belongs beside dvcamera."""
import json
import os
import tempfile
import threading

import gi

import camera_access
import camera_clips
import camera_edit
import camera_requests
import camera_webrtc
import live_server
import live_streams
import untrusted
from camera_elements import Mistake

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst  # noqa: E402

MODES = ("frames", "events", "tracks", "clips", "heat")  # what the page shows of documents
DETECTORS = ("dvdecode", "dvmotion", "dvread", "dvtrack", "dvzones")
# A pipeline of its own: what the page does with frames neither decides what the line negotiates, nor keeps it waiting.
PICTURES = ("appsrc name=frames format=time ! videoconvert ! videoscale"
            " ! video/x-raw,width=[1,%d],height=[1,8192],pixel-aspect-ratio=1/1 ! videoconvert ! jpegenc quality=75"
            " ! appsink name=pictures emit-signals=true sync=false async=false")


class Stream:
    """What dvlive's streams are, of this process."""

    def __init__(self, name, page):
        self.name = name
        self.page = page
        self.pictures = page.pictures

    def describe(self):
        return json.dumps({"name": self.name, "camera": True, "webrtc": not self.page.viewers.fault,
                           "zones": self.page.editor.describe_zones()["zones"]})


class Pictures(live_streams.Newest):
    """Pictures are only made while somebody looks."""

    SECONDS = 10  # since the last look

    def __init__(self):
        super().__init__()
        self.looked = -self.SECONDS * 1000000

    def newest(self):
        self.looked = GLib.get_monotonic_time()
        return super().newest()

    def after(self, number, seconds):
        self.looked = GLib.get_monotonic_time()
        return super().after(number, seconds)

    def are_wanted(self):
        return GLib.get_monotonic_time() - self.looked < self.SECONDS * 1000000


class Page:
    def __init__(self, config, say):
        self.config = config
        self.say = say       # tells the log a line
        self.asked = False   # the next frame is taken
        self.busy = False    # a frame is being made a picture
        self.options = config["page"]
        self.pictures = Pictures()
        self.viewers = camera_webrtc.Viewers(self.options.get("picture-size", 640), lambda text: say("%s: %s" % (config["name"], text)))
        self.documents = live_streams.Documents()
        self.folder = tempfile.TemporaryDirectory(prefix="dvcamera-")
        self.pipe = os.path.join(self.folder.name, "documents")
        live_streams.make_pipe(self.pipe)
        self.editor = None
        self.clips = None
        self.server = None

    def hash(self):
        """Returns the password's hash as the file has it now: nobody can write while it cannot be read."""
        try:
            page = untrusted.read_json(self.config.path, 1 << 20)["page"]["password"]
        except (OSError, ValueError, KeyError, TypeError):
            return ""
        return page if isinstance(page, str) else ""

    # --- the line -------------------------------------------------------------------------------

    def insert(self, parts, elements, places, recorder):
        """Puts what the page needs behind the last element that finds something, or that hides it."""
        hiders = [part for part in parts if part.factory == "dvoverlay" and ("blur" in part.given or "pixelate" in part.given)]
        at = 1 + max([i for i, part in enumerate(parts) if part.factory in DETECTORS or part in hiders], default=-1)
        if not at:
            at = len(elements) - (elements[-1].get_static_pad("src") is None)
        publish = Gst.ElementFactory.make("dvpublish")
        if not publish:
            raise self.config.mistake(": it needs dvpublish, which is not installed", "page")
        for name, value in (("location", self.pipe), ("stream", self.config["name"])):
            publish.set_property(name, value)
        known = [value.first_value_nick for value in type(publish.get_property("mode")).__flags_values__.values()]
        Gst.util_set_object_arg(publish, "mode", "+".join(mode for mode in MODES if mode in known))
        elements.insert(at, publish)
        places.insert(at, ("page",))
        self.pad = publish.get_static_pad("src")
        self.make_pictures()
        self.editor = camera_edit.Editor(self.config, parts)
        recorders = [recorder] if recorder else [part.element for part in parts if part.factory == "dvrecord"]
        if recorders:
            stream = recorders[0].get_property("stream") or recorders[0].get_name()
            self.clips = camera_clips.Clips(recorders[0].get_property("location"), stream)

    # --- pictures -------------------------------------------------------------------------------

    def make_pictures(self):
        try:
            self.encoder = Gst.parse_launch(PICTURES % self.options.get("picture-size", 640))
        except GLib.Error as error:
            raise self.config.mistake(": %s" % error.message, "page") from error
        self.frames = self.encoder.get_by_name("frames")
        self.encoder.get_by_name("pictures").connect("new-sample", self.on_picture)

    def ask(self):
        """Called as often as there may be pictures: takes the next frame, if somebody looks who can take it."""
        error = self.encoder.get_bus().pop_filtered(Gst.MessageType.ERROR)
        if error:
            self.say("the page has no pictures: %s" % error.parse_error()[0].message)
            return GLib.SOURCE_REMOVE
        if not self.asked and (self.wants_picture() or self.viewers.connected()):
            self.asked = True
            self.pad.add_probe(Gst.PadProbeType.BUFFER, self.on_frame)
        return GLib.SOURCE_CONTINUE

    def wants_picture(self):
        return self.pictures.are_wanted() and not self.busy

    def on_frame(self, pad, info):
        """Streaming thread."""
        self.asked = False
        if self.viewers.connected():
            self.viewers.put(pad.get_current_caps(), info.get_buffer())
        if self.wants_picture():
            self.busy = True
            self.frames.set_property("caps", pad.get_current_caps())
            self.frames.emit("push-buffer", info.get_buffer())
        return Gst.PadProbeReturn.REMOVE

    def on_picture(self, sink):
        """The encoder's thread."""
        sample = sink.emit("pull-sample")
        if sample:
            buffer = sample.get_buffer()
            self.pictures.put(buffer.extract_dup(0, buffer.get_size()))
        self.busy = False
        return Gst.FlowReturn.OK

    # --- the server -----------------------------------------------------------------------------

    def start(self):
        """Serves in threads; returns the page's address. Raises OSError if nobody can listen there."""
        name = self.config["name"]
        bind, port = self.options.get("bind", "127.0.0.1"), self.options.get("port", 8080)
        self.server = live_server.Server((bind, port), {name: Stream(name, self)}, self.documents,
                                         self.options.get("hosts", []), camera_requests.Handler)
        self.server.page = self
        self.server.access = camera_access.Access(self.hash)
        threading.Thread(target=live_streams.read_documents, args=(self.pipe, name, self.documents, self.pictures),
                         daemon=True).start()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.encoder.set_state(Gst.State.PLAYING)
        self.viewers.start()
        GLib.timeout_add(1000 // self.options.get("picture-rate", 10), self.ask)
        return "http://%s:%d/" % ("[%s]" % bind if ":" in bind else bind, self.server.server_address[1])

    def stop(self):
        if self.server:
            self.server.shutdown()
            self.server.server_close()
        self.encoder.set_state(Gst.State.NULL)
        self.viewers.stop()
        self.folder.cleanup()


def make(config, say):
    """Returns the page that the field `page` describes."""
    try:
        return Page(config, say)
    except OSError as error:
        raise Mistake("'%s': page: %s" % (config.path, error)) from error
