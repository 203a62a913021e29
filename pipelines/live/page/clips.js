// SPDX-License-Identifier: Apache-2.0
// The camera's clips: a list, newest first, and a player that draws a clip's documents over it.
import * as draw from "./draw.js";
import * as values from "./values.js";
import {add, button, setText} from "./elements.js";

const HELD = 0.5;          // seconds for which what was found last is shown
const MOST_LINES = 50000;
const SOON = 1000;         // milliseconds

// "door-20261128T135737.123Z.mkv": when it began.
const timeOf = (name) => {
  const parts = /-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)\.\d{3}Z/.exec(name);
  return parts ? new Date(Date.UTC(parts[1], parts[2] - 1, ...parts.slice(3, 7))).toLocaleString() : name;
};

export class Clips {
  constructor(parent, server) {
    this.server = server;
    this.section = add(parent, "section", "clips");
    this.section.hidden = true;
    add(this.section, "h2", "", "Clips");
    this.player = new Player(this.section);
    this.none = add(this.section, "p", "note");
    this.list = add(this.section, "ul");
    this.more = button(this.section, "Older", () => this.load(this.last), "quiet");
  }

  reloadSoon() {
    if (!this.timer) this.timer = setTimeout(() => { this.timer = 0; this.load(); }, SOON);
  }

  async load(before = "") {
    const clips = await this.server.get(`clips?before=${encodeURIComponent(before)}`).catch(() => null);
    if (!Array.isArray(clips)) return;
    this.section.hidden = false;
    if (!before) this.list.replaceChildren();
    for (const clip of clips) this.show(clip);
    this.last = clips.length ? clips[clips.length - 1].name : this.last;
    this.more.hidden = clips.length < 50;
    setText(this.none, this.list.children.length ? "" : "There is no clip yet.");
  }

  show({name, bytes, part, picture}) {
    const one = button(add(this.list, "li"), "", () => this.player.play(name));
    if (picture) {
      const image = add(one, "img");
      Object.assign(image, {src: `clip-picture/${encodeURIComponent(name)}`, alt: "", loading: "lazy"});
    }
    add(one, "span", "", timeOf(name));
    add(one, "small", "", part ? "being written" : bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);
  }
}

class Player {
  constructor(parent) {
    this.figure = add(parent, "figure", "player");
    this.figure.hidden = true;
    this.view = add(this.figure, "div", "view");
    this.video = add(this.view, "video");
    Object.assign(this.video, {controls: true, playsInline: true, muted: true, preload: "auto"});
    this.canvas = add(this.view, "canvas");
    this.fault = add(this.figure, "p", "fault");
    this.events = add(this.figure, "ol", "events");
    button(this.figure, "Close", () => this.close(), "quiet");
    this.video.addEventListener("error", () => setText(this.fault,
        "This browser cannot play the clip. It plays VP8, VP9 and AV1; for H.264 let dvrecord write container=mp4."));
    this.video.addEventListener("loadedmetadata", () => {
      const {videoWidth, videoHeight} = this.video;
      if (videoWidth && videoHeight) this.view.style.aspectRatio = `${videoWidth} / ${videoHeight}`;
    });
    this.frames = [];
  }

  async play(name) {
    const path = encodeURIComponent(name);
    this.name = name;
    this.frames = [];
    this.events.replaceChildren();
    setText(this.fault, "");
    this.figure.hidden = false;
    this.video.src = `clip/${path}`;
    this.video.play().catch(() => {});  // its own controls are there
    this.figure.scrollIntoView({block: "nearest"});
    const answer = await fetch(`clip-documents/${path}`).catch(() => null);
    const lines = answer && answer.ok ? await answer.text() : "";
    if (this.name !== name) return;
    for (const line of lines.split("\n").slice(0, MOST_LINES)) this.take(line);
    this.frames.sort((a, b) => a.at - b.at);
    const step = () => {
      if (this.figure.hidden || this.name !== name) return;
      this.draw();
      requestAnimationFrame(step);
    };
    step();
  }

  take(line) {
    let told;
    try { told = values.object(JSON.parse(line)); } catch { return; }
    const at = values.number(told.at) / 1e9, document = values.object(told.document);
    if (document.type === "frame") {
      const frame = values.size(document.frame);
      const objects = values.list(document.objects, values.MOST_OBJECTS).map(values.found);
      if (frame) this.frames.push({at, frame, objects});
    }
    if (document.type === "event" && this.events.children.length < values.MOST_STEPS) {
      button(add(this.events, "li"), values.event(document), () => { this.video.currentTime = at; }, "quiet");
    }
  }

  draw() {
    const on = draw.begin(this.canvas), now = this.video.currentTime;
    let low = 0, high = this.frames.length;  // the last one that is not later
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.frames[middle].at <= now) low = middle + 1;
      else high = middle;
    }
    const last = this.frames[low - 1];
    if (last && now - last.at <= HELD) draw.objects(on, last.objects, last.frame);
  }

  close() {
    this.figure.hidden = true;
    this.name = "";
    this.video.removeAttribute("src");
    this.video.load();
  }
}
