// SPDX-License-Identifier: Apache-2.0
// Talks to the camera's server.

export class Refusal extends Error {
  constructor({error, place}, status) {
    super(typeof error === "string" ? error : `the server says ${status}`);
    this.place = Array.isArray(place) ? place : [];
    this.status = status;
  }
}

export class Server {
  constructor() {
    this.session = {can_write: false, logged_in: false, clips: false, token: ""};
    this.onLogOut = () => {};
  }

  async get(path) {
    const answer = await fetch(path);
    if (!answer.ok) throw new Refusal({}, answer.status);
    return answer.json();
  }

  // Throws a Refusal with the server's sentence.
  async send(path, body) {
    const headers = {"Content-Type": "application/json", "X-Token": this.session.token};
    const answer = await fetch(path, {method: "POST", headers, body: JSON.stringify(body)});
    const told = await answer.json().catch(() => ({}));
    if (answer.ok) return told;
    if (answer.status === 401) this.onLogOut();
    throw new Refusal(told, answer.status);
  }

  async begin() {
    this.session = await this.get("session");
  }

  async logIn(password) {
    const {token} = await this.send("login", {password});
    Object.assign(this.session, {logged_in: true, token});
  }

  async logOut() {
    await this.send("logout", {});
    Object.assign(this.session, {logged_in: false, token: ""});
  }
}
