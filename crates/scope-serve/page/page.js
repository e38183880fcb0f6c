// The page: which record is shown, where its sensors are, and what is recovered from them.

import { connect, press, showMethods } from "./controls.js";
import { withModels } from "./models.js";
import { build, nameFields, redraw } from "./panels.js";
import { ask, fitLinearly, forget, heedProgress, recover, restart } from "./recovery.js";
import { save } from "./save.js";
import { CHANNELS, allowedCount, find, inDisk, phone, placeInWords, request, shown } from "./state.js";
import { countWarnings, stateTrust } from "./trust.js";
import { counted, duration } from "./wording.js";

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

const percentOf = (share) => `${5 * Math.floor(20 * share)}%`;
const PROGRESS = {
  model: (share) => (share < 1 ? `Loading the model, ${percentOf(share)}.` : "Starting the model."),
  fit: (share) => (share < 1 ? `Solving records for the linear fit, ${percentOf(share)}.` : "Fitting them."),
  exact: (share, stage) => `Computing the exact posterior: ${stage}, ${percentOf(share)}. Until then the network’s fields are shown.`,
  measure: (share) => `Measuring errors and bands on fresh records, ${percentOf(share)}.`,
};

/// Says what the page does, and which warnings there are.
function say(text, warnings = 0) {
  const status = find("status");
  const all = warnings ? `${text} ${counted(warnings, "warning")}` : text;
  // What is said once is not read out again.
  if (status.textContent === all) return;
  const link = Object.assign(document.createElement("a"), { href: "#warnings", textContent: counted(warnings, "warning"), onclick: showWarnings });
  status.replaceChildren(...(warnings ? [`${text} `, link] : [text]));
}

/// The address keeps the record: it is not changed.
function showWarnings(event) {
  event.preventDefault();
  find("warnings").scrollIntoView({ block: "center" });
  find("warnings").focus({ preventScroll: true });
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

/// Something about the sensors or the method has changed; or errors and bands are to be measured for these very sensors.
function update(measured = false) {
  refuse();
  tellPlace();
  redraw();
  const asked = { ...request(), measured };
  if (!asked.file && !asked.points.length) {
    forget();
    fail({ message: "" });
    return say("Nothing is measured: touch a field on the left, or lay out some sensors.");
  }
  document.body.classList.add("busy");
  recover(asked, {
    fields: (fields) => showFields(asked, fields),
    answer: (answer, isNewest, isLast) => show(asked, answer, isNewest, isLast),
    refusal: (error, isBeyond) => (isBeyond ? remain(asked, error) : fail(error)),
  });
}

/// Whether what was asked is still about what is shown.
function isCurrent(asked) {
  const isMeasured = shown.file || CHANNELS.some((channel) => shown.points[channel].size);
  return isMeasured && asked.pde === shown.problem.name && asked.number === shown.number && asked.file === shown.file;
}

/// Fields that nothing is said of yet: what was said of those before stands for a moment longer.
function showFields(asked, { arrays, errors }) {
  const before = shown.answer;
  if (!isCurrent(asked) || before?.method !== "network") return;
  shown.answer = { ...before, arrays: { ...before.arrays, ...arrays }, errors };
  redraw();
  count("fields");
}

function show(asked, answer, isNewest, isLast) {
  if (!isCurrent(asked)) return;
  shown.answer = answer;
  const truth = shown.file ? undefined : shown.record;
  stateTrust(find("statement"), find("warnings"), { ...answer, fit: shown.fit }, truth, isLast && (() => update(true)));
  if (isNewest && isLast) document.body.classList.remove("busy");
  if (isLast) sayAnswer();
  else if (asked.measured) say(PROGRESS.measure(0));
  else say("Computing the exact posterior. Until then the network’s fields are shown.");
  redraw();
  count("answers");
}

function sayAnswer() {
  const { answer, file, points } = shown;
  const sensors = file ? file.list.length / 4 : points.a.size + points.u.size;
  say(`${counted(sensors, "sensor")}, both fields in ${duration(answer.milliseconds)}.`, countWarnings(answer));
}

/// What was refused goes beyond the fields that are shown, which remain.
function remain(asked, error) {
  if (!isCurrent(asked)) return;
  document.body.classList.remove("busy");
  sayAnswer();
  refuse(error.message);
}

/// For whoever waits for something, as the tests do.
function count(what) {
  const { dataset } = document.documentElement;
  dataset[what] = String(Number(dataset[what] ?? 0) + 1);
}

/// Another view was chosen. Standard deviations are computed once they are looked at.
function look() {
  const { answer } = shown;
  if (answer && request().deviations && !answer.deviations) update();
  else redraw();
}

/// Answers with the method that was chosen. The linear one is fitted first, once for a problem, while the network
/// answers.
async function useMethod() {
  update();
  const { problem } = shown;
  if (shown.method !== "linear" || shown.fit || fitting === problem) return;
  fitting = problem;
  try {
    const fit = await fitLinearly(problem.name);
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
  shown.cursor = cursor ? { [channel]: cursor } : {};
  tellPlace();
  redraw();
}

/// Says where the keyboard is, and what is there.
function tellPlace() {
  const [place] = shown.record ? Object.entries(shown.cursor) : [];
  find("place").textContent = place ? placeInWords(...place) : "";
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
  const { problem } = shown;
  try {
    const bytes = new Uint8Array(await file.arrayBuffer());
    const opened = await ask("open", { pde: problem.name, name: file.name, bytes });
    if (problem !== shown.problem) return;
    Object.assign(shown, { file: { name: file.name, bytes, ...opened }, answer: undefined });
    update();
  } catch (error) {
    refuse(error.message);
  }
}

async function saveFile(what) {
  if (!shown.answer) return refuse("There is nothing to save yet: measure something first.");
  try {
    await save(what, request(), `SCOPE: ${shown.problem.title}, ${find("status").textContent}`);
  } catch (error) {
    refuse(error.message);
  }
}

/// An action whose failure is said.
const guarded = (action) => (...inputs) => Promise.resolve(action(...inputs)).catch(fail);

async function start() {
  // A fit goes on where another method is chosen meanwhile, which then speaks for itself.
  heedProgress(({ what, share, stage }) => (what !== "fit" || shown.method === "linear") && say(PROGRESS[what](share, stage)));
  const facts = await restart();
  shown.facts = { ...facts, problems: await withModels(facts.problems) };
  shown.size = shown.facts.size;
  document.documentElement.dataset.module = shown.facts.module;
  if (phone.matches) shown.view = "recovered";
  build(change, moved);
  const actions = { openProblem, openRecord, layOut, look, useMethod, clear, openFile, save: saveFile };
  connect(Object.fromEntries(Object.entries(actions).map(([name, action]) => [name, guarded(action)])));
  const [name, number] = location.hash.slice(1).split("/");
  const known = shown.facts.problems.some((problem) => problem.name === name);
  const first = shown.facts.problems.find((problem) => problem.name === "poisson") ?? shown.facts.problems[0];
  await openProblem(known ? name : first.name, known && /^\d{1,6}$/.test(number) ? Number(number) : 0);
}

start().catch(fail);
