# SPDX-License-Identifier: Apache-2.0
"""Serves what leaves dvcamera's elements, drawn, by RTSP. Needs gst-rtsp-server (gir1.2-gst-rtsp-server-1.0).

A tee at the end of the elements has a branch that draws and hands frames to an appsink. While there are clients, they share
one pipeline of the server, whose appsrc gets these frames, and thus one encoder. This file belongs beside dvcamera."""
import re
import threading

import gi

from camera_elements import Mistake
from camera_server import ADDRESS, LOCAL, PORT

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst  # noqa: E402

PLACE = re.compile(r"^%s:%s(/[A-Za-z0-9._~-]+(?:/[A-Za-z0-9._~-]+)*)$" % (ADDRESS, PORT))
MOST_CLIENTS = 32
# What encodes, best first: the hardware's, then what needs least time. A key frame every two seconds of 25 frames.
ENCODERS = (
    ("v4l2h264enc", "v4l2h264enc ! video/x-h264,level=(string)4 ! rtph264pay config-interval=-1"),
    ("vah264enc", "vah264enc key-int-max=50 ! rtph264pay config-interval=-1"),
    ("x264enc", "x264enc tune=zerolatency speed-preset=veryfast bitrate=%(kbit)d key-int-max=50 ! rtph264pay config-interval=-1"),
    ("openh264enc", "openh264enc bitrate=%(kbit)d000 gop-size=50 complexity=low ! rtph264pay config-interval=-1"),
    # JPEG's colours use all values of a byte, to which videoconvert converts from another format only.
    ("jpegenc", "video/x-raw,format=BGRx ! videoconvert ! video/x-raw,format=I420,colorimetry=(string)1:4:0:0 "
                "! jpegenc quality=80 ! rtpjpegpay"),
)


def place_of(text):
    """Returns address, port and path of a text that PLACE allows; without an address, this machine alone."""
    found = PLACE.match(text)
    return found[1].strip("[]") or LOCAL, found[2], found[3]


def chosen_encoder():
    """Returns the first encoder that there is and that opens: its name and its part of a pipeline."""
    for name, line in ENCODERS:
        element = Gst.ElementFactory.make(name)
        if not element:
            continue
        opens = element.set_state(Gst.State.READY) != Gst.StateChangeReturn.FAILURE
        element.set_state(Gst.State.NULL)
        if opens:
            return name, line
    raise Mistake(": there is no encoder: neither %s" % " nor ".join(name for name, _ in ENCODERS))


def library():
    """Returns gst-rtsp-server's bindings."""
    try:
        gi.require_version("GstRtspServer", "1.0")
        gi.require_version("GstRtsp", "1.0")
        from gi.repository import GstRtsp, GstRtspServer
    except (ImportError, ValueError) as error:
        raise Mistake(" needs gst-rtsp-server's bindings, which are not installed: on Debian, apt install "
                      "gir1.2-gst-rtsp-server-1.0") from error
    return GstRtspServer, GstRtsp


class Serving:
    """The branch that draws, and the server."""

    def __init__(self, wanted, draws, say):
        """`wanted`: the field of the configuration. `draws`: whether the elements draw themselves. Raises Mistake."""
        self.wanted = wanted if isinstance(wanted, dict) else {"listen": wanted}
        self.address, self.port, self.path = place_of(self.wanted["listen"])
        self.rtsp, self.auth_methods = library()
        self.encoder, self.line = chosen_encoder()
        self.say = say
        self.lock = threading.Lock()
        self.source = None  # the appsrc of the clients' pipeline; under the lock
        self.payloader = None   # of the same pipeline
        self.caps = None
        self.clients = 0
        self.tee = Gst.ElementFactory.make("tee", "dvcamera-serve")
        self.branch = Gst.parse_bin_from_description(
            "queue leaky=downstream max-size-buffers=2 max-size-bytes=0 max-size-time=0 "
            "! valve name=valve drop=true drop-mode=forward-sticky-events ! %svideoconvert "
            "! video/x-raw,format=I420 ! appsink name=frames sync=false max-buffers=2 drop=true emit-signals=true"
            % ("" if draws else "videoconvert ! dvoverlay ! "), True)
        self.valve = self.branch.get_by_name("valve")
        self.branch.get_by_name("frames").connect("new-sample", self.on_frame)

    def on_frame(self, sink):
        """Streaming thread."""
        sample = sink.emit("pull-sample")
        with self.lock:
            source = self.source
        if not source or not sample:
            return Gst.FlowReturn.OK
        if not self.caps or not self.caps.is_equal(sample.get_caps()):
            self.caps = sample.get_caps()
            source.set_property("caps", self.caps)
        # The same memory without its times, which the clients' pipeline sets. (A copy whose times are removed is not
        # writable in Python from GStreamer 1.26 on.)
        frame = sample.get_buffer()
        frame = frame.copy_region(Gst.BufferCopyFlags.FLAGS | Gst.BufferCopyFlags.META | Gst.BufferCopyFlags.MEMORY, 0,
                                  frame.get_size())
        source.emit("push-buffer", frame)
        return Gst.FlowReturn.OK

    def start(self):
        """Begins to listen. Raises OSError."""
        server = self.rtsp.RTSPServer()
        server.set_address(self.address)
        server.set_service(self.port)
        factory = self.rtsp.RTSPMediaFactory()
        factory.set_launch("( appsrc name=frames is-live=true do-timestamp=true format=time max-buffers=2 leaky-type=downstream "
                           "! queue max-size-buffers=2 leaky=downstream ! videoconvert ! %s name=pay0 pt=%d )" % (
                               self.line % {"kbit": self.wanted.get("kbit", 2000)}, 26 if "jpeg" in self.line else 96))
        factory.set_shared(True)
        factory.connect("media-configure", self.on_media)
        if "password" in self.wanted:
            self.protect(server, factory)
        server.get_mount_points().add_factory(self.path, factory)
        server.get_session_pool().set_max_sessions(MOST_CLIENTS)
        server.connect("client-connected", self.on_client)
        if not server.attach(None):
            raise OSError("the address is in use, or not this machine's")
        GLib.timeout_add_seconds(5, self.clean, server)
        self.server = server
        self.say("rtsp://%s:%d%s, by %s" % ("[%s]" % self.address if ":" in self.address else self.address,
                                            server.get_bound_port(), self.path, self.encoder))
        if "password" not in self.wanted and self.address not in (LOCAL, "localhost", "::1"):
            self.say("whoever reaches %s may watch: there is no password" % self.address)

    def protect(self, server, factory):
        """Lets in whoever knows the password; it is not sent (digest)."""
        user = self.wanted.get("user", "viewer")
        auth = self.rtsp.RTSPAuth()
        auth.set_supported_methods(self.auth_methods.RTSPAuthMethod.DIGEST)
        token = self.rtsp.RTSPToken()
        token.set_string("media.factory.role", user)
        auth.add_digest(user, self.wanted["password"], token)
        permissions = self.rtsp.RTSPPermissions()
        permissions.add_permission_for_role(user, "media.factory.access", True)
        permissions.add_permission_for_role(user, "media.factory.construct", True)
        factory.set_permissions(permissions)
        server.set_auth(auth)

    @staticmethod
    def clean(server):
        server.get_session_pool().cleanup()
        return GLib.SOURCE_CONTINUE

    def on_client(self, _server, client):
        """Any thread."""
        with self.lock:
            self.clients += 1
            too_many = self.clients > MOST_CLIENTS
        client.connect("closed", self.on_closed)
        client.connect("play-request", self.on_play)
        if too_many:
            GLib.idle_add(client.close)

    def on_closed(self, _client):
        with self.lock:
            self.clients -= 1

    def on_play(self, _client, _context):
        """One more client plays, which can begin with a key frame only. Any thread."""
        with self.lock:
            payloader = self.payloader
        if payloader:
            fields = Gst.Structure.new_from_string("GstForceKeyUnit, all-headers=(boolean)true, count=(uint)0")
            payloader.get_static_pad("sink").push_event(Gst.Event.new_custom(Gst.EventType.CUSTOM_UPSTREAM, fields))

    def on_media(self, _factory, media):
        """A first client has come. Any thread."""
        media.connect("unprepared", self.on_end)
        source = media.get_element().get_by_name("frames")
        with self.lock:
            self.source = source
            self.payloader = media.get_element().get_by_name("pay0")
        self.caps = None
        self.say("the first client has come: %s encodes" % self.encoder)
        self.valve.set_property("drop", False)

    def on_end(self, media):
        with self.lock:
            if self.source is media.get_element().get_by_name("frames"):
                self.source = self.payloader = None
                self.valve.set_property("drop", True)
