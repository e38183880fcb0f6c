// Buttons, sliders and files: what a person chooses, passed on.

import { VIEWS, redraw, thirdView } from "./panels.js";
import { allowedCount, dark, find, phone, shown, withoutLinear } from "./state.js";
import { LAYOUTS, counted } from "./wording.js";

const COUNTS = [1, 2, 5, 10, 20, 50, 100, 200, 300, 500, 700, 1000, 2000, 4000];

/// Buttons of which one is chosen.
function choice(id, options, current, choose) {
  const button = ([value, name, title]) => {
    const made = Object.assign(document.createElement("button"), { type: "button", textContent: name, title: title ?? "" });
    made.dataset.value = value;
    made.onclick = () => {
      press(id, value);
      choose(value);
    };
    return made;
  };
  find(id).replaceChildren(...options.map(button));
  press(id, current);
}

/// Shows which button of a group is chosen.
export function press(id, value) {
  for (const button of find(id).children) button.setAttribute("aria-pressed", String(button.dataset.value === value));
}

/// Shows the methods that the problem has.
export function showMethods() {
  const why = withoutLinear();
  const button = (name) => find("methods").querySelector(`[data-value="${name}"]`);
  button("exact").hidden = !shown.problem.has_exact;
  button("linear").disabled = why !== undefined;
  find("method-note").textContent = why ?? "";
  find("method-note").hidden = why === undefined;
  press("methods", shown.method === "exact" && !shown.problem.has_exact ? "network" : shown.method);
}

/// Connects all controls to what they do: { openProblem, openRecord, layOut, look, useMethod, clear, openFile, save }.
export function connect(actions) {
  connectChoices(actions);
  connectLayout(actions);
  const truth = find("truth");
  truth.oninput = showTruth;
  showTruth();
  find("record").onclick = () => actions.openRecord(shown.number + 1);
  find("file").onchange = async (event) => {
    await actions.openFile(event.target.files[0]);
    event.target.value = "";
  };
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length) actions.openFile(event.dataTransfer.files[0]);
  });
  find("save").onchange = (event) => {
    actions.save(event.target.value);
    event.target.value = "";
  };
  for (const media of [phone, dark]) media.addEventListener("change", () => (showViews(), redraw()));
  addEventListener("resize", redraw);
}

function connectChoices({ openProblem, layOut, look, useMethod }) {
  const problems = shown.facts.problems.map(({ name, title }) => [name, title === "NS" ? "Navier-Stokes" : title]);
  choice("problems", problems, "", (name) => openProblem(name));
  const tools = [
    ["point", "Point", "Places a sensor, or removes the one there"],
    ["brush", "Brush", "Places many along the way"],
    ["erase", "Erase", "Removes those along the way"],
  ];
  choice("tools", tools, shown.tool, (tool) => (shown.tool = tool));
  choice("channels", [["a", "a"], ["u", "u"], ["both", "both"]], shown.measured, (measured) => {
    shown.measured = measured;
    layOut();
  });
  choice("views", Object.entries(VIEWS), shown.view, (view) => {
    shown.view = view;
    look();
  });
  showViews();
  const methods = [
    ["network", "network"],
    ["exact", "exact", "The exact posterior: the best possible answer, where it exists; it takes seconds"],
    ["linear", "linear", "The best linear estimate from hundreds of records, which are solved here first"],
  ];
  choice("methods", methods, shown.method, (method) => {
    shown.method = method;
    useMethod();
  });
}

/// A phone shows one view at a time; elsewhere what is recovered is always seen.
function showViews() {
  find("views").querySelector('[data-value="recovered"]').hidden = !phone.matches;
  press("views", phone.matches ? shown.view : thirdView());
}

function connectLayout({ layOut, clear }) {
  const family = find("family");
  family.replaceChildren(...shown.facts.families.map(({ name }) => new Option(LAYOUTS[name] ?? name, name)));
  family.onchange = () => {
    shown.family = family.value;
    showCount();
    layOut();
  };
  const count = find("count");
  count.max = COUNTS.length - 1;
  count.value = COUNTS.indexOf(shown.count);
  count.oninput = () => {
    shown.count = COUNTS[count.value];
    showCount();
    layOut();
  };
  showCount();
  find("again").onclick = () => {
    shown.draw += 1;
    layOut();
  };
  find("clear").onclick = clear;
}

function showCount() {
  const count = allowedCount();
  find("count-shown").textContent = count.toLocaleString("en");
  find("count").setAttribute("aria-valuetext", counted(count, "sensor"));
}

function showTruth() {
  shown.truth = Number(find("truth").value) / 100;
  find("truth-shown").textContent = shown.truth === 0 ? "hidden" : `${find("truth").value}%`;
  redraw();
}
