// SPDX-License-Identifier: Apache-2.0
// Connects the page's streams with the server.
import {Camera} from "./camera.js";
import {Stream} from "./stream.js";

const MOST_LIVE = 4;  // browsers have six connections to a server: more streams take turns, a picture each

// One stream's trouble is none of the others', nor of the frames to come.
const attempt = (act) => { try { act(); } catch (error) { console.error(error); } };

const main = document.querySelector("main");
const streams = new Map();
const list = await (await fetch("streams")).json();
for (const told of list) {
  const stream = new Stream(main, told, list.length > MOST_LIVE);
  streams.set(told.name, stream);
  if (told.camera) new Camera(main, stream);
}
new EventSource("documents").onmessage = ({data}) => {
  const told = JSON.parse(data);
  const stream = streams.get(told.stream);
  if (stream) attempt(() => stream.take(told, performance.now()));
};
const draw = () => {
  for (const stream of streams.values()) attempt(() => stream.draw(performance.now()));
  requestAnimationFrame(draw);
};
draw();
