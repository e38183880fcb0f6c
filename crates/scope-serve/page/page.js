// The page: what is chosen, what follows from it, and who is told.

import { Scale } from "./colour.js";
import * as draw from "./picture.js";
import { listen } from "./placing.js";
import { ask, heedProgress, recover } from "./recovery.js";
import { save } from "./save.js";
import { state as stateTrust } from "./trust.js";

const CHANNELS = ["a", "u"];
const COUNTS = [1, 2, 5, 10, 20, 50, 100, 200, 300, 500, 700, 1000, 2000, 4000];
/// Equations as people write them; everything else about problems comes from the library.
const EQUATIONS = { poisson: "∇²u = a", helmholtz: "∇²u + u = a", darcy: "−∇·(a ∇u) = 1", ns: "vorticity, a at 0 s, u at 1 s", cylinder: "speed, a at 0.5 s, u at 0.9 s" };
const VIEWS = { recovered: "recovered", off: "off by", band: "band" };
const phone = matchMedia("(max-width: 720px)");
const dark = matchMedia("(prefers-color-scheme: dark)");
const find = (id) => document.getElementById(id);

const shown = {
  size: 128,
  problem: undefined,
  number: 0, // of the record
  record: undefined, // { a, u, disk }
  points: { a: new Set(), u: new Set() },
  file: undefined, // { name, list, notes } of sensors of one's own
  measured: "u",
  family: "uniform",
  count: 500,
  draw: 20261013, // which mask of the family
  tool: "point",
  view: "off",
  method: "network",
  answer: undefined,
  cursor: {},
};
let facts; // what the library says of problems and families
let rows; // the panels of each field

/// Buttons of which one is chosen.
function choice(id, options, current, choose) {
  const group = find(id);
  group.replaceChildren(
    ...options.map(([value, name, title]) => {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: name, title: title ?? "" });
      button.dataset.value = value;
      button.onclick = () => {
        press(id, value);
        choose(value);
      };
      return button;
    }),
  );
  press(id, current);
}

function press(id, value) {
  for (const button of find(id).children) button.setAttribute("aria-pressed", String(button.dataset.value === value));
}

function buildRow(channel) {
  const row = find(`row-${channel}`);
  const title = document.createElement("h2");
  const panels = ["measured", "second", "third"].map((kind) => {
    const figure = Object.assign(document.createElement("figure"), { className: kind });
    const canvas = document.createElement("canvas");
    const caption = document.createElement("figcaption");
    if (kind === "measured") {
      canvas.tabIndex = 0;
      canvas.setAttribute("role", "application");
    } else {
      canvas.className = "result";
      canvas.setAttribute("role", "img");
    }
    figure.append(canvas, caption);
    return { kind, canvas, caption };
  });
  row.append(title, ...panels.map(({ canvas }) => canvas.parentElement));
  listen(panels[0].canvas, shown.size, {
    tool: () => shown.tool,
    has: (point) => shown.points[channel].has(point),
    change: (add, remove) => change(channel, add, remove),
    moved: (cursor) => {
      shown.cursor = { [channel]: cursor };
      if (cursor) say(`${channel} at row ${cursor[0]}, column ${cursor[1]}`);
      redraw();
    },
  });
  return { channel, title, panels };
}

function change(channel, add, remove) {
  if (shown.file) {
    refuse("These are the sensors of your file. Choose “Another record” to place sensors again.");
    return;
  }
  const points = shown.points[channel];
  add.filter((point) => !inDisk(point)).forEach((point) => points.add(point));
  remove.forEach((point) => points.delete(point));
  update();
}

/// The disk is known: a sensor in it would say nothing.
function inDisk(point) {
  const disk = shown.record?.disk;
  if (!disk) return false;
  const [i, j] = [Math.floor(point / shown.size), point % shown.size];
  return (i - disk[0]) ** 2 + (j - disk[1]) ** 2 <= disk[2] ** 2;
}

/// The sensors of a channel as [row, column, value].
function readings(channel) {
  if (shown.file) {
    const all = [];
    const { list } = shown.file;
    for (let k = 0; k < list.length; k += 4) if (list[k] === CHANNELS.indexOf(channel)) all.push([...list.slice(k + 1, k + 4)]);
    return all;
  }
  return Array.from(shown.points[channel], (point) => [Math.floor(point / shown.size), point % shown.size, shown.record[channel][point]]);
}

/// What the worker has to know of the sensors.
function request() {
  const { problem, method, points, file } = shown;
  const all = CHANNELS.flatMap((channel, number) => [...points[channel]].map((point) => [number, point]));
  return {
    pde: problem.name,
    method: problem.has_exact ? method : "network",
    file: file !== undefined,
    channels: Uint8Array.from(all, ([number]) => number),
    points: Uint32Array.from(all, ([, point]) => point),
  };
}

/// Something about the sensors or the method has changed.
function update() {
  refuse();
  redraw();
  const asked = request();
  if (!asked.file && !asked.points.length) {
    shown.answer = undefined;
    find("statement").replaceChildren();
    find("warnings").replaceChildren();
    say("Nothing is measured: touch a field on the left, or lay out some sensors.");
    redraw();
    return;
  }
  document.body.classList.add("busy");
  recover(asked, (answer, more) => show(asked, answer, more), fail);
}

function fail(error) {
  document.body.classList.remove("busy");
  shown.answer = undefined;
  redraw();
  refuse(error.message);
}

function show(asked, answer, more) {
  if (asked.pde !== shown.problem.name || asked.file !== (shown.file !== undefined)) return;
  shown.answer = answer;
  const truth = shown.file ? undefined : shown.record;
  stateTrust({ statement: find("statement"), warnings: find("warnings") }, answer, truth);
  if (!more) document.body.classList.remove("busy");
  const sensors = asked.file ? shown.file.list.length / 4 : asked.points.length;
  say(`${sensors.toLocaleString("en")} ${sensors === 1 ? "sensor" : "sensors"}, one pass of the network in ${answer.milliseconds.toFixed(0)} ms.`);
  document.documentElement.dataset.answers = String(Number(document.documentElement.dataset.answers ?? 0) + 1);
  redraw();
}

let waiting = false;
function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    if (shown.record || shown.file) rows.forEach(drawRow);
  });
}

function drawRow({ channel, panels }) {
  const { size, answer, record, file } = shown;
  const field = answer?.arrays[channel];
  const truth = file ? undefined : record[channel];
  const sensors = readings(channel);
  const scale = truth ? Scale.of(truth) : field ? Scale.of(field) : new Scale("signed", -1, 1);
  const disk = file ? undefined : record.disk;
  const ink = dark.matches ? "rgba(240,240,240,.75)" : "rgba(20,20,20,.6)";
  const finish = (surface) => disk && draw.drawDisk(surface, disk, size, dark.matches ? "#4a525b" : "#b9bfc6");

  const measured = draw.prepare(panels[0].canvas);
  const opacity = Number(find("truth").value) / 100;
  if (truth && opacity > 0) draw.drawField(measured, truth, size, scale, opacity);
  finish(measured);
  draw.drawSensors(measured, sensors, size, scale, ink);
  if (shown.cursor[channel]) draw.drawCursor(measured, shown.cursor[channel], size, dark.matches ? "#fff" : "#000");
  caption(panels[0], `${sensors.length.toLocaleString("en")} ${sensors.length === 1 ? "sensor" : "sensors"}`, scale);

  const second = phone.matches ? shown.view : "recovered";
  drawView(panels[1], second, { channel, field, truth, scale, finish });
  if (!phone.matches) drawView(panels[2], shown.view === "recovered" ? "off" : shown.view, { channel, field, truth, scale, finish });
}

function drawView(panel, view, { channel, field, truth, scale, finish }) {
  const { size, answer } = shown;
  const surface = draw.prepare(panel.canvas);
  panel.view = view;
  if (!field) return caption(panel, "");
  if (view === "recovered") {
    draw.drawField(surface, field, size, scale);
    finish(surface);
    return caption(panel, errorOf(channel), scale);
  }
  const band = bandOf(channel);
  const values = view === "off" ? truth && field.map((value, k) => value - truth[k]) : band?.values;
  if (!values) return caption(panel, view === "off" ? "no truth to compare with" : "no band");
  const widths = view === "off" ? Scale.ofErrors(values) : Scale.ofWidths(values);
  draw.drawField(surface, values, size, widths);
  finish(surface);
  caption(panel, view === "off" ? "recovered − true" : band.name, widths);
  void answer;
}

/// The narrower band of a channel; of a two-valued field the probability of the larger value.
function bandOf(channel) {
  const arrays = shown.answer.arrays;
  const level = shown.answer.summary.problems[0].bands?.levels[0];
  const values = level && arrays[`${channel}_band${Math.round(100 * level)}`];
  if (values) return { values, name: `${Math.round(100 * level)}% within ±` };
  const probability = arrays[`${channel}_probability`];
  return probability && { values: probability, name: "probability" };
}

function errorOf(channel) {
  const errors = shown.answer.errors;
  if (!errors) return "";
  if (channel === "a" && errors.length === 3) return `${errors[2].toPrecision(2)}% of pixels wrong`;
  const error = errors[CHANNELS.indexOf(channel)];
  return Number.isFinite(error) ? `${error.toPrecision(2)}% error` : "";
}

function caption({ caption: place, canvas, kind }, text, scale) {
  const words = document.createElement("strong");
  words.textContent = text;
  const parts = [words];
  if (scale) {
    const strip = Object.assign(document.createElement("span"), { className: "scale" });
    const bar = document.createElement("i");
    bar.style.background = scale.gradient();
    strip.append(figure(scale.low), bar, figure(scale.high));
    parts.push(strip);
  }
  place.replaceChildren(...parts);
  if (kind !== "measured") canvas.setAttribute("aria-label", text || "empty");
}

const figure = (value) => {
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.01 || size >= 1e4)) return value.toExponential(1).replace("-", "−").replace("e−", "e-");
  return String(Number(value.toPrecision(2))).replace("-", "−");
};

function say(text) {
  find("status").textContent = text;
}

/// Says why something cannot be done; without a text, takes it back.
function refuse(text) {
  const box = find("refused");
  box.hidden = !text;
  if (!text) return box.replaceChildren();
  const close = Object.assign(document.createElement("button"), { type: "button", textContent: "×", ariaLabel: "Close", onclick: () => refuse() });
  box.replaceChildren(close, text);
}

async function layOut() {
  shown.file = undefined;
  const { family, count, draw: number, measured } = shown;
  for (const [channel, name] of CHANNELS.entries()) {
    const wanted = measured === "both" || measured === name;
    const request = { family, budget: allowed(family, count), channel, draw: number };
    shown.points[name] = new Set(wanted ? await ask("mask", request) : []);
  }
  update();
}

/// The number of sensors nearest to the one asked for that a family can have.
function allowed(name, count) {
  const family = facts.families.find((one) => one.name === name);
  if (family.any_budget) return count;
  return family.budgets.reduce((best, one) => (Math.abs(one - count) < Math.abs(best - count) ? one : best));
}

function showCount() {
  const count = allowed(shown.family, shown.count);
  find("count-shown").textContent = count.toLocaleString("en");
  find("count").setAttribute("aria-valuetext", `${count} sensors`);
}

async function openRecord(number) {
  const { problem } = shown;
  say(`Solving a fresh record of ${problem.title}.`);
  const record = await ask("record", { pde: problem.name, number });
  if (problem !== shown.problem) return;
  Object.assign(shown, { number, record, file: undefined, answer: undefined });
  history.replaceState(null, "", `#${problem.name}/${number}`);
  await layOut();
}

async function openProblem(name, number = 0) {
  shown.problem = facts.problems.find((problem) => problem.name === name);
  shown.answer = undefined;
  const { fields, title, has_exact } = shown.problem;
  find("equation").textContent = EQUATIONS[name];
  press("problems", name);
  rows.forEach(({ channel, title: head, panels }) => {
    const more = Object.assign(document.createElement("span"), { textContent: ` ${fields[channel].name}` });
    head.replaceChildren(channel, more);
    panels[0].canvas.setAttribute("aria-label", `Sensors of ${channel}, ${fields[channel].name}. Arrow keys move, Enter places or removes a sensor.`);
  });
  find("method-line").hidden = !has_exact;
  document.title = `SCOPE: ${title}`;
  await openRecord(number);
}

async function openFile(file) {
  if (!file) return;
  try {
    const opened = await ask("open", { pde: shown.problem.name, name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) });
    shown.file = { name: file.name, ...opened };
    shown.answer = undefined;
    update();
  } catch (error) {
    refuse(error.message);
  }
}

function showTruth() {
  const share = find("truth").value;
  find("truth-shown").textContent = share === "0" ? "hidden" : `${share}%`;
  redraw();
}

function connect() {
  choice("problems", facts.problems.map(({ name, title }) => [name, title]), "", (name) => openProblem(name).catch(fail));
  choice("tools", [["point", "Point", "Places a sensor, or removes the one there"], ["brush", "Brush", "Places many along the way"], ["erase", "Erase", "Removes those along the way"]], shown.tool, (tool) => (shown.tool = tool));
  choice("channels", [["a", "a"], ["u", "u"], ["both", "both"]], shown.measured, (measured) => {
    shown.measured = measured;
    layOut().catch(fail);
  });
  choice("views", Object.entries(VIEWS), shown.view, (view) => {
    shown.view = view;
    heads();
    redraw();
  });
  choice("methods", [["network", "network"], ["exact", "exact posterior", "The best possible answer, where it exists"]], shown.method, (method) => {
    shown.method = method;
    update();
  });
  const family = find("family");
  family.replaceChildren(...facts.families.map(({ name }) => new Option(name, name)));
  family.onchange = () => {
    shown.family = family.value;
    showCount();
    layOut().catch(fail);
  };
  const count = find("count");
  count.max = COUNTS.length - 1;
  count.value = COUNTS.indexOf(shown.count);
  count.oninput = () => {
    shown.count = COUNTS[count.value];
    showCount();
    layOut().catch(fail);
  };
  find("again").onclick = () => {
    shown.draw += 1;
    layOut().catch(fail);
  };
  find("clear").onclick = () => {
    shown.file = undefined;
    shown.points = { a: new Set(), u: new Set() };
    update();
  };
  find("truth").oninput = showTruth;
  find("record").onclick = () => openRecord(shown.number + 1).catch(fail);
  find("file").onchange = async (event) => {
    await openFile(event.target.files[0]);
    event.target.value = "";
  };
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    openFile(event.dataTransfer.files[0]);
  });
  find("save").onchange = async (event) => {
    const what = event.target.value;
    event.target.value = "";
    if (!shown.answer) return refuse("There is nothing to save yet: measure something first.");
    const panels = ({ panels, channel }) => ({
      name: channel,
      panels: panels.filter(({ canvas }) => canvas.clientWidth).map(({ canvas, kind, view }) => ({ canvas, title: kind === "measured" ? "measured" : VIEWS[view] })),
    });
    await save(what, request(), rows.map(panels), `SCOPE: ${shown.problem.title}, ${find("status").textContent}`).catch((error) => refuse(error.message));
  };
  for (const media of [phone, dark]) media.addEventListener("change", () => (heads(), redraw()));
  addEventListener("resize", redraw);
}

/// Names of the columns, which a phone has two of. Where all three are seen, what is recovered is always among them.
function heads() {
  const names = { recovered: "recovered", off: "what it is off by", band: "error band, half-width" };
  const view = !phone.matches && shown.view === "recovered" ? "off" : shown.view;
  document.querySelector(".heads .second").textContent = phone.matches ? names[shown.view] : names.recovered;
  document.querySelector(".heads .third").textContent = names[view];
  find("views").querySelector('[data-value="recovered"]').hidden = !phone.matches;
  press("views", view);
}

async function start() {
  facts = await ask("start");
  shown.size = facts.size;
  rows = CHANNELS.map(buildRow);
  if (phone.matches) shown.view = "recovered";
  connect();
  heads();
  showCount();
  showTruth();
  heedProgress((share) => say(share < 1 ? `Loading the model, ${(100 * share).toFixed(0)}%.` : "Starting the model."));
  document.documentElement.dataset.module = facts.module;
  const [name, number] = location.hash.slice(1).split("/");
  const known = facts.problems.some((problem) => problem.name === name);
  await openProblem(known ? name : "poisson", known && /^\d{1,6}$/.test(number) ? Number(number) : 0);
}

start().catch(fail);
