// Files to keep: fields, sensors, the summary, and a picture of what is on the screen.

import { ask } from "./recovery.js";

/// Hands a file to the person.
export function offer(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/// Saves what was chosen; `request` says which sensors are shown.
export async function save(what, request, canvases, heading) {
  const { pde } = request;
  if (what === "picture") return offer(`${pde}.png`, await picture(canvases, heading));
  const content = await ask("save", { what, ...request });
  const names = { csv: `${pde}-fields.csv`, sensors: `${pde}-sensors.csv`, summary: "summary.json" };
  const types = { csv: "text/csv", sensors: "text/csv", summary: "application/json" };
  offer(names[what] ?? `${pde}-${what}.npy`, content, types[what] ?? "application/octet-stream");
}

/// The canvases as one picture: a row for each field, with their captions.
async function picture(rows, heading) {
  const side = Math.max(...rows.flatMap((row) => row.panels.map((panel) => panel.canvas.width)));
  const gap = side / 16;
  const text = side / 20;
  const columns = Math.max(...rows.map((row) => row.panels.length));
  const canvas = new OffscreenCanvas(columns * (side + gap) + gap, 2.4 * text + rows.length * (side + 3.4 * text) + gap);
  const context = canvas.getContext("2d");
  context.fillStyle = "#ffffff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = "#1f2328";
  context.font = `${text}px sans-serif`;
  context.fillText(heading, gap, 1.7 * text);
  rows.forEach((row, r) => {
    const top = 2.4 * text + r * (side + 3.4 * text);
    row.panels.forEach((panel, c) => {
      const left = gap + c * (side + gap);
      context.fillText(`${row.name}: ${panel.title}`, left, top + 1.2 * text);
      context.fillStyle = "#fbfbfc";
      context.fillRect(left, top + 1.7 * text, side, side);
      context.fillStyle = "#1f2328";
      context.drawImage(panel.canvas, left, top + 1.7 * text, side, side);
    });
  });
  return canvas.convertToBlob({ type: "image/png" });
}
