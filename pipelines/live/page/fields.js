// SPDX-License-Identifier: Apache-2.0
// Fields of the selected shape: its name and labels, of the ground its metres.
import {add, button, field} from "./elements.js";
import {number, text} from "./values.js";

const words = (said) => said.split(",").map((word) => word.trim()).filter((word) => word);
const texts = (any) => Array.isArray(any) ? any.filter((one) => typeof one === "string").join(", ") : "";

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
