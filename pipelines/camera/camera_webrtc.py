# SPDX-License-Identifier: Apache-2.0
"""The page's picture by WebRTC: an offer is answered as WHEP has it (draft-ietf-wish-whep). Needs GStreamer's webrtcbin and
libnice, and their bindings. This file belongs beside dvcamera.

One encoder makes VP8 for all viewers, only while there are any. Each viewer has a pipeline of its own, so that nothing of one
reaches another, the encoder or the camera's line: frames are handed over between pipelines, and dropped where they are not taken.

webrtcbin is given no text of a viewer: an offer is read here, by `camera_offer`, and written anew. The camera knows no address of a
viewer either. It answers who comes to its own address with the session's secret, and sends nothing to anybody before."""
import secrets
import threading
import time

import gi

import camera_offer
from camera_edit import Refused

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst  # noqa: E402

MOST_VIEWERS = 8
SILENCE = 15            # seconds without a packet of a viewer, after which it counts as gone
ANSWER_SECONDS = 10     # for an answer to be made
NEEDED = ("webrtcbin", "nicesrc", "dtlssrtpenc", "srtpenc", "vp8enc", "rtpvp8pay")
MISSING = ("WebRTC needs elements or bindings that are not installed here (%s): on Debian, apt install gstreamer1.0-plugins-bad "
           "gstreamer1.0-nice gir1.2-gst-plugins-bad-1.0 gir1.2-gst-plugins-base-1.0")
ENDED = ("failed", "closed", "disconnected")  # states of a connection
# Many viewers may ask for a key frame: the encoder makes one a second at most.
ENCODER = ("appsrc name=frames is-live=true do-timestamp=true format=time max-buffers=2 leaky-type=downstream ! videoconvert ! videoscale"
           " ! video/x-raw,format=I420,width=[1,%d],height=[1,8192],pixel-aspect-ratio=1/1"
           " ! vp8enc name=encoder deadline=1 cpu-used=8 end-usage=cbr target-bitrate=1500000 keyframe-max-dist=300"
           " min-force-key-unit-interval=1000000000 ! appsink name=encoded emit-signals=true sync=false async=false")
VIEWER = ("appsrc name=encoded is-live=true do-timestamp=true format=time max-buffers=8 leaky-type=downstream"
          " ! rtpvp8pay pt=%d picture-id-mode=15-bit ! application/x-rtp,media=video,encoding-name=VP8,clock-rate=90000,payload=%d"
          " ! webrtcbin name=peer bundle-policy=max-bundle")


def library():
    """Returns the bindings GstSdp and GstWebRTC. Raises Refused with what is missing."""
    missing = [name for name in NEEDED if not Gst.ElementFactory.find(name)]
    try:
        gi.require_version("GstSdp", "1.0")
        gi.require_version("GstWebRTC", "1.0")
        from gi.repository import GstSdp, GstWebRTC
    except (ImportError, ValueError):
        missing.append("GstWebRTC")
    if missing:
        raise Refused(MISSING % ", ".join(missing), status=501)
    return GstSdp, GstWebRTC


def untimed(buffer):
    """Returns the same memory without its times, which the next pipeline sets. (A copy whose times are removed is not writable in
    Python from GStreamer 1.26 on.)"""
    flags = Gst.BufferCopyFlags
    return buffer.copy_region(flags.FLAGS | flags.META | flags.MEMORY, 0, buffer.get_size())


def key_frame_request():
    fields = Gst.Structure.new_from_string("GstForceKeyUnit, all-headers=(boolean)true, count=(uint)0")
    return Gst.Event.new_custom(Gst.EventType.CUSTOM_UPSTREAM, fields)


class Viewer:
    """A browser that looks: its pipeline, from encoded frames on. `address`: of this machine, at which it looks for the camera."""

    def __init__(self, bindings, offer, address, wants_key_frame):
        self.sdp, self.webrtc = bindings
        self.offer = offer
        self.wants_key_frame = wants_key_frame
        self.heard = time.monotonic()
        self.connected = False
        self.ended = False
        self.gathered = threading.Event()
        self.pipeline = Gst.parse_launch(VIEWER % (offer.payload, offer.payload))
        self.source = self.pipeline.get_by_name("encoded")
        self.peer = self.pipeline.get_by_name("peer")
        self.source.get_static_pad("src").add_probe(Gst.PadProbeType.EVENT_UPSTREAM, self.on_event)
        self.prepare_agent(address)
        self.handlers = [(self.peer, self.peer.connect("notify::ice-gathering-state", self.on_gathering)),
                         (self.peer, self.peer.connect("notify::connection-state", self.on_connection)),
                         (self.pipeline, self.pipeline.connect("deep-element-added", self.on_element))]

    def prepare_agent(self, address):
        """Only UDP, at the address by which the viewer has reached the page; no router is asked for a port (UPnP)."""
        agent = self.peer.get_property("ice-agent")
        if agent.__grefcount__ == 1:
            agent._ref()  # until GStreamer 1.24 webrtcbin's reference is a floating one, which Python has taken
        agent.set_property("ice-tcp", False)
        agent.get_property("agent").set_property("upnp", False)
        agent.emit("add-local-ip-address", address)

    def answer(self):
        """Returns the answer to the offer. Raises Refused."""
        if self.pipeline.set_state(Gst.State.PLAYING) == Gst.StateChangeReturn.FAILURE:
            raise Refused("The viewer's pipeline does not start.", status=500)
        status, message = self.sdp.SDPMessage.new_from_text(self.offer.text())
        if status != self.sdp.SDPResult.OK:
            raise Refused("The offer cannot be read.", status=400)
        offered = self.webrtc.WebRTCSessionDescription.new(self.webrtc.WebRTCSDPType.OFFER, message)
        self.ask("set-remote-description", offered)
        created = self.ask("create-answer", None)  # owns the answer
        self.ask("set-local-description", created.get_value("answer"))
        if not self.gathered.wait(ANSWER_SECONDS):
            raise Refused("This machine's addresses are not found in time.", status=500)
        return self.offer.complete(self.peer.get_property("local-description").sdp.as_text())

    def ask(self, what, value):
        """Has webrtcbin do something; returns what it replies, or None. Raises Refused."""
        done = threading.Event()
        promise = Gst.Promise.new_with_change_func(lambda *_: done.set())
        self.peer.emit(what, value, promise)
        if not done.wait(ANSWER_SECONDS) or promise.wait() != Gst.PromiseResult.REPLIED:
            raise Refused("WebRTC: %s has not ended in time." % what, status=500)
        reply = promise.get_reply()
        if reply and reply.has_field("error"):
            raise Refused("WebRTC: %s: %s" % (what, reply.get_value("error").message), status=400)
        return reply

    # --- threads of GStreamer -------------------------------------------------------------------

    def on_gathering(self, peer, _spec):
        if peer.get_property("ice-gathering-state").value_nick == "complete":
            self.gathered.set()

    def on_connection(self, peer, _spec):
        state = peer.get_property("connection-state").value_nick
        self.ended = self.ended or state in ENDED
        if state == "connected" and not self.connected:
            self.connected = True
            self.wants_key_frame()

    def on_element(self, _pipeline, _bin, element):
        factory = element.get_factory()  # parts of other elements have none
        if factory and factory.get_name() == "nicesrc":
            element.get_static_pad("src").add_probe(Gst.PadProbeType.BUFFER, self.on_packet)

    def on_packet(self, *_):
        """The viewer has sent something, such as its reports (RTCP), which come each second or so."""
        self.heard = time.monotonic()
        return Gst.PadProbeReturn.OK

    def on_event(self, _pad, info):
        if info.get_event().has_name("GstForceKeyUnit"):
            self.wants_key_frame()
        return Gst.PadProbeReturn.OK

    def put(self, sample):
        source = self.source
        if source and self.connected and not self.ended:
            source.set_property("caps", sample.get_caps())
            source.emit("push-buffer", untimed(sample.get_buffer()))

    # --- the keeper's thread --------------------------------------------------------------------

    def is_gone(self, now):
        error = self.pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
        return self.ended or error is not None or now - self.heard > SILENCE

    def end(self):
        """Nothing may refer to the pipeline afterwards: its threads and sockets end with it."""
        self.ended = True
        self.pipeline.set_state(Gst.State.NULL)
        for element, handler in self.handlers:
            element.disconnect(handler)
        self.handlers = self.pipeline = self.peer = self.source = None


class Viewers:
    """All viewers, and their encoder. `say` tells the log a line."""

    def __init__(self, width, say):
        self.say = say
        self.lock = threading.Condition()
        self.viewers = {}  # by a name that nobody can guess; None while it is made
        self.ends = threading.Event()
        self.keeper = threading.Thread(target=self.keep, daemon=True)
        self.fault = None  # why there is no WebRTC
        try:
            self.bindings = library()
            self.encoder = Gst.parse_launch(ENCODER % width)
        except (Refused, GLib.Error) as error:
            self.fault = error if isinstance(error, Refused) else Refused(MISSING % error.message, status=501)
            return
        self.frames = self.encoder.get_by_name("frames")
        self.encoder.get_by_name("encoded").connect("new-sample", self.on_encoded)

    def start(self):
        if not self.fault:
            self.encoder.set_state(Gst.State.PLAYING)
            self.keeper.start()

    def stop(self):
        """Ends all, also those that are being made: Python must not end under a thread of GStreamer."""
        if not self.fault:
            self.ends.set()
            if self.keeper.is_alive():
                self.keeper.join()
            with self.lock:
                self.lock.wait_for(lambda: None not in self.viewers.values(), 4 * ANSWER_SECONDS)
                names = list(self.viewers)
            for name in names:
                self.remove(name)
            self.encoder.set_state(Gst.State.NULL)

    # --- requests -------------------------------------------------------------------------------

    def add(self, text, address):
        """Returns a new viewer's name and the answer to its offer. Raises Refused."""
        if self.fault:
            raise self.fault
        offer = camera_offer.Offer(text)
        name = secrets.token_urlsafe(18)
        with self.lock:
            if len(self.viewers) >= MOST_VIEWERS or self.ends.is_set():
                raise Refused("There are %d viewers, which is the most." % MOST_VIEWERS, status=503)
            self.viewers[name] = None
        viewer = None
        try:
            viewer = Viewer(self.bindings, offer, address, self.request_key_frame)
            answer = viewer.answer()
        except BaseException as error:  # whatever it is, the seat is free again
            if viewer:
                viewer.end()
            with self.lock:
                del self.viewers[name]
                self.lock.notify_all()
            if isinstance(error, GLib.Error):
                raise Refused("WebRTC: %s" % error.message, status=500) from error
            raise
        with self.lock:
            self.viewers[name] = viewer
            self.lock.notify_all()
        return name, answer

    def remove(self, name):
        """Returns whether there was a viewer of this name."""
        with self.lock:
            viewer = self.viewers.pop(name, None) if self.viewers.get(name) else None
        if viewer:
            viewer.end()
        return viewer is not None

    # --- frames ---------------------------------------------------------------------------------

    def connected(self):
        with self.lock:
            return [viewer for viewer in self.viewers.values() if viewer and viewer.connected and not viewer.ended]

    def put(self, caps, buffer):
        """Takes a frame of the camera. Streaming thread: it only lays it down."""
        self.frames.set_property("caps", caps)
        self.frames.emit("push-buffer", untimed(buffer))

    def on_encoded(self, sink):
        """The encoder's thread."""
        sample = sink.emit("pull-sample")
        for viewer in self.connected() if sample else ():
            viewer.put(sample)
        return Gst.FlowReturn.OK

    def request_key_frame(self):
        self.encoder.get_by_name("encoder").get_static_pad("src").send_event(key_frame_request())

    # --- the keeper's thread --------------------------------------------------------------------

    def keep(self):
        """Ends who has gone, each second."""
        while not self.ends.wait(1):
            now = time.monotonic()
            with self.lock:
                gone = [name for name, viewer in self.viewers.items() if viewer and viewer.is_gone(now)]
            for name in gone:
                self.remove(name)
            error = self.encoder.get_bus().pop_filtered(Gst.MessageType.ERROR)
            if error:  # such as a picture that VP8 does not take; the next one may be another
                self.say("WebRTC: %s" % error.parse_error()[0].message)
                self.encoder.set_state(Gst.State.NULL)
                self.encoder.set_state(Gst.State.PLAYING)
