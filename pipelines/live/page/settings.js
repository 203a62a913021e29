// SPDX-License-Identifier: Apache-2.0
// Sliders and fields for thresholds and labels: what is set is taken at once, and written to camera.json.
import {add, setText} from "./elements.js";

export class Settings {
  constructor(parent, server) {
    this.server = server;
    this.section = add(parent, "section", "settings");
    this.section.hidden = true;
  }

  async show(logged_in) {
    this.section.replaceChildren();
    this.section.hidden = true;
    const parts = await this.server.get("settings").catch(() => []);
    if (!parts.length) return;
    this.section.replaceChildren();
    this.section.hidden = false;
    add(this.section, "h2", "", "What is found");
    for (const part of parts) this.showPart(part, logged_in);
  }

  showPart({element, factory, labels, settings}, logged_in) {
    const around = add(this.section, "fieldset");
    around.disabled = !logged_in;
    add(around, "legend", "", factory);
    if (labels.length) add(around, "p", "note", `Labels: ${labels.join(", ")}`);
    for (const setting of settings) this.showSetting(around, element, setting);
  }

  showSetting(around, element, {name, description, type, minimum, maximum, value}) {
    const label = add(around, "label", "setting");
    add(label, "span", "", name);
    label.title = description;
    const input = add(label, "input");
    input.name = name;
    const isNumber = type === "number" || type === "integer";
    const isSlider = isNumber && maximum - minimum <= 2;
    if (isSlider) Object.assign(input, {type: "range", min: minimum, max: maximum, step: 0.01});
    else if (isNumber) Object.assign(input, {type: "number", min: minimum, max: maximum, step: "any"});
    else Object.assign(input, {type: "text", autocomplete: "off"});
    const shown = (number) => String(Math.round(number * 1000) / 1000);
    input.value = isNumber ? shown(value) : value;
    const output = add(label, "output", "", isSlider ? shown(value) : "");
    if (isSlider) input.addEventListener("input", () => setText(output, shown(+input.value)));
    const fault = add(around, "p", "fault");
    input.addEventListener("change", async () => {
      setText(fault, "");
      try {
        const told = await this.server.send("setting", {element, name, value: isNumber ? +input.value : input.value});
        input.value = isNumber ? shown(told.value) : told.value;
        setText(output, isSlider ? shown(told.value) : "saved");
      } catch (error) {
        setText(fault, error.message);
      }
    });
  }
}
