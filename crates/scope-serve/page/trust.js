// Says how far a recovery can be trusted, in the words of its summary.

import { duration, grouped, measuredAs, percent, sentence, withoutNames } from "./wording.js";

/// The share of pixels whose error is within a band, in percent.
function within(field, truth, widths) {
  let held = 0;
  for (let k = 0; k < field.length; k++) held += Math.abs(field[k] - truth[k]) <= widths[k];
  return (100 * held) / field.length;
}

const NAMES = { exact: "exact posterior", linear: "linear fit" };

/// What warnings say that blame the readings, and what is true of those that were placed here.
const ACCUSING = /look noisy|not fit the others|rougher or noisier|contradict the model/;
const FALSE_ALARM = "The sensors placed here read the record exactly: a warning that blames readings is a false alarm.";

/// How many warnings there are of an answer.
export const countWarnings = ({ summary }) => summary.problems[0].warnings.length;

/// Fills the statement and the list of warnings. `truth` is missing for sensors of one's own; `measure` has errors and
/// bands measured for these very sensors, unless they are being measured.
export function stateTrust(statement, warnings, answer, truth, measure) {
  const problem = answer.summary.problems[0];
  const ofNetwork = (answer.networkSummary ?? answer.summary).problems[0];
  const inWords = (text) => sentence(withoutNames(truth ? withPlaces(text, problem) : text));
  const alarm = truth && problem.warnings.some((text) => ACCUSING.test(text)) ? [FALSE_ALARM] : [];
  const said = [...sentences(answer, problem, ofNetwork, truth), ...alarm, ...(problem.remarks ?? []), ...answer.summary.notes];
  const notes = said.map((text) => Object.assign(element("p", inWords(text)), { className: "note" }));
  statement.replaceChildren(table(answer, ofNetwork), ...notes, ...(answer.measurable && measure ? [measuring(measure)] : []));
  warnings.replaceChildren(...problem.warnings.map((text) => element("li", inWords(text))));
}

/// Sensors that were placed here have no line in a file: they are called by their places.
function withPlaces(text, { suspects = [] }) {
  return suspects.reduce((all, { label, x, y }) => all.replaceAll(`${label}:`, `at x ${x.toFixed(2)}, y ${y.toFixed(2)}`), text);
}

function measuring(measure) {
  const button = Object.assign(element("button", "Measure errors and bands"), { type: "button", onclick: measure });
  button.title = "The network recovers fresh records from these very sensors; it takes some twenty seconds";
  return button;
}

/// The errors of this record, beside those to expect.
function table({ method, errors, networkErrors, summary }, ofNetwork) {
  const rows = [];
  const twoValued = errors?.length === 3;
  const of = (values) => [twoValued ? ofPixels(values[2]) : percent(values[0]), percent(values[1])];
  if (networkErrors) rows.push(["network, this record", ...of(networkErrors), method === "network"]);
  if (method !== "network" && errors) rows.push([`${NAMES[method]}, this record`, ...of(errors), true]);
  const { exact } = ofNetwork;
  const usual = usualErrors(ofNetwork);
  if (usual) rows.push(["network, usually", usual.a, usual.u, !networkErrors]);
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

/// The errors that the network usually has with such sensors: with these very ones, where that was measured.
function usualErrors({ calibrated, held_out_percent: heldOut, two_valued: twoValued }) {
  if (!calibrated) return heldOut && { a: isNumber(heldOut.ber) ? ofPixels(heldOut.ber) : percent(heldOut.a), u: percent(heldOut.u) };
  const { a, u } = calibrated.error_percent;
  return { a: twoValued ? `${percent(a)} in L2` : percent(a), u: percent(u) };
}

const isNumber = (value) => typeof value === "number";
const ofPixels = (value) => `${percent(value)} of pixels`;

function sentences(answer, problem, ofNetwork, truth) {
  const said = [usually(answer, ofNetwork), ofBands(answer, problem, truth)];
  if (answer.method === "exact") said.push(...ofExact(answer, problem, truth));
  if (answer.method === "linear") said.push(...ofLinear(answer));
  return said.filter(Boolean);
}

/// What the usual errors of the table are means over.
function usually({ networkSummary, summary }, { nearest, held_out_percent: heldOut, calibrated, exact }) {
  const means = [];
  if (calibrated) means.push(`${grouped(calibrated.records)} fresh records seen by these very sensors`);
  else if (heldOut && nearest) {
    const records = (networkSummary ?? summary).method.held_out_records;
    means.push(`${grouped(records)} unseen records with ${measuredAs(nearest.condition)}`);
  }
  if (exact) means.push(`${grouped(exact.records)} unseen records with ${measuredAs(exact.condition)}`);
  const [first, best = first] = means;
  if (!first) return undefined;
  return `“Usually” is the mean over ${first}${best === first ? "" : `; of the best possible, over ${best}`}.`;
}

function ofBands({ arrays }, { bands, without_bands: reason, warnings }, truth) {
  if (bands) {
    const level = Math.round(100 * bands.levels[0]);
    return `Within its band lie ${level}% of all pixels, on average over fields${held(arrays, truth, `band${level}`)}.`;
  }
  if (!reason) return undefined;
  return warnings.includes(reason) ? "No error bands, for a reason below." : `No error bands: ${reason}`;
}

/// What is said of the exact posterior; nothing of its deviations where the readings contradict it.
function ofExact({ arrays, deviations }, problem, truth) {
  const best = "The exact posterior has the smallest errors that are possible, on average over fields drawn as these are.";
  if (!deviations) return [best, "Look at the error band for its standard deviations, which take longer."];
  if (!problem.expected_percent) return [best];
  return [best, `Within one standard deviation lie 68% of all pixels, on average over fields${held(arrays, truth, "sd")}.`];
}

function ofLinear({ fit, deviations }) {
  const { records, modes, milliseconds } = fit;
  const made = `${grouped(records)} records (${grouped(modes)} modes), solved and fitted here in ${duration(milliseconds)}`;
  const linear = `The linear fit is of ${made}; of more it errs less (scope fit linear).`;
  return deviations ? [linear] : [linear, "Look at the error band for its bands, which take longer."];
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

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

const heading = (text, scope) => Object.assign(element("th", text), { scope });
