// Computes beside the page: makes records, reads sensors, recovers fields. One request at a time, in the order they come.

import { choose, start } from "./wasm-module.js";

const SIZE = 128;

let scope;
let record; // the fresh record that is shown
let opened; // sensors from a file, if there are any
let model = {}; // the network at hand: { pde, method }
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

  /// Fields from points of the record, or from the opened file; errors where the truth is known.
  async recover({ pde, method, file, channels, points }) {
    const network = await networkOf(pde);
    const sensors = file ? opened : scope.Sensors.of_record(record, channels, points);
    const begin = performance.now();
    const answer = { pde, file, method };
    recovered = network.recover(sensors);
    answer.milliseconds = performance.now() - begin;
    answer.networkErrors = file ? undefined : record.errors(recovered);
    if (method === "exact") {
      const exact = scope.Method.exact(pde, SIZE, false);
      const begin = performance.now();
      try {
        answer.networkSummary = JSON.parse(recovered.summary());
        recovered = exact.recover(sensors);
        answer.exactMilliseconds = performance.now() - begin;
        answer.errors = file ? undefined : record.errors(recovered);
      } finally {
        exact.free();
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
  const [card, weights] = await Promise.all([fetched(`models/${pde}.toml`), fetched(`models/${pde}.safetensors`, report)]);
  const text = new TextDecoder().decode(card);
  model = { pde, method: scope.Method.network(pde, weights, text) };
  return model.method;
}

const report = (share) => postMessage({ progress: share });

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
    postMessage({ id, answer: await actions[action](request) });
  } catch (error) {
    postMessage({ id, error: error.message ?? String(error) });
  }
};
