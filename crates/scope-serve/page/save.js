// Files to keep: fields, sensors, the summary, and a picture of what is on the screen.

import { pictured } from "./panels.js";
import { contentOf } from "./recovery.js";
import { shown } from "./state.js";

/// Hands a file to the person.
export function offer(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/// Saves what was chosen; `request` says which sensors are shown.
export async function save(what, request, heading) {
  const { pde } = request;
  if (what === "picture") return offer(`${pde}.png`, await picture(pictured(), heading));
  const content = await contentOf(what, request, shown.answer);
  const names = { csv: `${pde}-fields.csv`, sensors: `${pde}-sensors.csv`, summary: "summary.json" };
  const types = { csv: "text/csv", sensors: "text/csv", summary: "application/json" };
  offer(names[what] ?? `${pde}-${what}.npy`, content, types[what] ?? "application/octet-stream");
}

const INK = "#1f2328";

/// The panels as one picture: a row for each field, with titles, captions and scales.
async function picture(rows, heading) {
  const side = Math.max(...rows.flat().map(({ canvas }) => canvas.width));
  const gap = side / 16;
  const line = side / 20;
  const columns = Math.max(...rows.map((panels) => panels.length));
  const height = side + 5 * line;
  const canvas = new OffscreenCanvas(columns * (side + gap) + gap, 2.4 * line + rows.length * height + gap);
  const context = canvas.getContext("2d");
  context.fillStyle = "#ffffff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = INK;
  fitted(context, heading, gap, 1.7 * line, canvas.width - 2 * gap, line);
  rows.forEach((panels, r) => {
    panels.forEach((panel, c) => drawPanel(context, panel, gap + c * (side + gap), 2.4 * line + r * height, side, line));
  });
  return canvas.convertToBlob({ type: "image/png" });
}

/// A title, the panel, and below it its caption and scale.
function drawPanel(context, { canvas, title, text, scale, ends }, left, top, side, line) {
  fitted(context, title, left, top + 1.2 * line, side, line);
  context.fillStyle = "#fbfbfc";
  context.fillRect(left, top + 1.7 * line, side, side);
  context.drawImage(canvas, left, top + 1.7 * line, side, side);
  context.fillStyle = INK;
  const below = top + 3 * line + side;
  fitted(context, text, left, below, 0.42 * side, 0.8 * line);
  if (!scale) return;
  const [from, to] = [left + 0.6 * side, left + 0.85 * side];
  const colours = context.createLinearGradient(from, 0, to, 0);
  scale.stops().forEach((colour, k, all) => colours.addColorStop(k / (all.length - 1), colour));
  context.fillStyle = colours;
  context.fillRect(from, below - 0.6 * line, to - from, 0.6 * line);
  context.fillStyle = INK;
  context.textAlign = "right";
  fitted(context, ends[0], from - 0.3 * line, below, 0.16 * side, 0.7 * line);
  context.textAlign = "left";
  fitted(context, ends[1], to + 0.3 * line, below, 0.14 * side, 0.7 * line);
}

/// Text of a size, or smaller where it would be too wide.
function fitted(context, text, left, bottom, width, size) {
  context.font = `${size}px sans-serif`;
  const wide = context.measureText(text).width;
  if (wide > width) context.font = `${(size * width) / wide}px sans-serif`;
  context.fillText(text, left, bottom);
}
