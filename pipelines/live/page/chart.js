// SPDX-License-Identifier: Apache-2.0
// The last minute of a stream's counts, with a legend.
import {begin, colour} from "./draw.js";

const MINUTE = 60000;
const MOST_SERIES = 12;

export class Chart {
  constructor(canvas, legend) {
    this.canvas = canvas;
    this.legend = legend;
    this.series = new Map();  // name: {colour, points: [[time, value]]}
  }

  // Takes values by name; a series without one has 0.
  take(values, now) {
    for (const name of values.keys()) {
      if (!this.series.has(name) && this.series.size < MOST_SERIES) {
        this.series.set(name, {colour: colour(this.series.size + 40), points: []});
      }
    }
    for (const [name, series] of this.series) {
      const value = values.get(name) || 0, points = series.points, last = points[points.length - 1];
      if (!last || last[1] !== value) points.push([now, value]);
      // One before the chart's beginning says where it begins.
      while (points.length > 1 && points[1][0] < now - MINUTE) points.shift();
    }
  }

  draw(now) {
    const {context, width, height, scale} = begin(this.canvas);
    const left = 34 * scale, bottom = height - 18 * scale, top = 8 * scale;
    let most = 1;
    for (const {points} of this.series.values()) for (const [, value] of points) most = Math.max(most, value);
    const x = (time) => Math.max(left, width - (now - time) / MINUTE * (width - left));
    const y = (value) => bottom - value / most * (bottom - top);
    context.fillStyle = "#93a0ab";
    context.strokeStyle = "#39424b";
    context.lineWidth = scale;
    for (const value of new Set([0, Math.round(most / 2), most])) {
      context.strokeRect(left, y(value), width, 0);
      context.textAlign = "right";
      context.fillText(value, left - 5 * scale, y(value) + 4 * scale);
    }
    context.textAlign = "left";
    context.fillText("1 min ago", left, height - 4 * scale);
    context.textAlign = "right";
    context.fillText("now", width - 4 * scale, height - 4 * scale);
    context.textAlign = "left";
    context.lineWidth = 2 * scale;
    for (const {colour, points} of this.series.values()) {
      context.strokeStyle = colour;
      context.beginPath();
      points.forEach(([time, value], i) => {
        context.lineTo(x(time), y(value));
        context.lineTo(x(i + 1 < points.length ? points[i + 1][0] : now), y(value));
      });
      context.stroke();
    }
    this.drawLegend();
  }

  drawLegend() {
    while (this.legend.children.length < this.series.size) {
      const item = document.createElement("li");
      item.append(document.createElement("i"), document.createElement("span"));
      this.legend.appendChild(item);
    }
    [...this.series].forEach(([name, {colour, points}], i) => {
      const [dot, words] = this.legend.children[i].children;
      dot.style.background = colour;
      const text = `${name}: ${points[points.length - 1][1]}`;
      if (words.textContent !== text) words.textContent = text;
    });
  }
}
