// SPDX-License-Identifier: Apache-2.0
// What documents say is of the kinds that the page can show: else it is as if it was not said.

export const MOST_OBJECTS = 1000, MOST_STEPS = 200, MOST_TEXT = 100;
const MOST_SIZE = 32768;   // pixels
const MOST_CELLS = 4096;   // of heat, of a label

export const object = (any) => any && typeof any === "object" ? any : {};
export const list = (any, most) =>
    Array.isArray(any) ? any.slice(0, most).filter((one) => one && typeof one === "object") : [];
export const number = (any) => Number.isFinite(any) ? any : 0;
export const text = (any) =>
    typeof any === "string" ? any.slice(0, MOST_TEXT) : typeof any === "number" ? String(any) : "";
export const numbers = (any, count) => Array.isArray(any) && any.length === count && any.every(Number.isFinite);

const shapes = (any) => list(any, MOST_OBJECTS).map(({name, unit, points}) =>
    ({name: text(name), unit, points: list(points, 256).filter((point) => numbers(point, 2))}))
    .filter(({points}) => points.length);

// The shapes of a zones' file: lists of {name, unit, points}.
export const zones = (any) => ({
  areas: shapes(object(any).areas), lines: shapes(object(any).lines), masks: shapes(object(any).masks),
  ground: shapes([object(any).ground]), site: site(object(any).ground),
});

// The places in metres that the ground is described by.
const site = (any) => {
  const {metres, rectangle} = object(any);
  if (numbers(rectangle, 2)) return [[0, 0], [rectangle[0], 0], rectangle, [0, rectangle[1]]];
  return list(metres, 256).filter((place) => numbers(place, 2));
};

export const found = ({box, track_id, class_id, confidence, kind, label, predicted, ground}) =>
    ({ground: numbers([object(ground).x, object(ground).y], 2) ? [ground.x, ground.y] : null, box: numbers(box, 4) ? box : null,
      track_id: number(track_id), class_id: number(class_id), confidence: number(confidence), kind: text(kind),
      label: text(label), predicted: !!predicted});

export const size = (any) => {
  const {width, height} = object(any);
  const fits = (edge) => Number.isInteger(edge) && edge > 0 && edge <= MOST_SIZE;
  return fits(width) && fits(height) ? {width, height} : null;
};

// The cells of a document of heat, [column, row, seconds] of all its labels, and their side in the unit.
export const heat = (any) => {
  const {unit, cell, labels} = object(any);
  if (!["pixels", "metres"].includes(unit) || !(number(cell) > 0)) return {unit: "", cell: 0, cells: []};
  const cells = list(labels, 32).flatMap((label) => list(label.cells, MOST_CELLS));
  return {unit, cell, cells: cells.filter((one) => numbers(one, 3))};
};

// A line about an event of dvzones.
export const event = (told) => {
  const {kind, area, line, label, track_id, direction} = object(told.event);
  const what = text(label) + (number(track_id) ? ` #${number(track_id)}` : "");
  const time = new Date(text(object(told.time).utc));
  const clock = Number.isNaN(time.getTime()) ? "" : time.toLocaleTimeString();
  return [clock, what, text(kind), text(line) || text(area), text(direction)].filter((word) => word).join(" ");
};

// Values by area and line, as words behind their names.
export const counts = (any) => {
  const said = new Map();
  for (const {name, inside} of list(object(any).areas, MOST_OBJECTS)) said.set(`areas ${text(name)}`, `${number(inside)}`);
  for (const {name, forward, backward} of list(object(any).lines, MOST_OBJECTS)) {
    said.set(`lines ${text(name)}`, `+${number(forward)} -${number(backward)}`);
  }
  return said;
};
