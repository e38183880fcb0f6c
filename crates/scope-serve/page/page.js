// The page: which record is shown, where its sensors are, and what is recovered from them.

import { connect, press, showMethods } from "./controls.js";
import { VIEWS, build, nameFields, redraw, rows } from "./panels.js";
import { ask, heedProgress, recover, restart } from "./recovery.js";
import { save } from "./save.js";
import { CHANNELS, allowedCount, counted, find, inDisk, phone, request, shown } from "./state.js";
import { stateTrust } from "./trust.js";

/// Equations as people write them; everything else about problems comes from the library.
const EQUATIONS = {
  poisson: "∇²u = a",
  helmholtz: "∇²u + u = a",
  darcy: "−∇·(a ∇u) = 1",
  ns: "vorticity: a at 0 s, u at 1 s",
  cylinder: "speed: a at 0.5 s, u at 0.9 s",
};

/// The problem that the linear method is being fitted to.
let fitting;

const PROGRESS = {
  model: (share) => (share < 1 ? `Loading the model, ${(100 * share).toFixed(0)}%.` : "Starting the model."),
  fit: (share) => (share < 1 ? `Solving records for the linear fit, ${(100 * share).toFixed(0)}%.` : "Fitting them."),
};

function say(text) {
  find("status").textContent = text;
}

/// Says why something cannot be done; without a text, takes it back.
function refuse(text) {
  const box = find("refused");
  box.hidden = !text;
  const close = Object.assign(document.createElement("button"), { type: "button", textContent: "×", ariaLabel: "Close", onclick: () => refuse() });
  box.replaceChildren(...(text ? [close, text] : []));
}

function fail(error) {
  shown.answer = undefined;
  find("statement").replaceChildren();
  find("warnings").replaceChildren();
  document.body.classList.remove("busy");
  say("");
  refuse(error.message);
  redraw();
}

/// Something about the sensors or the method has changed.
function update() {
  refuse();
  redraw();
  const asked = request();
  if (!asked.file && !asked.points.length) {
    fail({ message: "" });
    return say("Nothing is measured: touch a field on the left, or lay out some sensors.");
  }
  document.body.classList.add("busy");
  const first = (fields) => showFields(asked, fields);
  recover(asked, first, (answer, isNewest) => show(asked, answer, isNewest), fail);
}

/// Whether what was asked is still about what is shown.
const isCurrent = (asked) => asked.pde === shown.problem.name && asked.file === (shown.file !== undefined);

/// Fields that nothing is said of yet: what was said of those before stands for a moment longer.
function showFields(asked, { arrays, errors }) {
  const before = shown.answer;
  if (!isCurrent(asked) || before?.method !== "network") return;
  shown.answer = { ...before, arrays: { ...before.arrays, ...arrays }, errors };
  redraw();
  document.documentElement.dataset.fields = String(Number(document.documentElement.dataset.fields ?? 0) + 1);
}

function show(asked, answer, isNewest) {
  if (!isCurrent(asked)) return;
  shown.answer = answer;
  stateTrust(find("statement"), find("warnings"), { ...answer, fit: shown.fit }, shown.file ? undefined : shown.record);
  if (isNewest) document.body.classList.remove("busy");
  const sensors = asked.file ? shown.file.list.length / 4 : asked.points.length;
  say(`${counted(sensors)}, both fields in ${answer.milliseconds.toFixed(0)} ms.`);
  redraw();
  // For whoever waits for an answer, as the tests do.
  document.documentElement.dataset.answers = String(Number(document.documentElement.dataset.answers ?? 0) + 1);
}

/// Another view was chosen. Standard deviations are computed once they are looked at.
function look() {
  const { answer } = shown;
  if (answer && request().deviations && !answer.deviations) update();
  else redraw();
}

/// Answers with the method that was chosen. The linear one is fitted first, once for a problem, while the network answers.
async function useMethod() {
  update();
  const { problem } = shown;
  if (shown.method !== "linear" || shown.fit || fitting === problem) return;
  fitting = problem;
  try {
    const fit = await ask("fit", { pde: problem.name });
    if (problem === shown.problem) shown.fit = fit;
  } finally {
    fitting = undefined;
  }
  if (problem === shown.problem && shown.method === "linear") update();
}

/// Adds sensors to a field and removes others.
function change(channel, add, remove) {
  if (shown.file) return refuse("These are the sensors of your file. Choose “Lay out again” to place sensors on the record.");
  const points = shown.points[channel];
  add.filter((point) => !inDisk(point)).forEach((point) => points.add(point));
  remove.forEach((point) => points.delete(point));
  update();
}

function moved(channel, cursor) {
  shown.cursor = { [channel]: cursor };
  if (cursor) say(`${channel} at row ${cursor[0]}, column ${cursor[1]}`);
  redraw();
}

/// Lays out sensors as chosen.
async function layOut() {
  const { family, draw, measured, problem } = shown;
  const points = {};
  for (const [channel, name] of CHANNELS.entries()) {
    const wanted = measured === "both" || measured === name;
    points[name] = new Set(wanted ? await ask("mask", { family, budget: allowedCount(), channel, draw }) : []);
  }
  if (problem !== shown.problem) return;
  Object.assign(shown, { points, file: undefined });
  update();
}

function clear() {
  Object.assign(shown, { points: { a: new Set(), u: new Set() }, file: undefined });
  update();
}

/// Solves for a fresh record and measures it.
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
  const started = shown.problem && restart();
  shown.problem = shown.facts.problems.find((problem) => problem.name === name);
  Object.assign(shown, { answer: undefined, fit: undefined });
  fitting = undefined;
  // Hundreds of records are not solved unasked.
  if (shown.method === "linear") shown.method = "network";
  find("equation").textContent = EQUATIONS[name];
  showMethods();
  document.title = `SCOPE: ${shown.problem.title}`;
  press("problems", name);
  nameFields();
  redraw();
  await started;
  await openRecord(number);
}

/// Reads sensors of one's own. What is wrong with a file is said, and what was shown stays.
async function openFile(file) {
  try {
    const bytes = new Uint8Array(await file.arrayBuffer());
    const opened = await ask("open", { pde: shown.problem.name, name: file.name, bytes });
    Object.assign(shown, { file: opened, answer: undefined });
    update();
  } catch (error) {
    refuse(error.message);
  }
}

async function saveFile(what) {
  if (!shown.answer) return refuse("There is nothing to save yet: measure something first.");
  const title = ({ kind, view }) => (kind === "measured" ? kind : VIEWS[view]);
  const pictured = rows.map(({ channel, panels }) => ({
    name: channel,
    panels: panels.filter(({ canvas }) => canvas.clientWidth).map((panel) => ({ canvas: panel.canvas, title: title(panel) })),
  }));
  await save(what, request(), pictured, `SCOPE: ${shown.problem.title}, ${find("status").textContent}`);
}

/// An action whose failure is said.
const guarded = (action) => (...inputs) => Promise.resolve(action(...inputs)).catch(fail);

async function start() {
  heedProgress(({ what, share }) => say(PROGRESS[what](share)));
  shown.facts = await restart();
  shown.size = shown.facts.size;
  document.documentElement.dataset.module = shown.facts.module;
  if (phone.matches) shown.view = "recovered";
  build(change, moved);
  const actions = { openProblem, openRecord, layOut, look, useMethod, clear, openFile, save: saveFile };
  connect(Object.fromEntries(Object.entries(actions).map(([name, action]) => [name, guarded(action)])));
  const [name, number] = location.hash.slice(1).split("/");
  const known = shown.facts.problems.some((problem) => problem.name === name);
  await openProblem(known ? name : "poisson", known && /^\d{1,6}$/.test(number) ? Number(number) : 0);
}

start().catch(fail);
