// SPDX-License-Identifier: Apache-2.0
// A stream's figure: its picture, what documents say of it, and its counts.
import * as values from "./values.js";
import * as draw from "./draw.js";
import {Chart} from "./chart.js";
import {add, setText} from "./elements.js";
import {GroundMap} from "./map.js";
import {Picture} from "./picture.js";

const TRAIL = 3000, HELD = 1000, QUIET = 3000;  // milliseconds
const MOST_TRACKS = 500, MOST_EVENTS = 20, MOST_CELLS = 65536;
const NONE = new Map();

export class Stream {
  constructor(parent, {name, zones, webrtc}, many) {
    this.name = name;
    this.setZones(zones);
    this.frame = {width: 16, height: 9};
    this.objects = [];
    this.counts = new Map();    // words by kind and name of a shape
    this.heat = new Map();      // seconds by "column row"
    this.seen = -Infinity;      // when the last document came
    this.times = [];            // of the last frames' documents, for their rate
    this.trails = new Map();    // track: [{time, x, y}]
    this.editing = null;        // what draws the shapes instead, while they are edited
    this.onClip = () => {};
    this.figure = add(parent, "figure");
    this.figure.dataset.stream = name;
    const caption = add(this.figure, "figcaption");
    add(caption, "b", "", name);
    this.how = add(caption, "small", "how");
    this.state = add(caption, "span");
    this.view = add(this.figure, "div", "view");
    this.picture = new Picture(this.view, name, webrtc, many);
    this.canvas = add(this.view, "canvas");
    this.tools = add(this.figure, "div", "tools");
    const chart = add(this.figure, "canvas", "chart");
    this.chart = new Chart(chart, add(this.figure, "ul", "legend"));
    this.map = new GroundMap(this.figure);
    this.events = add(this.figure, "ol", "events");
  }

  setZones(zones) {
    this.zones = values.zones(zones);
  }

  take(told, now) {
    if (told.type === "event") this.takeEvent(told);
    if (told.type === "heat") this.takeHeat(told);
    if (told.type === "clip") this.onClip();
    if (told.type !== "frame") return;
    this.frame = values.size(told.frame) || this.frame;
    this.seen = now;
    // Who begins anew numbers tracks anew.
    if (told.session !== this.session) this.trails.clear();
    this.session = told.session;
    this.times.push(now);
    if (this.times.length > 60) this.times.shift();
    // Frames that no network has looked at show what was found last.
    const passes = values.list(told.passes, values.MOST_OBJECTS);
    const objects = values.list(told.objects, values.MOST_OBJECTS).map(values.found);
    if (objects.length || !passes.length || passes.some((pass) => pass.state !== "skipped")) {
      this.objects = objects;
      this.found = now;
    }
    for (const {track_id, box} of objects) if (track_id && box) this.follow(track_id, box, now);
    this.counts = values.counts(told.counts);
    this.count(told, objects, now);
  }

  takeEvent(told) {
    this.events.prepend(Object.assign(document.createElement("li"), {textContent: values.event(told)}));
    while (this.events.children.length > MOST_EVENTS) this.events.lastChild.remove();
  }

  // Documents tell what has come together since the last one.
  takeHeat(told) {
    const {unit, cell, cells} = values.heat(told.heat);
    if (cell !== this.cell || unit !== this.unit) this.heat.clear();
    Object.assign(this, {unit, cell});
    for (const [column, row, seconds] of cells) {
      const place = `${column} ${row}`;
      if (!this.heat.has(place) && this.heat.size >= MOST_CELLS) continue;
      this.heat.set(place, (this.heat.get(place) || 0) + seconds);
    }
    this.map.take(unit === "metres" ? this.heat : NONE, cell);
  }

  follow(track, box, now) {
    const trail = this.trails.get(track) || [];
    if (!trail.length && this.trails.size >= MOST_TRACKS) return;
    trail.push({time: now, x: (box[0] + box[2]) / 2, y: box[3]});
    if (trail.length > values.MOST_STEPS) trail.shift();
    this.trails.set(track, trail);
  }

  count(told, objects, now) {
    const said = new Map();
    for (const {kind, label} of objects) if (kind === "detection") said.set(label, (said.get(label) || 0) + 1);
    const counts = values.object(told.counts);
    for (const area of values.list(counts.areas, values.MOST_OBJECTS)) {
      said.set(`in ${values.text(area.name)}`, values.number(area.inside));
    }
    for (const line of values.list(counts.lines, values.MOST_OBJECTS)) {
      said.set(`${values.text(line.name)} +`, values.number(line.forward));
      said.set(`${values.text(line.name)} -`, values.number(line.backward));
    }
    this.chart.take(said, now);
  }

  draw(now) {
    const quiet = now - this.seen > QUIET;
    this.state.className = quiet ? "quiet" : "";
    const rate = this.times.length > 1 ? 1000 * (this.times.length - 1) / (now - this.times[0]) : 0;
    setText(this.state, quiet ? "no documents" : `${this.objects.length} objects, ${rate.toFixed(0)} frames/s`);
    setText(this.how, this.picture.how);
    const shape = `${this.frame.width} / ${this.frame.height}`;
    if (this.shape !== shape) {
      this.view.style.aspectRatio = this.shape = shape;
      // So that there is room for the chart.
      this.figure.style.maxWidth = `calc(68vh * ${shape})`;
    }
    const on = draw.begin(this.canvas);
    if (this.unit === "pixels") draw.heat(on, this.heat, this.cell, this.frame);
    if (this.editing) this.editing.draw(on);
    else draw.zones(on, this.zones, this.frame, this.counts);
    for (const [track, trail] of this.trails) {
      while (trail.length && now - trail[0].time > TRAIL) trail.shift();
      if (trail.length) draw.trail(on, trail, this.frame, draw.colour(track));
      else this.trails.delete(track);
    }
    if (now - this.found <= HELD) draw.objects(on, this.objects, this.frame);
    this.map.draw(this.zones.site, now - this.found <= HELD ? this.objects : []);
    this.chart.draw(now);
  }
}
