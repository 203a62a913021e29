#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The page's picture by WebRTC: in Chromium, and what requests are refused.

    test_camera_webrtc.py DVCAMERA [FOLDER_FOR_SCREENSHOTS]

Parts skip, saying so, without Chromium, and without webrtcbin and libnice (gstreamer1.0-plugins-bad, gstreamer1.0-nice)."""
import gc
import os
import random
import re
import sys
import time
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import chromium  # noqa: E402
from checks import run_checks  # noqa: E402
from page_camera import DVCAMERA, SEED, Camera, walking_camera  # noqa: E402

Gst = walking_camera.Gst

sys.path += [os.path.dirname(DVCAMERA), os.path.join(os.path.dirname(DVCAMERA), os.pardir),
             os.path.join(os.path.dirname(DVCAMERA), os.pardir, "live")]
import camera_edit  # noqa: E402
import camera_offer  # noqa: E402
import camera_page  # noqa: E402
import camera_webrtc  # noqa: E402

COLOUR = (0x40, 0x50, 0x60)  # of walking_camera's frames
HOW = "document.querySelector('figcaption .how').textContent"
VIDEO = "document.querySelector('video.live')"
# A browser's offer (Chromium's, shortened): sound, which is refused, and video.
OFFER = "\r\n".join((
    "v=0", "o=- 4611731400430051336 2 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0 1", "a=extmap-allow-mixed",
    "a=fingerprint:sha-256 " + ":".join(["3F"] * 32), "m=audio 9 UDP/TLS/RTP/SAVPF 111 0", "c=IN IP4 0.0.0.0",
    "a=ice-ufrag:dKx9", "a=ice-pwd:0123456789abcdefghij+/AB", "a=setup:actpass", "a=mid:0", "a=recvonly", "a=rtpmap:111 opus/48000/2",
    "m=video 9 UDP/TLS/RTP/SAVPF 96 97 98", "c=IN IP4 0.0.0.0", "a=rtcp:9 IN IP4 0.0.0.0",
    "a=candidate:1 1 udp 2113937151 192.0.2.7 60000 typ host", "a=ice-ufrag:dKx9", "a=ice-pwd:0123456789abcdefghij+/AB",
    "a=ice-options:trickle", "a=setup:actpass", "a=mid:1", "a=recvonly", "a=rtcp-mux", "a=rtcp-rsize", "a=rtpmap:98 VP9/90000",
    "a=rtpmap:97 rtx/90000", "a=fmtp:97 apt=96", "a=rtpmap:96 VP8/90000", "a=rtcp-fb:96 nack pli", ""))
CANONICAL = re.compile(
    r"v=0\r\no=- 1 1 IN IP4 127\.0\.0\.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE ([\w.-]+)\r\nm=video 9 UDP/TLS/RTP/SAVPF ([0-9]+)\r\n"
    r"c=IN IP4 0\.0\.0\.0\r\na=mid:\1\r\na=recvonly\r\na=rtcp-mux\r\na=ice-ufrag:[\w+/]+\r\na=ice-pwd:[\w+/]+\r\n"
    r"a=fingerprint:sha-256 [0-9a-fA-F:]{95}\r\na=setup:(actpass|active)\r\na=rtpmap:\2 VP8/90000\r\na=rtcp-fb:\2 nack pli\r\n"
    r"a=rtcp-fb:\2 ccm fir\r\n", re.ASCII)


def refusal_of(act, *arguments):
    try:
        act(*arguments)
    except camera_edit.Refused as refused:
        return refused
    return None


class without:
    """A camera as if elements were not installed."""

    def __init__(self, *names):
        self.names = names

    def __enter__(self):
        os.environ["WITHOUT_ELEMENTS"] = " ".join(self.names)

    def __exit__(self, *_):
        del os.environ["WITHOUT_ELEMENTS"]


def has_webrtc():
    return refusal_of(camera_webrtc.library) is None


# --- offers ------------------------------------------------------------------------------------

def check_that_an_offer_reaches_webrtcbin_only_in_words_of_our_own(_folder):
    offer = camera_offer.Offer(OFFER)
    assert offer.payload == 96 and CANONICAL.fullmatch(offer.text()), offer.text()
    answer = offer.complete("v=0\r\na=group:BUNDLE 1\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:1\r\n")
    assert re.findall("m=.*?(?=\r)", answer) == ["m=audio 0 UDP/TLS/RTP/SAVPF 111", "m=video 9 UDP/TLS/RTP/SAVPF 96"], answer
    for text, sentence in (
            ("", "does not begin"), ("rubbish", "does not begin"), ("v=0\r\n", "no video section"), (OFFER.replace("recvonly", "sendonly"), "no video"),
            (OFFER.replace("VP8", "H264"), "no VP8"), (OFFER.replace("ufrag:dKx9", "ufrag:d x9"), "a=ice-ufrag"),
            (OFFER.replace("3F:3F", "3F:3"), "a=fingerprint"), (OFFER.replace("a=mid:0", "a=mid:"), "without a=mid"),
            (OFFER.replace("UDP/TLS/RTP/SAVPF", "RTP/AVP"), "no video section"), (OFFER + "m=video 9 UDP/TLS/RTP/SAVPF 96\r\n" * 7, "more than 8"),
            (OFFER.replace("96 VP8", "200 VP8").replace("SAVPF 96", "SAVPF 200"), "no VP8"), (OFFER.replace("actpass", "holdconn"), "a=setup")):
        refused = refusal_of(camera_offer.Offer, text)
        assert refused and refused.status == 400 and sentence in str(refused), (sentence, refused)
    chance = random.Random(SEED)
    taken = 0
    for _ in range(5000):
        text = list(OFFER)
        for _ in range(chance.choice((1, 1, 2, 5))):
            at = chance.randrange(len(text))
            text[at:at + chance.choice((0, 1, 1, 30))] = chance.choice(("", "\r\n", "\n", "\r", " ", "\0", "m=video", "a=", chr(chance.randrange(1200))))
        try:
            offer = camera_offer.Offer("".join(text))
        except camera_edit.Refused:
            continue
        taken += 1
        assert CANONICAL.fullmatch(offer.text()), ("".join(text), offer.text())
        assert re.fullmatch(r"(m=(audio|video|application|text) [09] [A-Z/]+ [\w-]+\r\n(c=IN IP4 0\.0\.0\.0\r\na=inactive\r\na=mid:[\w.-]+\r\n)?)+",
                            offer.complete("m=video 9 UDP 96\r\n"), re.ASCII), offer.complete("m=video 9 UDP 96\r\n")
    assert 250 < taken < 4750, taken


# --- requests ----------------------------------------------------------------------------------

def post(camera, offer=OFFER, path="/whep/door", **headers):
    return camera.open(path, offer.encode(), **dict({"Content_Type": "application/sdp"}, **headers))


def check_that_a_camera_without_webrtcbin_says_what_to_install(folder):
    with without("webrtcbin"):
        camera = Camera(folder)
    try:
        assert camera.ask("/streams")[1][0]["webrtc"] is False
        status, told = post(camera)
        assert status == 501 and b"(webrtcbin" in told and b"apt install gstreamer1.0-plugins-bad gstreamer1.0-nice" in told, told
    finally:
        camera.close()


def check_that_webrtc_requests_are_refused_in_a_sentence_or_answered(folder):
    camera = Camera(folder, password=None)
    try:
        for status, arguments in (
                (415, {"Content_Type": "application/json"}), (415, {"Content_Type": None}), (421, {"Host": "evil.example"}),
                (403, {"Origin": "http://evil.example"}), (403, {"Origin": "null"}), (400, {"offer": "rubbish"}), (400, {"offer": ""}),
                (400, {"offer": OFFER.replace("VP8", "AV1")}), (413, {"offer": " " * ((1 << 16) + 1)}), (404, {"path": "/whep/window"}),
                (404, {"path": "/whep/"}), (404, {"path": "/whep/door/x"})):
            answer = post(camera, **arguments)
            assert answer[0] == status and b'"error": "' in answer[1], (arguments, answer)
        # Players that are no browsers send no Origin.
        status, answer = post(camera, Origin=None)
        place, answer = camera.headers["Location"], answer.decode()
        assert status == 201 and camera.headers["Content-Type"] == "application/sdp" and re.fullmatch("/whep/door/[A-Za-z0-9_-]{24}", place)
        # Where to reach the camera: the address of the request, by UDP alone.
        candidates = re.findall("a=candidate:(.*)\r", answer)
        assert candidates and all(re.search(r" UDP \d+ 127\.0\.0\.1 ", one) for one in candidates), answer
        assert [line for line in answer.split("\r\n") if line.startswith("m=audio 0 ")] and "a=sendonly" in answer and "VP8/90000" in answer, answer
        assert camera.open(place, method="PATCH", body=b"x")[0] == 405 and camera.headers["Allow"] == "DELETE"
        assert camera.open(place, method="DELETE", Host="evil.example")[0] == 421
        assert camera.open(place, method="DELETE", Origin="http://evil.example")[0] == 403
        assert camera.open(place[:-1], method="DELETE")[0] == 404
        assert camera.open(place, method="DELETE")[0] == 200 and camera.open(place, method="DELETE")[0] == 404
        # So many and no more, until one goes.
        answers = [(post(camera)[0], camera.headers["Location"]) for _ in range(camera_webrtc.MOST_VIEWERS + 1)]
        assert [status for status, _ in answers] == [201] * camera_webrtc.MOST_VIEWERS + [503], answers
        assert camera.open(answers[0][1], method="DELETE")[0] == 200 and post(camera)[0] == 201
        assert camera.open("/zones", method="DELETE")[0] == camera.open("/zones", method="PATCH")[0] == 501
    finally:
        camera.close()


def check_that_a_webrtc_viewer_who_never_comes_or_falls_silent_counts_as_gone(_folder):
    viewers = camera_webrtc.Viewers(640, print)
    name, _ = viewers.add(OFFER, "127.0.0.1")
    viewer, now = viewers.viewers[name], time.monotonic()
    assert not viewers.connected() and not viewer.is_gone(now + camera_webrtc.SILENCE - 5)
    assert viewer.is_gone(now + camera_webrtc.SILENCE + 1)
    viewer.on_packet()
    viewer.heard += 100
    assert not viewer.is_gone(now + 100) and viewers.remove(name) and not viewers.remove(name) and not viewers.viewers
    viewers.stop()


def check_that_frames_are_taken_only_while_somebody_looks(_folder):
    watching, probes, put = [], [], []
    page = camera_page.Page.__new__(camera_page.Page)
    page.asked = page.busy = False
    page.encoder = Gst.parse_launch("fakesrc ! fakesink")
    page.pictures = camera_page.Pictures()
    page.viewers = types.SimpleNamespace(connected=lambda: watching, put=lambda *frame: put.append(frame))
    page.pad = types.SimpleNamespace(add_probe=lambda _kind, act: probes.append(act), get_current_caps=lambda: "caps")
    assert page.ask() and not probes
    watching.append("a viewer")
    assert page.ask() and page.ask() and len(probes) == 1  # one frame at a time
    probes[0](page.pad, types.SimpleNamespace(get_buffer=lambda: "frame"))
    assert put == [("caps", "frame")] and not page.busy  # no JPEG is made of it
    watching.clear()
    assert page.ask() and len(probes) == 1


def check_that_webrtc_viewers_leave_no_threads_and_no_sockets(_folder):
    def used():
        gc.collect()
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

    viewers = camera_webrtc.Viewers(640, print)
    counts = []
    for _ in range(10):
        assert viewers.remove(viewers.add(OFFER, "127.0.0.1")[0])
        counts.append(used())
    viewers.stop()
    assert all(last - first < 5 for first, last in zip(counts[1], counts[-1])), counts


# --- in Chromium -------------------------------------------------------------------------------

def save(browser, name):
    if len(sys.argv) > 2:
        with open(os.path.join(sys.argv[2], name + ".png"), "wb") as file:
            file.write(browser.picture())


def check_page_that_shows_the_picture_by_webrtc_in_chromium(folder):
    camera = Camera(folder)
    try:
        with chromium.opened(camera.url, VIDEO, (1200, 900)) as browser:
            browser.wait_for("%s === 'WebRTC' && %s.videoWidth === 640 && %s.videoHeight === 360" % (HOW, VIDEO, VIDEO))
            began, frames = browser.evaluate("[%s.currentTime, %s.getVideoPlaybackQuality().totalVideoFrames]" % (VIDEO, VIDEO))
            browser.wait_for("%s.currentTime > %f && %s.getVideoPlaybackQuality().totalVideoFrames > %d" % (VIDEO, began + 1, VIDEO, frames + 5))
            colour = browser.evaluate("(() => { const c = document.createElement('canvas'); [c.width, c.height] = [64, 36]; const d = c.getContext('2d');"
                                      " d.drawImage(%s, 0, 0, 64, 36); return [...d.getImageData(32, 18, 1, 1).data]; })()" % VIDEO)
            assert all(abs(a - b) < 8 for a, b in zip(colour, COLOUR)), colour
            # No JPEGs beside it.
            assert browser.evaluate("document.querySelector('.view img').hidden && !document.querySelector('.view img').src")
            save(browser, "webrtc")
            # Its browser ends at once: the camera is told, or finds out.
            browser.call("Page.navigate", url="about:blank")
            browser.complaints = []
        end, free = time.monotonic() + 60, 0
        while free < camera_webrtc.MOST_VIEWERS:
            assert time.monotonic() < end, free
            places = []
            while post(camera)[0] == 201:
                places.append(camera.headers["Location"])
            free = len(places)
            for place in places:
                assert camera.open(place, method="DELETE")[0] == 200
    finally:
        camera.close()


def looks_by_jpeg(browser):
    browser.wait_for("%s === 'JPEG' && document.querySelector('.view img').naturalWidth === 640" % HOW)
    assert browser.evaluate("!document.querySelector('.view img').hidden")


def check_page_that_falls_back_to_jpeg_in_chromium_where_the_camera_has_no_webrtcbin(folder):
    with without("webrtcbin"):
        camera = Camera(folder)
    try:
        with chromium.opened(camera.url, "document.querySelector('.view img')", (1200, 900)) as browser:
            looks_by_jpeg(browser)
            assert browser.evaluate("!%s" % VIDEO)
    finally:
        camera.close()


def check_page_that_falls_back_to_jpeg_in_chromium_where_webrtc_does_not_connect(folder):
    camera = Camera(folder)
    try:
        with chromium.opened("about:blank", "true", (1200, 900)) as browser:
            browser.call("Page.addScriptToEvaluateOnNewDocument", source="RTCPeerConnection.prototype.setRemoteDescription = () => Promise.reject();")
            browser.call("Page.navigate", url=camera.url)
            browser.wait_for("document.querySelector('.view img')")
            looks_by_jpeg(browser)
    finally:
        camera.close()


def missing(claim):
    if "in chromium" in claim and not chromium.find():
        return "Chromium"
    needs = "webrtc" in claim and "webrtcbin" not in claim
    return "webrtcbin with libnice and its bindings" if needs and not has_webrtc() else None


if __name__ == "__main__":
    print("seed %d" % SEED)
    run_checks(globals(), missing)
