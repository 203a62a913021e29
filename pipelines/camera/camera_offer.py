# SPDX-License-Identifier: Apache-2.0
"""Reads the offer of one who wants to look by WebRTC (SDP, RFC 8866 and 8829), and writes it anew with what the camera needs of
it. This file belongs beside dvcamera; it needs no GStreamer."""
import re

from camera_edit import Refused

MOST_OFFER = 1 << 16     # bytes
MOST_SECTIONS = 8
SECTION = re.compile(r"m=(audio|video|application|text) [0-9]{1,5} ([A-Z/]{3,30}) ([A-Za-z0-9-]{1,30}(?: [0-9]{1,3}){0,126})", re.ASCII)
PROTOCOL = "UDP/TLS/RTP/SAVPF"
FIELDS = {  # of the video's section, or of the session
    "ice-ufrag": re.compile(r"[A-Za-z0-9+/]{4,256}", re.ASCII),
    "ice-pwd": re.compile(r"[A-Za-z0-9+/]{22,256}", re.ASCII),
    "fingerprint": re.compile(r"sha-256 (?:[0-9A-F]{2}:){31}[0-9A-F]{2}", re.ASCII | re.IGNORECASE),
    "setup": re.compile(r"actpass|active", re.ASCII),
}
MID = re.compile(r"[A-Za-z0-9._-]{1,32}", re.ASCII)
VP8 = re.compile(r"([0-9]{1,3}) VP8/90000", re.ASCII | re.IGNORECASE)


def refused(why):
    return Refused("The offer %s." % why, status=400)


class Section:
    def __init__(self, kind, protocol, formats):
        self.kind = kind
        self.protocol = protocol
        self.formats = formats.split(" ")
        self.values = {}  # of attributes, by name

    def first(self, name):
        return self.values.get(name, [""])[0]

    def has(self, name):
        return name in self.values


class Offer:
    """One section of video in VP8 that wants to receive. Others are answered as refused."""

    def __init__(self, text):
        """Raises Refused, with a sentence."""
        session, self.sections = self.parsed(text)
        self.video = next((one for one in self.sections if one.kind == "video" and not (one.has("sendonly") or one.has("inactive"))), None)
        if not self.video or self.video.protocol != PROTOCOL:
            raise refused("has no video section of %s that receives" % PROTOCOL)
        self.fields = {}
        for name, form in FIELDS.items():
            value = self.video.first(name) or session.first(name)
            if not form.fullmatch(value):
                raise refused("has no a=%s that can be used" % name)
            self.fields[name] = value
        for section in self.sections:
            if not MID.fullmatch(section.first("mid")):
                raise refused("has a section without a=mid")
        maps = [VP8.fullmatch(value) for value in self.video.values.get("rtpmap", ())]
        payloads = [found[1] for found in maps if found and found[1] in self.video.formats and int(found[1]) < 128]
        if not payloads:
            raise refused("has no VP8")
        self.payload = int(payloads[0])

    @staticmethod
    def parsed(text):
        lines = text.replace("\r\n", "\n").split("\n")
        if lines[0] != "v=0":
            raise refused("does not begin with v=0")
        session, sections = Section("session", "", ""), []
        for line in lines:
            if line.startswith("m="):
                found = SECTION.fullmatch(line)
                if not found or len(sections) == MOST_SECTIONS:
                    raise refused("has a section of an unknown form, or more than %d" % MOST_SECTIONS)
                sections.append(Section(*found.groups()))
            elif line.startswith("a="):
                name, _, value = line[2:].partition(":")
                (sections[-1] if sections else session).values.setdefault(name, []).append(value)
        return session, sections

    def text(self):
        """Returns the offer with the video alone, and without addresses."""
        mid = self.video.first("mid")
        lines = ["v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE " + mid,
                 "m=video 9 %s %d" % (PROTOCOL, self.payload), "c=IN IP4 0.0.0.0", "a=mid:" + mid, "a=recvonly", "a=rtcp-mux",
                 *("a=%s:%s" % field for field in self.fields.items()), "a=rtpmap:%d VP8/90000" % self.payload,
                 *("a=rtcp-fb:%d %s" % (self.payload, kind) for kind in ("nack pli", "ccm fir"))]
        return "\r\n".join(lines) + "\r\n"

    def complete(self, answer):
        """Returns the answer to text() with the sections that it lacks, refused, as an answer has those of the offer."""
        session, mark, video = answer.partition("m=video")
        others = {section: "m=%s 0 %s %s\r\nc=IN IP4 0.0.0.0\r\na=inactive\r\na=mid:%s\r\n" % (
            section.kind, section.protocol, section.formats[0], section.first("mid")) for section in self.sections}
        return session + "".join(mark + video if one is self.video else others[one] for one in self.sections)
