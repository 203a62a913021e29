// SPDX-License-Identifier: Apache-2.0
// What a camera's own page has beside the picture: logging in, editing, settings and clips.
import {Clips} from "./clips.js";
import {Editor} from "./editor.js";
import {add, button, field, setText} from "./elements.js";
import {Server} from "./server.js";

export class Camera {
  constructor(parent, stream) {
    this.server = new Server();
    this.server.onLogOut = () => this.begin(true);
    this.bar = add(stream.tools, "div", "bar");
    const side = add(parent, "aside");
    this.editor = new Editor(stream, this.server);
    this.settings = new Settings(side, this.server);
    this.clips = new Clips(side, this.server);
    stream.onClip = () => this.clips.reloadSoon();
    this.begin();
  }

  // `keep`: a session has ended by itself, and what is being edited waits for the next one.
  async begin(keep = false) {
    try {
      await this.server.begin();
    } catch (error) {
      setText(add(this.bar, "p", "fault"), error.message);
      return;
    }
    if (this.server.session.clips) this.clips.load();
    this.show(keep);
  }

  show(keep = false) {
    const {can_write, logged_in} = this.server.session;
    if (!keep) this.editor.stop();
    this.bar.replaceChildren();
    this.bar.hidden = false;
    if (!can_write) {
      add(this.bar, "p", "note", "This page changes nothing, as no password is set: dvcamera CONFIG.json --set-password");
    } else if (!logged_in) {
      this.showForm();
    } else {
      this.editor.showButton(this.bar);
      button(this.bar, "Log out", async () => {
        await this.server.logOut().catch(() => {});
        this.show();
      }, "quiet");
    }
    this.settings.show(logged_in);
  }

  showForm() {
    const form = add(this.bar, "form");
    const input = field(form, "Password", "", () => {}, {type: "password", autocomplete: "current-password", required: true});
    add(form, "button", "", "Log in");
    const fault = add(form, "p", "fault");
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      setText(fault, "");
      try {
        await this.server.logIn(input.value);
        this.show(true);
      } catch (error) {
        setText(fault, error.message);
      }
    });
  }
}

// Sliders and fields for thresholds and labels: what is set is taken at once, and written to camera.json.
class Settings {
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
