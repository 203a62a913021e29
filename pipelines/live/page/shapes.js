// SPDX-License-Identifier: Apache-2.0
// Geometry of shapes of a zones' file, in fractions of the frame whatever their unit is.

const isPair = (any) => Array.isArray(any) && any.length === 2 && any.every(Number.isFinite);

// Points that are pairs of numbers; none if the shape is none.
export function pointsOf(shape, {width, height}) {
  const points = shape && Array.isArray(shape.points) ? shape.points.filter(isPair) : [];
  return points.map(([x, y]) => shape.unit === "pixels" ? [x / width, y / height] : [x, y]);
}

// Keeps the unit; places are rounded to what can be pointed at.
export function setPoints(shape, points, {width, height}) {
  const round = (value, digits) => Math.round(value * 10 ** digits) / 10 ** digits;
  shape.points = points.map(([x, y]) =>
      shape.unit === "pixels" ? [round(x * width, 1), round(y * height, 1)] : [round(x, 4), round(y, 4)]);
}

export const centre = (points) => [0, 1].map((axis) => points.reduce((sum, point) => sum + point[axis], 0) / points.length);

// All shapes: {kind, index, shape}.
export function allOf(zones) {
  const all = [];
  for (const kind of ["masks", "areas", "lines"]) {
    const shapes = Array.isArray(zones[kind]) ? zones[kind] : [];
    shapes.forEach((shape, index) => all.push({kind, index, shape}));
  }
  if (zones.ground && zones.ground.points) all.push({kind: "ground", index: 0, shape: zones.ground});
  return all;
}

export function hasInside({kind, shape}, [x, y], frame) {
  if (kind === "lines" || kind === "ground") return false;
  const points = pointsOf(shape, frame);
  let inside = false;
  points.forEach(([x1, y1], i) => {
    const [x0, y0] = points[(i || points.length) - 1];
    if ((y0 > y) !== (y1 > y) && x < (x1 - x0) * (y - y0) / (y1 - y0) + x0) inside = !inside;
  });
  return inside;
}

// The distance from a place to a shape's edge, or to the nearest of the ground's points; `far` measures it on the screen.
export function distanceTo({kind, shape}, at, frame, far) {
  const points = pointsOf(shape, frame);
  let least = Math.min(...points.map((point) => far(point, at)));
  if (kind === "ground") return least;
  points.forEach((point, i) => {
    const next = points[i + 1] || (kind !== "lines" ? points[0] : point);
    const steps = 32;
    for (let step = 1; step < steps; ++step) {
      const on = [0, 1].map((axis) => point[axis] + (next[axis] - point[axis]) * step / steps);
      least = Math.min(least, far(on, at));
    }
  });
  return least;
}
