// Says how far a recovery can be trusted, in the words of its summary.

import { LAYOUTS, duration, grouped, percent, sentence } from "./wording.js";

/// The share of pixels whose error is within a band, in percent.
function within(field, truth, widths) {
  let held = 0;
  for (let k = 0; k < field.length; k++) held += Math.abs(field[k] - truth[k]) <= widths[k];
  return (100 * held) / field.length;
}

const NAMES = { exact: "exact posterior", linear: "linear fit" };

/// How many warnings there are of an answer.
export const countWarnings = ({ summary }) => summary.problems[0].warnings.length;

/// Fills the statement and the list of warnings. `truth` is missing for sensors of one's own.
export function stateTrust(statement, warnings, answer, truth) {
  const problem = answer.summary.problems[0];
  const ofNetwork = (answer.networkSummary ?? answer.summary).problems[0];
  const said = [...sentences(answer, problem, ofNetwork, truth), ...(problem.remarks ?? []), ...answer.summary.notes];
  const notes = said.map((text) => Object.assign(element("p", sentence(text)), { className: "note" }));
  statement.replaceChildren(table(answer, ofNetwork), ...notes);
  warnings.replaceChildren(...problem.warnings.map((text) => element("li", sentence(text))));
}

/// The errors of this record, beside those to expect.
function table({ method, errors, networkErrors, summary }, { held_out_percent: usual, exact }) {
  const rows = [];
  const twoValued = errors?.length === 3;
  const wrong = (value) => (value === undefined ? undefined : `${percent(value)} of pixels`);
  const of = (values) => [twoValued ? wrong(values[2]) : percent(values[0]), percent(values[1])];
  if (networkErrors) rows.push(["network, this record", ...of(networkErrors), method === "network"]);
  if (method !== "network" && errors) rows.push([`${NAMES[method]}, this record`, ...of(errors), true]);
  if (usual) {
    const a = usual.ber === undefined || usual.ber === null ? percent(usual.a) : wrong(usual.ber);
    rows.push(["network, usually", a, percent(usual.u), !networkErrors]);
  }
  if (exact) rows.push(["best possible, usually", percent(exact.error_percent.a), percent(exact.error_percent.u), false]);
  const body = document.createElement("table");
  if (!rows.length) return body;
  const head = body.createTHead().insertRow();
  head.append(...["method", "error of a", "error of u"].map((name) => heading(name, "col")));
  head.cells[1].title = head.cells[2].title = `relative L2 error over all ${summary.resolution} × ${summary.resolution} points`;
  const entries = body.createTBody();
  for (const [name, a, u, here] of rows) {
    const row = entries.insertRow();
    row.className = here ? "here" : "";
    row.append(heading(name, "row"), element("td", a), element("td", u));
  }
  return body;
}

function sentences(answer, problem, ofNetwork, truth) {
  const { arrays, method, networkSummary, summary } = answer;
  const out = [];
  const nearest = ofNetwork.nearest;
  if (ofNetwork.held_out_percent && nearest) {
    const records = grouped((networkSummary ?? summary).method.held_out_records);
    out.push(`“Usually” is the mean over ${records} held-out records with ${measuredAs(nearest.condition)}.`);
  }
  const bands = problem.bands;
  if (bands) {
    const level = Math.round(100 * bands.levels[0]);
    out.push(`Within its band lie ${level}% of all pixels, on average over fields${held(arrays, truth, `band${level}`)}.`);
  }
  if (problem.without_bands) out.push(`No error bands: ${problem.without_bands}.`);
  return method === "network" ? out : [...out, ...ofPosterior(answer, truth)];
}

/// What is said of the exact posterior, and of a linear fit.
function ofPosterior({ arrays, method, fit, deviations, milliseconds }, truth) {
  const took = duration(milliseconds);
  const what = {
    exact: () => [`The exact posterior, here in ${took}, is the best answer there is for fields drawn as these are.`],
    linear: () => [
      `The linear estimate, here in ${took}, is fitted to ${grouped(fit.records)} fresh records (${grouped(fit.modes)} modes), solved and fitted here in ${duration(fit.milliseconds)}.`,
      "With thousands of records it has smaller errors: scope fit linear.",
    ],
  }[method]();
  const spread = deviations
    ? `Within one standard deviation should lie 68% of all pixels${held(arrays, truth, "sd")}.`
    : "Look at the band for its standard deviations, which take longer.";
  return [...what, spread];
}

/// How many pixels lie within widths here, where the truth is known.
function held(arrays, truth, kind) {
  const share = (channel) => {
    const widths = arrays[`${channel}_${kind}`];
    return widths && truth ? `${within(arrays[channel], truth[channel], widths).toFixed(0)}% of ${channel}` : undefined;
  };
  const here = ["a", "u"].map(share).filter(Boolean).join(" and ");
  return here && `; here, ${here}`;
}

const TASKS = { forward: "a", inverse: "u", joint: "each of a and u" };

/// A condition, such as inverse/uniform/500, in words.
function measuredAs(condition) {
  const [task, layout, budget] = condition.split("/");
  return TASKS[task] && LAYOUTS[layout] ? `${budget} sensors of ${TASKS[task]}, ${LAYOUTS[layout]}` : `sensors as in ${condition}`;
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

const heading = (text, scope) => Object.assign(element("th", text), { scope });
