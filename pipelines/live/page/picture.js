// SPDX-License-Identifier: Apache-2.0
// The picture of a stream: by WebRTC (WHEP) if the server and the browser have it, else as JPEGs.
import {add} from "./elements.js";

const BEGIN = 8000, AGAIN = 30000;  // milliseconds for the first frame of WebRTC; until it is tried anew

export class Picture {
  constructor(parent, name, webrtc, many) {
    this.path = encodeURIComponent(name);
    this.many = many;
    this.webrtc = webrtc && !many && !!window.RTCPeerConnection;
    this.how = "";  // what is shown, in words
    if (this.webrtc) {
      // Under the image: browsers do not play what is not displayed.
      this.video = add(parent, "video", "live");
      Object.assign(this.video, {muted: true, autoplay: true, playsInline: true});
    }
    this.image = add(parent, "img");
    this.image.alt = "";
    this.image.onerror = () => this.playSoon(1000);
    if (many) this.image.onload = () => this.playSoon(100);
    this.showPictures();
    if (!this.webrtc) return;
    window.addEventListener("pagehide", () => this.hangUp());
    // A page that comes back from the browser's memory.
    window.addEventListener("pageshow", ({persisted}) => { if (persisted) this.call(); });
    this.call();
  }

  // --- JPEGs, also until there is more

  showPictures() {
    if (this.how === "JPEG") return;
    this.how = "JPEG";
    this.image.hidden = false;
    this.play();
  }

  play() {
    this.image.src = `${this.many ? "picture" : "live"}/${this.path}?${Date.now()}`;
  }

  playSoon(wait) {
    setTimeout(() => { if (this.how === "JPEG") this.play(); }, wait);
  }

  // --- WebRTC

  async call() {
    const peer = this.peer = new RTCPeerConnection();
    const fail = () => this.fail(peer);
    peer.addTransceiver("video", {direction: "recvonly"});
    peer.ontrack = ({track}) => { this.video.srcObject = new MediaStream([track]); };
    peer.onconnectionstatechange = () => { if (["failed", "disconnected", "closed"].includes(peer.connectionState)) fail(); };
    this.video.ontimeupdate = () => { if (this.video.videoWidth && this.how !== "WebRTC") this.showVideo(peer); };
    setTimeout(() => { if (peer === this.peer && this.how !== "WebRTC") fail(); }, BEGIN);
    try {
      await peer.setLocalDescription();
      const answer = await fetch(`whep/${this.path}`,
                                 {method: "POST", headers: {"Content-Type": "application/sdp"}, body: peer.localDescription.sdp});
      if (!answer.ok) return fail();
      const session = answer.headers.get("Location"), sdp = await answer.text();
      if (peer !== this.peer) return this.end(session);  // too late
      this.session = session;
      await peer.setRemoteDescription({type: "answer", sdp});
    } catch {
      fail();
    }
  }

  showVideo(peer) {
    if (peer !== this.peer) return;
    this.how = "WebRTC";
    this.image.hidden = true;
    this.image.removeAttribute("src");  // the server makes no JPEGs then
  }

  fail(peer) {
    if (peer !== this.peer) return;
    this.hangUp();
    this.showPictures();
    setTimeout(() => { if (!this.peer) this.call(); }, AGAIN);
  }

  hangUp() {
    const {peer, session} = this;
    this.peer = this.session = null;
    if (peer) peer.close();
    this.video.srcObject = null;
    this.end(session);
  }

  end(session) {
    if (session) fetch(session, {method: "DELETE", keepalive: true}).catch(() => {});
  }
}
