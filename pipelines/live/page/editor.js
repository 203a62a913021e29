// SPDX-License-Identifier: Apache-2.0
// Draws, moves and names areas, lines, masks and ground points on the picture. dvzones itself checks them: the server asks it after
// each change. What the page does not know of the file stays as it is.
import * as draw from "./draw.js";
import {add, button, setText} from "./elements.js";
import {Refusal} from "./server.js";
import {ShapeFields, allOf, centre, distanceTo, hasInside, pointsOf, setPoints} from "./shapes.js";
import {text} from "./values.js";

const REACH = 22;          // pixels of the screen within which a finger means a point
const SLIGHT = 4;          // pixels: less is no move
const WAIT = 200;          // milliseconds after a change until it is checked
const MOST_UNDO = 50;
const LEAST = {areas: 3, lines: 2, masks: 3, ground: 4};
const NAMES = {areas: "area", lines: "line", masks: "mask"};

export class Editor {
  constructor(stream, server) {
    this.stream = stream;
    this.server = server;
    this.panel = add(stream.tools, "div", "editor");
    this.panel.hidden = true;
    this.fault = add(stream.view, "p", "fault at");  // beside the shape that is wrong
    this.fault.hidden = true;
    this.bar = add(this.panel, "div", "bar");
    this.hint = add(this.panel, "p", "note");
    this.fields = new ShapeFields(add(this.panel, "div", "fields"), this);
    for (const [kind, name] of [["areas", "Area"], ["lines", "Line"], ["masks", "Mask"], ["ground", "Ground"]]) {
      button(this.bar, `+ ${name}`, () => this.beginDrawing(kind)).dataset.tool = kind;
    }
    this.done = button(this.bar, "Done", () => this.finish());
    this.undoButton = button(this.bar, "Undo", () => this.undo(), "quiet");
    this.saveButton = button(this.bar, "Save", () => this.save(), "main");
    button(this.bar, "Cancel", () => this.stop(), "quiet");
    for (const [name, act] of [["pointerdown", this.down], ["pointermove", this.move], ["pointerup", this.up],
                               ["pointercancel", this.up]]) {
      stream.canvas.addEventListener(name, (event) => { if (stream.editing) act.call(this, event); });
    }
    document.addEventListener("keydown", (event) => this.key(event));
  }

  showButton(bar) {
    this.home = bar;
    bar.hidden = !!this.stream.editing;
    if (this.stream.editing) this.changed();
    button(bar, "Edit areas and lines", () => this.start());
  }

  // --- beginning and end -----------------------------------------------------------------------

  async start() {
    const told = await this.server.get("zones").catch((error) => ({why_not: error.message}));
    this.panel.hidden = false;
    this.home.hidden = true;
    this.zones = told.zones || {};
    this.version = told.version;
    this.hasMasks = told.has_masks;
    this.whyNot = told.why_not;
    this.past = [];
    this.selected = this.drawing = null;
    this.stream.editing = this;
    this.stream.view.classList.add("editing");
    this.changed(false);
  }

  stop() {
    this.panel.hidden = true;
    if (this.home) this.home.hidden = false;
    clearTimeout(this.timer);
    this.fault.hidden = true;
    this.stream.editing = this.drawing = null;
    this.stream.view.classList.remove("editing");
  }

  async save() {
    this.finish();
    try {
      const told = await this.server.send("zones", {zones: this.zones, version: this.version});
      this.stream.setZones(told.zones);
      this.stop();
    } catch (error) {
      this.show(error);
    }
  }

  // --- changes ---------------------------------------------------------------------------------

  // To be called before a change: it can be undone.
  remember() {
    this.past.push(JSON.stringify(this.zones));
    if (this.past.length > MOST_UNDO) this.past.shift();
  }

  undo() {
    if (this.drawing && this.drawing.points.length) {
      this.drawing.points.pop();
    } else if (this.past.length) {
      this.zones = JSON.parse(this.past.pop());
      this.selected = null;
    }
    this.changed();
  }

  changed(check = true) {
    const {drawing, selected} = this;
    for (const one of this.bar.querySelectorAll("[data-tool]")) one.classList.toggle("chosen", !!drawing && drawing.kind === one.dataset.tool);
    this.done.hidden = !drawing;
    this.done.disabled = drawing && drawing.points.length < LEAST[drawing.kind];
    this.undoButton.disabled = !this.past.length && !(drawing && drawing.points.length);
    this.saveButton.disabled = !!this.whyNot || !this.past.length;
    setText(this.hint, this.whyNot || (drawing ? this.advice(drawing) : selected ?
      "Drag its points; drag one between two points for a new one." : "Tap a shape to change it, or draw a new one."));
    this.fields.show(selected && { ...selected, shape: this.shapeOf(selected) });
    clearTimeout(this.timer);
    if (check && !drawing) this.timer = setTimeout(() => this.check(), WAIT);
  }

  advice({kind, points}) {
    const left = LEAST[kind] - points.length;
    const what = kind === "ground" ? "places whose distances you know" : kind === "lines" ? "the line's points" : "the corners";
    const masks = kind === "masks" && !this.hasMasks ? " No dvmotion of this camera reads masks from these zones." : "";
    return (left > 0 ? `Tap ${what}: ${left} more.` : `Tap ${what}, then Done.`) + masks;
  }

  async check() {
    const asked = JSON.stringify(this.zones);
    const told = await this.server.send("check", {zones: this.zones}).catch((error) => ({error: error.message}));
    // An answer about what has changed meanwhile, or is no longer edited, says nothing.
    if (this.stream.editing && asked === JSON.stringify(this.zones)) this.show(told.error ? new Refusal(told) : null);
  }

  // Shows what is wrong, at its shape if there is one.
  show(error) {
    this.wrong = error && {kind: error.place[0], index: error.place[1]};
    this.fault.hidden = !error;
    if (!error) return;
    this.saveButton.disabled = true;
    setText(this.fault, error.message);
    const shape = this.wrong.kind && this.shapeOf(this.wrong);
    // Below the shape, or above it where there is no room.
    const points = shape ? pointsOf(shape, this.stream.frame) : [];
    const [xs, ys] = [0, 1].map((axis) => points.map((point) => point[axis]));
    const left = points.length ? Math.max(0, Math.min(0.4, Math.min(...xs))) : 0;
    const below = points.length ? Math.max(...ys) : 0, above = points.length ? Math.min(...ys) : 0;
    const at = below < 0.7 ? {top: `${100 * below + 3}%`, bottom: ""} : {top: "", bottom: `${Math.min(80, 103 - 100 * above)}%`};
    Object.assign(this.fault.style, {left: `${100 * left}%`, ...at});
  }

  // --- shapes ----------------------------------------------------------------------------------

  shapeOf({kind, index}) {
    return kind === "ground" ? this.zones.ground : (this.zones[kind] || [])[index];
  }

  beginDrawing(kind) {
    this.selected = null;
    this.drawing = {kind, points: []};
    this.fault.hidden = true;
    this.changed();
  }

  finish() {
    const drawing = this.drawing;
    this.drawing = null;
    if (drawing && drawing.points.length >= LEAST[drawing.kind]) {
      this.remember();
      this.selected = this.insert(drawing);
    }
    if (drawing) this.changed();
  }

  insert({kind, points}) {
    if (kind === "ground") {
      this.zones.ground = points.length === 4 ? {points, rectangle: [1, 1]} : {points, metres: points.map(() => [0, 0])};
      return {kind, index: 0};
    }
    const shapes = this.zones[kind] = Array.isArray(this.zones[kind]) ? this.zones[kind] : [];
    let number = shapes.length + 1;
    while (shapes.some((one) => one && one.name === `${NAMES[kind]} ${number}`)) ++number;
    shapes.push({name: `${NAMES[kind]} ${number}`, points});
    return {kind, index: shapes.length - 1};
  }

  remove() {
    this.remember();
    const {kind, index} = this.selected;
    if (kind === "ground") delete this.zones.ground;
    else this.zones[kind].splice(index, 1);
    this.selected = null;
    this.changed();
  }

  removePoint() {
    const {kind, point} = this.selected, shape = this.shapeOf(this.selected);
    const points = pointsOf(shape, this.stream.frame);
    if (point === undefined || points.length <= LEAST[kind]) return;
    this.remember();
    points.splice(point, 1);
    if (Array.isArray(shape.metres)) shape.metres.splice(point, 1);
    setPoints(shape, points, this.stream.frame);
    delete this.selected.point;
    this.changed();
  }

  // --- pointers --------------------------------------------------------------------------------

  place(event) {
    const {left, top, width, height} = this.stream.canvas.getBoundingClientRect();
    const within = (value) => Math.max(0, Math.min(1, value));
    return [within((event.clientX - left) / width), within((event.clientY - top) / height)];
  }

  // How far two places are apart on the screen.
  far([x, y], [u, v]) {
    const {clientWidth, clientHeight} = this.stream.canvas;
    return Math.hypot((x - u) * clientWidth, (y - v) * clientHeight);
  }

  down(event) {
    event.preventDefault();
    this.stream.canvas.setPointerCapture(event.pointerId);
    const at = this.place(event);
    if (this.drawing) {
      const {kind, points} = this.drawing;
      if (points.length >= LEAST[kind] && draw.isClosed(kind) && this.far(points[0], at) < REACH) return this.finish();
      points.push(at);
      this.drag = {points, index: points.length - 1, from: at};
      return this.changed();
    }
    this.drag = this.grab(at);
    this.changed(false);
  }

  // Returns what a pointer at a place moves, and selects its shape.
  grab(at) {
    const {frame} = this.stream;
    if (this.selected && this.shapeOf(this.selected)) {
      const {kind} = this.selected, points = pointsOf(this.shapeOf(this.selected), frame);
      const near = points.map((point, index) => ({index, far: this.far(point, at)})).sort((a, b) => a.far - b.far)[0];
      if (near && near.far < REACH) {
        this.selected.point = near.index;
        return {points, index: near.index, from: at};
      }
      const next = (index) => points[(index + 1) % points.length];
      const edges = kind === "ground" ? [] : points.slice(0, draw.isClosed(kind) ? undefined : -1);
      const split = edges.findIndex((point, index) => this.far(centre([point, next(index)]), at) < REACH);
      if (split >= 0) {
        points.splice(split + 1, 0, at);
        this.selected.point = split + 1;
        return {points, index: split + 1, from: at, isNew: true};
      }
    }
    const reach = (one) => distanceTo(one, at, frame, (a, b) => this.far(a, b));
    const hit = allOf(this.zones).filter((one) => reach(one) < REACH || hasInside(one, at, frame))
        .sort((a, b) => reach(a) - reach(b))[0];
    this.selected = hit ? {kind: hit.kind, index: hit.index} : null;
    return hit ? {points: pointsOf(hit.shape, frame), from: at} : null;
  }

  move(event) {
    const drag = this.drag, at = this.place(event);
    if (!drag || (!drag.moved && !drag.isNew && this.far(drag.from, at) < SLIGHT)) return;
    if (!this.drawing && !drag.moved) this.remember();
    drag.moved = true;
    if (drag.index !== undefined) {
      drag.points[drag.index] = at;
    } else {
      // The whole shape, as far as it stays in the frame.
      const step = [0, 1].map((axis) => {
        const all = drag.points.map((point) => point[axis]);
        return Math.max(-Math.min(...all), Math.min(1 - Math.max(...all), at[axis] - drag.from[axis]));
      });
      drag.points = drag.points.map(([x, y]) => [x + step[0], y + step[1]]);
      drag.from = at;
    }
    if (!this.drawing) setPoints(this.shapeOf(this.selected), drag.points, this.stream.frame);
  }

  up() {
    const moved = this.drag && this.drag.moved;
    this.drag = null;
    if (moved) this.changed();
  }

  key(event) {
    if (!this.stream.editing || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    if (event.key === "Escape") this.drawing ? (this.drawing = null, this.changed()) : this.stop();
    if (event.key === "Enter" && this.drawing) this.finish();
    if ((event.key === "Delete" || event.key === "Backspace") && this.selected) this.remove();
  }

  // --- drawing ---------------------------------------------------------------------------------

  draw(on) {
    const {frame} = this.stream, same = (a, b) => a && a.kind === b.kind && (a.kind === "ground" || a.index === b.index);
    for (const one of allOf(this.zones)) {
      const shape = {unit: "fractions", points: pointsOf(one.shape, frame)};
      const isSelected = same(this.selected, one), isWrong = !this.fault.hidden && same(this.wrong, one);
      if (!shape.points.length) continue;
      draw.shape(on, one.kind, shape, frame, one.kind === "ground" ? "ground" : text(one.shape.name),
                 isWrong ? "#ff5252" : isSelected ? "#4fc3f7" : "");
      if (isSelected) this.drawHandles(on, one.kind, shape.points);
    }
    if (this.drawing && this.drawing.points.length) {
      const {kind, points} = this.drawing;
      draw.shape(on, points.length > 2 ? kind : "lines", {points}, frame, "", "#4fc3f7");
      this.drawHandles(on, kind === "ground" ? kind : "drawing", points);
    }
  }

  drawHandles({context, width, height, scale}, kind, points) {
    const circle = ([x, y], radius, fill) => {
      context.beginPath();
      context.arc(x * width, y * height, radius * scale, 0, 2 * Math.PI);
      context.fillStyle = fill;
      context.fill();
    };
    if (kind === "areas" || kind === "masks" || kind === "lines") {
      points.forEach((point, i) => {
        const next = points[i + 1] || (kind !== "lines" && points[0]);
        if (next) circle(centre([point, next]), 4, "#4fc3f799");
      });
    }
    points.forEach((point, i) => circle(point, 8, this.selected && this.selected.point === i ? "#fff" : "#4fc3f7"));
    if (kind !== "ground") return;
    context.fillStyle = "#000";  // metres belong to points by their numbers
    context.textAlign = "center";
    points.forEach(([x, y], i) => context.fillText(i + 1, x * width, y * height + 5 * scale));
    context.textAlign = "left";
  }
}
