// Computes beside the page: makes records, reads sensors, recovers fields. One request at a time, in the order they come.

import { choose, start } from "./wasm-module.js";

const SIZE = 128;
/// The linear method is fitted to so many fresh records, with so many modes. More of them take longer, and more memory.
const RECORDS = 400;
const MODES = 160;
/// After so many records the worker listens to what else is asked.
const RECORDS_BETWEEN = 10;

let scope;
let record; // the fresh record that is shown
let opened; // sensors from a file, if there are any
let model = {}; // the network at hand: { pde, method }
let linear; // the linear fit, once it is made
let recovered; // the latest result, for files

const actions = {
  async start() {
    const name = choose();
    scope = await start(name, (await fetched("scope_wasm.gz")).buffer);
    return { module: name, size: SIZE, ...JSON.parse(scope.problems()) };
  },

  record({ pde, number }) {
    record?.free();
    record = new scope.FreshRecord(pde, number, SIZE);
    return { a: record.field(0), u: record.field(1), disk: record.disk() };
  },

  mask({ family, budget, channel, draw }) {
    return record.mask(family, budget, channel, draw);
  },

  open({ pde, name, bytes }) {
    opened?.free();
    opened = undefined;
    opened = scope.Sensors.of_file(name, bytes);
    return { list: opened.list(pde, SIZE), notes: opened.notes() };
  },

  /// Fits the linear method to fresh records of the problem. Others are served meanwhile.
  async fit({ pde }) {
    const begin = performance.now();
    const fitting = new scope.LinearFitting(pde, SIZE);
    for (let solved = 0; solved < RECORDS; solved++) {
      if (solved % RECORDS_BETWEEN === 0) {
        report("fit", solved / RECORDS);
        await new Promise((heard) => setTimeout(heard));
      }
      fitting.solve_next();
    }
    report("fit", 1);
    linear = fitting.fit(MODES);
    return { records: RECORDS, modes: MODES, milliseconds: performance.now() - begin };
  },

  /// Fields from points of the record, or from the opened file; errors where the truth is known. Of a posterior also the standard
  /// deviation of every pixel, if `deviations` says so.
  async recover({ pde, method, deviations, file, channels, points }, id) {
    const network = await networkOf(pde);
    const sensors = file ? opened : scope.Sensors.of_record(record, channels, points);
    const begin = performance.now();
    const answer = { pde, file, method, deviations };
    recovered = network.recover(sensors, (a, u) => {
      answer.milliseconds = performance.now() - begin;
      answer.networkErrors = file ? undefined : record.errors(a, u);
      // What is said of the fields may take longer than the fields.
      if (method === "network") postMessage({ id, fields: { arrays: { a, u }, errors: answer.networkErrors } });
    });
    if (method !== "network") {
      const posterior = method === "exact" ? scope.Method.exact(pde, SIZE, deviations) : linear.method(deviations);
      const begin = performance.now();
      try {
        answer.networkSummary = JSON.parse(recovered.summary());
        recovered = posterior.recover(sensors);
        answer.milliseconds = performance.now() - begin;
        answer.errors = file ? undefined : record.errors(recovered.array("a"), recovered.array("u"));
      } finally {
        posterior.free();
      }
    } else {
      answer.errors = answer.networkErrors;
    }
    if (!file) sensors.free();
    answer.arrays = Object.fromEntries(recovered.names().map((name) => [name, recovered.array(name)]));
    answer.summary = JSON.parse(recovered.summary());
    return answer;
  },

  /// The bytes of a file to save.
  save({ what, pde, file, channels, points }) {
    if (what === "sensors") {
      const sensors = file ? opened : scope.Sensors.of_record(record, channels, points);
      return sensors.csv(pde, SIZE);
    }
    if (what === "csv") return recovered.csv();
    if (what === "summary") return JSON.stringify(JSON.parse(recovered.summary()), null, 2);
    return recovered.npy(what);
  },
};

/// The network of a problem. One at a time is kept: a network takes 90 MB.
async function networkOf(pde) {
  if (model.pde === pde) return model.method;
  model.method?.free();
  model = {};
  const [card, weights] = await Promise.all([fetched(`models/${pde}.toml`), fetched(`models/${pde}.safetensors`, (share) => report("model", share))]);
  const text = new TextDecoder().decode(card);
  model = { pde, method: scope.Method.network(pde, weights, text) };
  return model.method;
}

/// Tells how much of something is done, from 0 to 1.
const report = (what, share) => postMessage({ progress: { what, share } });

async function fetched(path, progress) {
  const response = await fetch(new URL(path, import.meta.url));
  if (!response.ok) throw new Error(`${path} could not be loaded: the server says ${response.status}. The files of models/ must be in a folder models beside the page.`);
  const total = Number(response.headers.get("content-length"));
  const parts = [];
  let got = 0;
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    got += value.length;
    if (progress && total) progress(got / total);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

onmessage = async ({ data: { id, action, request } }) => {
  try {
    postMessage({ id, answer: await actions[action](request, id) });
  } catch (error) {
    postMessage({ id, error: error.message ?? String(error) });
  }
};
