// The panels: of each field what is measured, what is recovered, and how far that is off or may be off.

import { Scale } from "./colour.js";
import * as draw from "./picture.js";
import { listen } from "./placing.js";
import { CHANNELS, dark, find, phone, readings, shown, suspects } from "./state.js";
import { counted, percent, short } from "./wording.js";

export const VIEWS = { recovered: "recovered", off: "error", band: "error band" };
const HEADS = {
  recovered: () => "recovered",
  off: () => "error: recovered less true",
  band: () => (shown.answer?.arrays.u_sd && !bandLevel() ? "standard deviation" : "error band, half-width"),
};

/// The share of pixels that the narrower band should hold, in percent, if there is one.
const bandLevel = () => {
  const [level] = shown.answer?.summary.problems[0].bands?.levels ?? [];
  return level && Math.round(100 * level);
};

/// The rows of panels, once built: { channel, title, panels: [measured, second, third] }.
export const rows = [];

/// Builds both rows. `change(channel, add, remove)` hears of sensors, `moved(channel, cursor)` of the keyboard.
export function build(change, moved) {
  for (const channel of CHANNELS) {
    const title = document.createElement("h2");
    const panels = ["measured", "second", "third"].map(buildPanel);
    find(`row-${channel}`).append(title, ...panels.map(({ canvas }) => canvas.parentElement));
    listen(panels[0].canvas, shown.size, {
      tool: () => shown.tool,
      has: (point) => shown.points[channel].has(point),
      change: (add, remove) => change(channel, add, remove),
      moved: (cursor) => moved(channel, cursor),
    });
    rows.push({ channel, title, panels });
  }
}

function buildPanel(kind) {
  const figure = Object.assign(document.createElement("figure"), { className: kind });
  const canvas = document.createElement("canvas");
  const caption = document.createElement("figcaption");
  if (kind === "measured") canvas.tabIndex = 0;
  else canvas.className = "result";
  canvas.setAttribute("role", kind === "measured" ? "application" : "img");
  figure.append(canvas, caption);
  return { kind, canvas, caption };
}

/// Names the fields of the problem.
export function nameFields() {
  for (const { channel, title, panels } of rows) {
    const { name } = shown.problem.fields[channel];
    title.replaceChildren(channel, Object.assign(document.createElement("span"), { textContent: ` ${name}` }));
    panels[0].canvas.setAttribute("aria-label", `Sensors of ${channel}, ${name}. Arrow keys move, Enter places or removes a sensor.`);
  }
}

/// What the third column shows; where all three are seen, what is recovered is the second.
export const thirdView = () => (shown.view === "recovered" ? "off" : shown.view);

let waiting = false;

/// Draws everything before the next frame.
export function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    const [first, second, third] = find("heads").children;
    first.textContent = shown.truth > 0 && !shown.file ? "measured, over the truth" : "measured";
    second.textContent = HEADS[phone.matches ? shown.view : "recovered"]();
    third.textContent = HEADS[thirdView()]();
    if (shown.record || shown.file) rows.forEach(drawRow);
  });
}

function drawRow({ channel, panels: [measured, second, third] }) {
  const { answer, record, file } = shown;
  const field = answer?.arrays[channel];
  const truth = file ? undefined : record[channel];
  const scale = truth || field ? Scale.of(truth ?? field) : new Scale("signed", -1, 1);
  const drawDisk = (surface) => record?.disk && !file && draw.drawDisk(surface, record.disk, shown.size, dark.matches ? "#4a525b" : "#b9bfc6");
  drawMeasured(measured, { channel, truth, scale, drawDisk });
  drawView(second, phone.matches ? shown.view : "recovered", { channel, field, truth, scale, drawDisk });
  if (!phone.matches) drawView(third, thirdView(), { channel, field, truth, scale, drawDisk });
}

function drawMeasured(panel, { channel, truth, scale, drawDisk }) {
  const { size, cursor } = shown;
  const surface = draw.prepare(panel.canvas);
  const sensors = readings(channel);
  if (truth && shown.truth > 0) draw.drawField(surface, truth, size, scale, shown.truth);
  else if (!sensors.length) draw.drawHint(surface, shown.file ? `${channel} is not measured` : `touch to measure ${channel}`, dark.matches ? "#9aa3ad" : "#626a73");
  drawDisk(surface);
  draw.drawSensors(surface, sensors, size, scale, dark.matches ? "rgba(240,240,240,.75)" : "rgba(20,20,20,.6)");
  draw.drawSuspects(surface, suspects(channel), size, dark.matches ? "#f0c074" : "#8a5200");
  if (cursor[channel]) draw.drawCursor(surface, cursor[channel], size, dark.matches ? "#fff" : "#000");
  caption(panel, counted(sensors.length, "sensor"), scale);
}

function drawView(panel, view, { channel, field, truth, scale, drawDisk }) {
  const surface = draw.prepare(panel.canvas);
  panel.view = view;
  panel.head = HEADS[view]();
  panel.field = `${channel}, ${shown.problem.fields[channel].name}`;
  if (!field) return caption(panel, "");
  const { values, name, scale: own } = viewOf(view, channel, field, truth, scale);
  if (!values) return caption(panel, name);
  draw.drawField(surface, values, shown.size, own);
  drawDisk(surface);
  caption(panel, name, own);
}

/// The values of a view, with a name and a scale; without values there is nothing to see, and the name says why.
function viewOf(view, channel, field, truth, scale) {
  if (view === "recovered") return { values: field, name: errorOf(channel), scale };
  if (view === "off") {
    if (!truth) return { name: "no truth to compare with" };
    const values = field.map((value, k) => value - truth[k]);
    return { values, name: "difference", scale: Scale.ofErrors(values) };
  }
  const { arrays, summary } = shown.answer;
  const band = arrays[`${channel}_band${bandLevel()}`];
  if (band) return { values: band, name: `± holds ${bandLevel()}%`, scale: Scale.ofWidths(band) };
  const deviation = arrays[`${channel}_sd`];
  if (deviation) return { values: deviation, name: "± one deviation", scale: Scale.ofWidths(deviation) };
  // Of a two-valued field the probability of the larger value.
  const probability = arrays[`${channel}_probability`];
  const [, high] = summary.problems[0].two_valued?.values ?? [];
  if (probability) return { values: probability, name: `probability of ${short(high)}`, scale: new Scale("width", 0, 1) };
  return { name: "no band" };
}

function errorOf(channel) {
  const errors = shown.answer.errors;
  if (!errors) return "";
  if (channel === "a" && errors.length === 3) return `${percent(errors[2])} of pixels`;
  const error = errors[CHANNELS.indexOf(channel)];
  return Number.isFinite(error) ? `${percent(error)} error` : "";
}

/// What is said under a panel: in words, and the scale of its colours where it shows a field.
function caption(panel, text, scale) {
  const ends = scale && [short(scale.low), short(scale.high)];
  Object.assign(panel, { text, scale, ends });
  const parts = [Object.assign(document.createElement("strong"), { textContent: text })];
  if (scale) {
    const strip = Object.assign(document.createElement("span"), { className: "scale" });
    const bar = document.createElement("i");
    bar.style.background = scale.gradient();
    strip.append(ends[0], bar, ends[1]);
    parts.push(strip);
  }
  panel.caption.replaceChildren(...parts);
  if (panel.kind === "measured") return;
  const values = scale ? `colours from ${ends[0]} to ${ends[1]}` : "";
  panel.canvas.setAttribute("aria-label", [`${panel.head} of ${panel.field}`, text || (scale ? "" : "nothing yet"), values].filter(Boolean).join("; "));
}

/// What is on the screen, for a picture: of each field its panels with their titles.
export const pictured = () =>
  rows.map(({ channel, panels }) =>
    panels
      .filter(({ canvas }) => canvas.clientWidth)
      .map(({ kind, canvas, head, text, scale, ends }) => ({ canvas, text, scale, ends, title: `${channel}: ${kind === "measured" ? find("heads").firstElementChild.textContent : head}` })),
  );
