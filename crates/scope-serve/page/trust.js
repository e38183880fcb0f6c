// Says how far a recovery can be trusted, in the words of its summary.

const percent = (value) => (value === undefined || value === null || Number.isNaN(value) ? "–" : `${value.toPrecision(value >= 99.5 ? 3 : 2)}%`);
const grouped = (count) => count.toLocaleString("en");

/// The share of pixels whose error is within a band, in percent.
function within(field, truth, widths) {
  let held = 0;
  for (let k = 0; k < field.length; k++) held += Math.abs(field[k] - truth[k]) <= widths[k];
  return (100 * held) / field.length;
}

/// Fills the statement and the list of warnings. `truth` is missing for sensors of one's own.
export function stateTrust(statement, warnings, answer, truth) {
  const problem = answer.summary.problems[0];
  const ofNetwork = (answer.networkSummary ?? answer.summary).problems[0];
  const said = [...sentences(answer, problem, ofNetwork, truth), ...(problem.remarks ?? []), ...answer.summary.notes];
  const notes = said.map((text) => Object.assign(element("p", capital(text)), { className: "note" }));
  statement.replaceChildren(table(answer, ofNetwork), ...notes);
  warnings.replaceChildren(...problem.warnings.map((text) => element("li", capital(text))));
}

/// The errors of this record, beside those to expect.
function table({ method, errors, networkErrors, summary }, { held_out_percent: usual, exact }) {
  const rows = [];
  const twoValued = errors?.length === 3;
  const wrong = (value) => (value === undefined ? undefined : `${percent(value)} of pixels`);
  const of = (values) => [twoValued ? wrong(values[2]) : percent(values[0]), percent(values[1])];
  if (networkErrors) rows.push(["network, this record", ...of(networkErrors), method === "network"]);
  if (method === "exact" && errors) rows.push(["exact posterior, this record", ...of(errors), true]);
  if (usual) {
    const a = usual.ber === undefined || usual.ber === null ? percent(usual.a) : wrong(usual.ber);
    rows.push(["network, usually", a, percent(usual.u), !networkErrors]);
  }
  if (exact) rows.push(["best possible, usually", percent(exact.error_percent.a), percent(exact.error_percent.u), false]);
  const body = document.createElement("table");
  if (!rows.length) return body;
  const head = body.createTHead().insertRow();
  head.append(element("th", ""), element("th", "error of a"), element("th", "error of u"));
  head.cells[1].title = head.cells[2].title = `relative L2 error over all ${summary.resolution} × ${summary.resolution} points`;
  const entries = body.createTBody();
  for (const [name, a, u, here] of rows) {
    const row = entries.insertRow();
    row.className = here ? "here" : "";
    row.append(element("th", name), element("td", a), element("td", u));
  }
  return body;
}

function sentences({ arrays, method, exactMilliseconds, networkSummary, summary }, problem, ofNetwork, truth) {
  const out = [];
  const nearest = ofNetwork.nearest;
  if (ofNetwork.held_out_percent && nearest) {
    const records = grouped((networkSummary ?? summary).method.held_out_records);
    out.push(`“Usually” is the mean over ${records} held-out records measured as in ${nearest.condition}.`);
  }
  const bands = problem.bands;
  if (bands) {
    const level = Math.round(100 * bands.levels[0]);
    const share = (channel) => {
      const widths = arrays[`${channel}_band${level}`];
      return widths && truth ? `${within(arrays[channel], truth[channel], widths).toFixed(0)}% of ${channel}` : undefined;
    };
    const here = ["a", "u"].map(share).filter(Boolean).join(" and ");
    out.push(`Within its band lie ${level}% of all pixels, on average over fields${here ? `; here, ${here}` : ""}.`);
  }
  if (problem.without_bands) out.push(`No error bands: ${reason(problem.without_bands)}.`);
  if (method === "exact") {
    out.push(`The exact posterior, here in ${exactMilliseconds.toFixed(0)} ms, is the best answer there is for fields drawn as these are.`);
    out.push("Its standard deviations take seconds more: scope recover --method exact has them.");
  }
  return out;
}

function reason(without) {
  return typeof without === "string" ? without : (without.reason ?? without.text ?? JSON.stringify(without));
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}
