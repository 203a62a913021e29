// SPDX-License-Identifier: Apache-2.0
// The ground from above: where tracks have spent their time, in metres. x goes to the right, y up.
import * as draw from "./draw.js";
import {add, setText} from "./elements.js";

const MARGIN = 12, FOOT = 34;  // pixels; the foot has the scale
const LEFT_OUT = 0.005, FAR = 3;        // of the seconds, at each side: far cells are rare, and would make all others small

// The smallest and the largest place, or those between which almost all seconds are if the others are far from them.
function range(cells, index) {
  const sorted = [...cells].sort((a, b) => a[index] - b[index]);
  const all = sorted.reduce((sum, one) => sum + one[2], 0);
  let before = 0;
  const low = sorted.find((one) => (before += one[2]) >= LEFT_OUT * all);
  before = 0;
  const high = sorted.reverse().find((one) => (before += one[2]) >= LEFT_OUT * all);
  const inner = [(low || sorted[0])[index], (high || sorted[0])[index] + 1];
  const outer = [sorted[sorted.length - 1][index], sorted[0][index] + 1];  // it is reversed
  return outer[1] - outer[0] <= FAR * (inner[1] - inner[0]) ? outer : inner;
}

// A length of 1, 2 or 5 times a power of ten, at most so long.
function round(most) {
  const ten = 10 ** Math.floor(Math.log10(most));
  return [5, 2, 1].find((times) => times * ten <= most) * ten;
}

const seconds = (value) => value >= 90 ? `${(value / 60).toPrecision(2)} min` : `${Number(value.toPrecision(2))} s`;

export class GroundMap {
  constructor(parent) {
    this.around = add(parent, "div", "map");
    this.around.hidden = true;
    this.words = add(this.around, "p", "note");
    this.canvas = add(this.around, "canvas");
  }

  // `heat`: seconds by "column row". None: there is no map.
  take(heat, cell) {
    const cells = [...heat].filter(([, value]) => value > 0).map(([place, value]) => [...place.split(" ").map(Number), value]);
    this.around.hidden = !cells.length;
    if (!cells.length) return;
    const x = this.columns = range(cells, 0), y = this.rows = range(cells, 1);
    this.cell = cell;
    this.most = cells.reduce((value, one) => Math.max(value, one[2]), 0);
    this.cells = cells.filter(([column, row]) => column >= x[0] && column < x[1] && row >= y[0] && row < y[1]);
    const beyond = cells.length - this.cells.length;
    setText(this.words, `Time on the ground, from above: cells of ${Number(cell.toPrecision(3))}\u00a0m` +
                            (beyond ? `, and ${beyond} far away` : ""));
  }

  // `site`: places that the zones' file has measured; `objects`: those that are there now.
  draw(site, objects) {
    if (this.around.hidden) return;
    const {columns, rows, cell, cells, most} = this, on = draw.begin(this.canvas);
    // What was measured belongs to the picture, unless all is far away from it.
    const places = [[columns[0] * cell, rows[0] * cell], [columns[1] * cell, rows[1] * cell]];
    const view = this.view(on, [...places, ...this.nearby(site, places)]);
    on.context.save();
    on.context.beginPath();
    on.context.rect(0, 0, on.width, on.height - FOOT * on.scale);
    on.context.clip();
    for (const [column, row, value] of cells) {
      on.context.fillStyle = draw.heatColour(draw.heatShare(value, most), 0.25, 0.65);
      // Whole pixels, so that there are no seams.
      const [left, right] = [column, column + 1].map((at) => Math.round(view.x(at * cell)));
      const [top, bottom] = [row + 1, row].map((at) => Math.round(view.y(at * cell)));
      on.context.fillRect(left, top, Math.max(1, right - left), Math.max(1, bottom - top));
    }
    this.drawSite(on, view, site);
    for (const {ground, track_id} of objects) if (ground) this.drawObject(on, view, ground, track_id);
    on.context.restore();
    this.drawFoot(on, view, most);
  }

  nearby(site, [[x0, y0], [x1, y1]]) {
    const far = 2 * Math.max(x1 - x0, y1 - y0);
    return site.filter(([x, y]) => x > x0 - far && x < x1 + far && y > y0 - far && y < y1 + far);
  }

  // Where metres are on the canvas.
  view({width, height, scale}, places) {
    const [xs, ys] = [0, 1].map((axis) => places.map((place) => place[axis]));
    const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const margin = MARGIN * scale, high = height - FOOT * scale - margin;
    const metre = Math.min((width - 2 * margin) / (x1 - x0), (high - margin) / (y1 - y0));
    return {metre, x: (x) => width / 2 + (x - (x0 + x1) / 2) * metre, y: (y) => (high + margin) / 2 - (y - (y0 + y1) / 2) * metre};
  }

  drawSite({context, scale}, view, site) {
    context.strokeStyle = context.fillStyle = "#ffd54a";
    if (site.length === 4) {
      context.setLineDash([2 * scale, 4 * scale]);
      context.beginPath();
      for (const [x, y] of site) context.lineTo(view.x(x), view.y(y));
      context.closePath();
      context.stroke();
      context.setLineDash([]);
    }
    for (const [x, y] of site) context.fillRect(view.x(x) - 2 * scale, view.y(y) - 2 * scale, 4 * scale, 4 * scale);
  }

  drawObject({context, scale}, view, [x, y], track) {
    context.fillStyle = draw.colour(track);
    context.strokeStyle = "#000";
    context.beginPath();
    context.arc(view.x(x), view.y(y), 5 * scale, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }

  // The scale in metres, and what the colours say.
  drawFoot({context, width, height, scale}, view, most) {
    const margin = MARGIN * scale, line = height - 22 * scale, metres = round(Math.min(width / 3, 160 * scale) / view.metre);
    context.fillStyle = "#dfe5ea";
    context.fillRect(margin, line, metres * view.metre, 3 * scale);
    context.textAlign = "left";
    const words = `${Number(metres.toPrecision(1))} m`;
    context.fillText(words, margin, height - 5 * scale);
    this.canvas.title = `The bar is ${words}, up is y`;
    const step = Math.max(1, Math.round(Math.min(0.42 * width, 160 * scale) / 32)), left = width - margin - 32 * step;
    for (let i = 0; i < 32; ++i) {
      context.fillStyle = draw.heatColour((i + 0.5) / 32, 0.25, 0.65);
      context.fillRect(left + i * step, line - 3 * scale, step, 6 * scale);
    }
    context.fillStyle = "#dfe5ea";
    context.fillText(seconds(most / 100), left, height - 5 * scale);
    context.textAlign = "right";
    context.fillText(seconds(most), width - margin, height - 5 * scale);
    context.textAlign = "left";
  }
}
