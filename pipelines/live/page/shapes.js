// SPDX-License-Identifier: Apache-2.0
// Shapes of a zones' file: their geometry, in fractions of the frame whatever their unit is, and fields of the selected one.
import {add, button, field} from "./elements.js";
import {number, text} from "./values.js";

const isPair = (any) => Array.isArray(any) && any.length === 2 && any.every(Number.isFinite);

// Points that are pairs of numbers; none if the shape is none.
export function pointsOf(shape, {width, height}) {
  const points = shape && Array.isArray(shape.points) ? shape.points.filter(isPair) : [];
  return points.map(([x, y]) => shape.unit === "pixels" ? [x / width, y / height] : [x, y]);
}

// Keeps the unit; places are rounded to what can be pointed at.
export function setPoints(shape, points, {width, height}) {
  const round = (value, digits) => Math.round(value * 10 ** digits) / 10 ** digits;
  shape.points = points.map(([x, y]) =>
      shape.unit === "pixels" ? [round(x * width, 1), round(y * height, 1)] : [round(x, 4), round(y, 4)]);
}

export const centre = (points) => [0, 1].map((axis) => points.reduce((sum, point) => sum + point[axis], 0) / points.length);

// All shapes: {kind, index, shape}.
export function allOf(zones) {
  const all = [];
  for (const kind of ["masks", "areas", "lines"]) {
    const shapes = Array.isArray(zones[kind]) ? zones[kind] : [];
    shapes.forEach((shape, index) => all.push({kind, index, shape}));
  }
  if (zones.ground && zones.ground.points) all.push({kind: "ground", index: 0, shape: zones.ground});
  return all;
}

export function hasInside({kind, shape}, [x, y], frame) {
  if (kind === "lines" || kind === "ground") return false;
  const points = pointsOf(shape, frame);
  let inside = false;
  points.forEach(([x1, y1], i) => {
    const [x0, y0] = points[(i || points.length) - 1];
    if ((y0 > y) !== (y1 > y) && x < (x1 - x0) * (y - y0) / (y1 - y0) + x0) inside = !inside;
  });
  return inside;
}

// The distance from a place to a shape's edge, or to the nearest of the ground's points; `far` measures it on the screen.
export function distanceTo({kind, shape}, at, frame, far) {
  const points = pointsOf(shape, frame);
  let least = Math.min(...points.map((point) => far(point, at)));
  if (kind === "ground") return least;
  points.forEach((point, i) => {
    const next = points[i + 1] || (kind !== "lines" ? points[0] : point);
    const steps = 32;
    for (let step = 1; step < steps; ++step) {
      const on = [0, 1].map((axis) => point[axis] + (next[axis] - point[axis]) * step / steps);
      least = Math.min(least, far(on, at));
    }
  });
  return least;
}

const words = (said) => said.split(",").map((word) => word.trim()).filter((word) => word);
const texts = (any) => Array.isArray(any) ? any.filter((one) => typeof one === "string").join(", ") : "";

// Fields of the selected shape: its name and labels, of the ground its metres.
export class ShapeFields {
  constructor(around, editor) {
    this.around = around;
    this.editor = editor;
  }

  change(act) {
    this.editor.remember();
    act();
    this.editor.changed();
  }

  show(selected) {
    // Fields that stay the same stay: whoever goes from one to the next by the keyboard is in it.
    const form = selected && selected.shape && JSON.stringify([selected.kind, selected.index, selected.point,
      !!selected.shape.rectangle, selected.shape.metres && selected.shape.metres.length]);
    if (this.shape === (selected && selected.shape) && this.form === form) return;
    this.shape = selected && selected.shape;
    this.form = form;
    this.around.replaceChildren();
    this.around.hidden = !selected || !selected.shape;
    if (this.around.hidden) return;
    const {kind, shape, point} = selected;
    if (kind === "ground") this.showGround(shape);
    else field(this.around, "Name", text(shape.name), (value) => this.change(() => { shape.name = value; }), {name: "name"});
    if (kind === "areas" || kind === "lines") {
      field(this.around, "Labels", texts(shape.labels), (value) => this.change(() => {
        if (words(value).length) shape.labels = words(value);
        else delete shape.labels;
      }), {name: "labels", placeholder: "all"});
    }
    if (kind === "lines") button(this.around, "Turn round", () => this.change(() => shape.points.reverse()), "quiet");
    if (point !== undefined) button(this.around, "Remove point", () => this.editor.removePoint(), "quiet");
    button(this.around, "Delete", () => this.editor.remove(), "danger");
  }

  showGround(ground) {
    const metres = (name, value, act) => field(this.around, name, number(value), (said) => this.change(() => act(+said)),
                                               {type: "number", step: "any"});
    if (Array.isArray(ground.rectangle)) {
      ["Width in metres, from the 1st point to the 2nd", "Length in metres"].forEach((name, i) =>
          metres(name, ground.rectangle[i], (value) => { ground.rectangle[i] = value; }));
      button(this.around, "Measured places instead", () => this.change(() => {
        const [width, length] = ground.rectangle;
        ground.metres = [[0, 0], [width, 0], [width, length], [0, length]];
        delete ground.rectangle;
      }), "quiet");
    }
    if (!Array.isArray(ground.metres)) return;
    ground.metres.forEach((pair, i) => {
      if (!Array.isArray(pair)) return;
      ["x", "y"].forEach((axis, k) => metres(`${axis} of point ${i + 1}, metres`, pair[k], (value) => { pair[k] = value; }));
    });
  }
}
