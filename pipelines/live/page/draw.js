// SPDX-License-Identifier: Apache-2.0
// Draws shapes and objects on a canvas that lies over a picture. Places are in fractions of the frame.

// As dvoverlay has colours: hues a golden angle apart.
export const colour = (number) => `hsl(${(number * 137.50776405) % 360} 90% 58%)`;

// What can be read on a colour: black is lost on its blues.
const ink = (ground) => {
  const hue = ground.startsWith("hsl(") ? parseFloat(ground.slice(4)) : 0;
  return hue > 225 && hue < 290 ? "#fff" : "#000";
};

// A canvas of the pixels that it has on the screen, empty.
export function begin(canvas) {
  const scale = window.devicePixelRatio || 1;
  const width = Math.round(canvas.clientWidth * scale), height = Math.round(canvas.clientHeight * scale);
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, {width, height});
  const context = canvas.getContext("2d");
  context.clearRect(0, 0, width, height);
  context.font = `${13 * scale}px sans-serif`;
  context.lineWidth = 2 * scale;
  context.lineJoin = "round";
  return {context, width, height, scale};
}

export function label({context, scale}, words, x, y, ground) {
  const width = context.measureText(words).width + 6 * scale, height = 17 * scale;
  x = Math.max(0, Math.min(x, context.canvas.width - width));
  y = Math.max(0, y - height);
  context.fillStyle = ground;
  context.fillRect(x, y, width, height);
  context.fillStyle = ink(ground);
  context.fillText(words, x + 3 * scale, y + 13 * scale);
}

export const isClosed = (kind) => kind !== "lines";

// A shape's points in fractions of the frame, whichever its unit is.
export const places = ({unit, points}, frame) =>
    unit === "pixels" ? points.map(([x, y]) => [x / frame.width, y / frame.height]) : points;

function path({context, width, height}, points, closed) {
  context.beginPath();
  for (const [x, y] of points) context.lineTo(x * width, y * height);
  if (closed) context.closePath();
  context.stroke();
}

// Forward is from a line's left to its right, seen when walking along it.
function arrow(on, points) {
  const {context, width, height, scale} = on;
  const at = Math.max(0, Math.ceil(points.length / 2) - 1), next = points[at + 1];
  if (!next) return;
  const from = [points[at][0] * width, points[at][1] * height], to = [next[0] * width, next[1] * height];
  const along = [to[0] - from[0], to[1] - from[1]], length = Math.hypot(...along) || 1;
  const [x, y] = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2], [ex, ey] = [-along[1] / length, along[0] / length];
  const far = 22 * scale, barb = 7 * scale;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + ex * far, y + ey * far);
  context.moveTo(x + ex * (far - barb) - ey * barb, y + ey * (far - barb) + ex * barb);
  context.lineTo(x + ex * far, y + ey * far);
  context.lineTo(x + ex * (far - barb) + ey * barb, y + ey * (far - barb) - ex * barb);
  context.stroke();
}

const STYLES = {areas: ["#fff", []], lines: ["#fff", []], masks: ["#9aa7b2", [6, 4]], ground: ["#ffd54a", [2, 4]]};

// `paint`, if given, overrides a shape's colour.
export function shape(on, kind, one, frame, words, paint) {
  const points = places(one, frame), [stroke, dash] = STYLES[kind];
  on.context.strokeStyle = paint || stroke;
  on.context.setLineDash(dash.map((length) => length * on.scale));
  path(on, points, isClosed(kind));
  on.context.setLineDash([]);
  if (kind === "lines") arrow(on, points);
  if (words) label(on, words, points[0][0] * on.width, points[0][1] * on.height, paint || stroke);
}

export function zones(on, shapes, frame, counts) {
  for (const kind of ["masks", "areas", "lines"]) {
    for (const one of shapes[kind]) {
      const count = counts.get(`${kind} ${one.name}`);
      shape(on, kind, one, frame, count === undefined ? one.name : `${one.name}: ${count}`);
    }
  }
}

export function trail(on, points, frame, paint) {
  on.context.strokeStyle = paint;
  path(on, points.map(({x, y}) => [x / frame.width, y / frame.height]), false);
}

export function objects(on, found, frame) {
  const {context, width, height, scale} = on;
  for (const one of found) {
    if (!one.box) continue;
    const [x0, y0, x1, y1] = one.box.map((edge, i) => edge * (i % 2 ? height / frame.height : width / frame.width));
    const mine = colour(one.track_id || one.class_id || 0);
    context.strokeStyle = mine;
    context.setLineDash(one.predicted ? [6 * scale, 4 * scale] : []);
    context.strokeRect(x0, y0, x1 - x0, y1 - y0);
    context.setLineDash([]);
    const track = one.track_id ? `#${one.track_id} ` : "";
    const sure = one.predicted ? "" : ` ${Math.round(100 * one.confidence)}%`;
    label(on, `${track}${one.label}${sure}`, x0 - scale, y0, mine);
  }
}

// By the logarithm of the seconds, as dvoverlay has it: from clear to red.
export const heatShare = (value, most) => Math.max(0, 1 + Math.log10(value / most) / 2);
export const heatColour = (share, clear, more) => `hsl(${240 - 240 * share} 100% 50% / ${clear + more * share})`;

export function heat({context, width, height}, seconds, cell, frame) {
  let most = 0;
  for (const value of seconds.values()) most = Math.max(most, value);
  const fx = width / frame.width, fy = height / frame.height;
  for (const [place, value] of seconds) {
    if (!(value > 0)) continue;
    const [column, row] = place.split(" ");
    context.fillStyle = heatColour(heatShare(value, most), 0.1, 0.4);
    context.fillRect(column * cell * fx, row * cell * fy, cell * fx, cell * fy);
  }
}
