// Placing sensors on a canvas with a pointer or with the keyboard.

import { NEAR } from "./state.js";

/// How far a brush reaches, in points of the grid.
const BRUSH = 6;

/// Calls `change(add, remove)` with lists of points, row * size + column. `tool()` says what a touch does: point, brush
/// or erase.
export function listen(canvas, size, { tool, has, change, moved }) {
  let cursor = [size >> 1, size >> 1];
  let down = false;

  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    const share = (from, length) => Math.min(size - 1, Math.max(0, Math.floor((size * from) / length)));
    return [share(event.clientX - box.left, box.width), size - 1 - share(event.clientY - box.top, box.height)];
  };

  const apply = ([i, j], dragging) => {
    const erases = tool() === "erase";
    if (tool() === "point") {
      if (dragging) return;
      const near = around(i, j, NEAR, size).filter(has);
      return near.length ? change([], near) : change([i * size + j], []);
    }
    const area = around(i, j, BRUSH, size);
    return erases ? change([], area.filter(has)) : change(area.filter(thin(size)), []);
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    down = true;
    cursor = place(event);
    apply(cursor, false);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!down) return;
    const now = place(event);
    if (now[0] === cursor[0] && now[1] === cursor[1]) return;
    cursor = now;
    apply(cursor, true);
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (down = false));

  canvas.addEventListener("keydown", (event) => {
    const step = event.shiftKey ? 8 : 1;
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    if (moves[event.key]) {
      cursor = cursor.map((x, axis) => Math.min(size - 1, Math.max(0, x + moves[event.key][axis])));
      moved(cursor);
    } else if (event.key === "Enter" || event.key === " ") {
      apply(cursor, false);
    } else if (event.key === "Delete" || event.key === "Backspace") {
      change([], around(...cursor, NEAR, size).filter(has));
    } else return;
    event.preventDefault();
  });
  canvas.addEventListener("focus", () => canvas.matches(":focus-visible") && moved(cursor));
  canvas.addEventListener("blur", () => moved(undefined));
}

/// The points within a distance, nearest first.
function around(i, j, reach, size) {
  const points = [];
  for (let k = Math.max(0, i - reach); k <= Math.min(size - 1, i + reach); k++) {
    for (let l = Math.max(0, j - reach); l <= Math.min(size - 1, j + reach); l++) {
      const apart = (k - i) ** 2 + (l - j) ** 2;
      if (apart <= reach ** 2) points.push([apart, k * size + l]);
    }
  }
  return points.sort((one, other) => one[0] - other[0]).map(([, point]) => point);
}

/// A brush leaves one point of eleven, spread evenly.
const thin = (size) => (point) => (3 * Math.floor(point / size) + (point % size)) % 11 === 0;
