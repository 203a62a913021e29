// SPDX-License-Identifier: Apache-2.0
// What a camera's own page has beside the picture: logging in, editing, settings and clips.
import {Clips} from "./clips.js";
import {Editor} from "./editor.js";
import {add, button, field, setText} from "./elements.js";
import {Server} from "./server.js";
import {Settings} from "./settings.js";

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
