// Computes beside the page: makes records, reads sensors, recovers fields. One request at a time, in the order they
// come.

import { choose, compile, start } from "./wasm-module.js";

const SIZE = 128;
/// The linear method is fitted to so many fresh records, with so many modes. More of them take longer, and more memory.
const RECORDS = 400;
const MODES = 160;
/// After so many records it is told how many there are.
const RECORDS_BETWEEN = 10;
/// Errors and bands for the very sensors are measured on so many fresh records.
const MEASURED_ON = 100;

let scope;
let record; // the fresh record that is shown
let opened; // sensors from a file, if there are any
let network; // of the only problem that this worker is asked for, or what will be it
let linear; // the linear fit, if there is one
let recovered; // the latest result, for files

const actions = {
  /// Starts the module, which another worker may have compiled.
  async start({ compiled }) {
    const name = choose();
    compiled ??= await compile(name, (await fetched("scope_wasm.gz")).buffer);
    scope = await start(compiled);
    return { compiled, module: name, size: SIZE, ...JSON.parse(scope.problems()) };
  },

  record({ pde, number }) {
    record?.free();
    record = new scope.FreshRecord(pde, number, SIZE);
    const places = record.coordinates();
    const [xs, ys] = [places.slice(0, SIZE), places.slice(SIZE)];
    return { a: record.field(0), u: record.field(1), disk: record.disk(), xs, ys };
  },

  mask({ family, budget, channel, draw }) {
    return record.mask(family, budget, channel, draw);
  },

  /// Reads a file of sensors. One that is refused leaves the earlier one as it was.
  async open({ pde, name, bytes }) {
    const method = await networkOf(pde);
    const sensors = scope.Sensors.of_file(name, bytes);
    try {
      method.check(sensors);
    } catch (error) {
      sensors.free();
      throw error;
    }
    opened?.free();
    opened = sensors;
    return { list: opened.list(pde, SIZE), notes: opened.notes() };
  },

  /// Solves for fresh records of a problem and fits the linear method to them: the bytes of the fit.
  fit({ pde }) {
    const begin = performance.now();
    const fitting = new scope.LinearFitting(pde, SIZE, RECORDS);
    for (let solved = 0; solved < RECORDS; solved++) {
      if (solved % RECORDS_BETWEEN === 0) report("fit", solved / RECORDS);
      fitting.solve_next();
    }
    report("fit", 1);
    return { bytes: fitting.fit(MODES), records: RECORDS, modes: MODES, milliseconds: performance.now() - begin };
  },

  /// Takes a fit that another worker made.
  linear({ bytes }) {
    linear = scope.LinearFit.of_bytes(bytes);
  },

  /// Fields from points of the record, or from the opened file, by the network or by the linear fit; errors where the
  /// truth is known. Of a linear fit also the standard deviation of every pixel, if `deviations` says so.
  async recover({ pde, method, deviations, file, channels, points }, id) {
    const own = await networkOf(pde);
    const sensors = file ? opened : scope.Sensors.of_record(record, channels, points);
    try {
      const answer = ofNetwork(own, sensors, file, (fields) => method === "network" && postMessage({ id, fields }));
      if (method === "network") return answer;
      const { errors: networkErrors, summary: networkSummary } = answer;
      return { ...inStages(linear.method(deviations), sensors, file), method, deviations, networkErrors, networkSummary };
    } finally {
      if (!file) sensors.free();
    }
  },

  /// What takes many seconds, for points of a record or for a file: the exact posterior, or the network with errors and bands
  /// that are measured for these very sensors.
  async slowly({ pde, method, deviations, number, channels, points, file }) {
    if (!file) actions.record({ pde, number });
    const sensors = file ? scope.Sensors.of_file(file.name, file.bytes) : scope.Sensors.of_record(record, channels, points);
    const isExact = method === "exact";
    const tell = (stage, share) => report(isExact ? "exact" : "measure", share, stage);
    try {
      const own = isExact ? scope.Method.exact(pde, SIZE, deviations) : await measuring(pde, file === undefined);
      return { ...inStages(own, sensors, file !== undefined, tell), deviations };
    } finally {
      sensors.free();
    }
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

/// What a network says; `first` hears of the fields, since what is said of them may take longer.
function ofNetwork(method, sensors, file, first) {
  const begin = performance.now();
  const answer = { method: "network", deviations: false };
  const hear = (a, u) => {
    answer.milliseconds = performance.now() - begin;
    answer.errors = answer.networkErrors = file ? undefined : record.errors(a, u);
    first({ arrays: { a, u }, errors: answer.errors });
  };
  keep(method.recover(sensors, hear));
  return { ...answer, ...shared() };
}

/// What a method says that is used once; it is freed. `tell` hears of its stages.
function inStages(method, sensors, file, tell = () => {}) {
  const begin = performance.now();
  try {
    keep(method.recover_in_stages(sensors, tell));
  } finally {
    method.free();
  }
  const milliseconds = performance.now() - begin;
  const errors = file ? undefined : record.errors(recovered.array("a"), recovered.array("u"));
  return { milliseconds, errors, ...shared() };
}

/// What any result has: its arrays and its summary.
function shared() {
  const arrays = Object.fromEntries(recovered.names().map((name) => [name, recovered.array(name)]));
  return { arrays, summary: JSON.parse(recovered.summary()), measurable: recovered.lacks_measurable_bands() };
}

/// Keeps a result in place of the one before.
function keep(result) {
  recovered?.free();
  recovered = result;
}

/// The network of the problem, loaded once.
function networkOf(pde) {
  network ??= load(pde).catch((error) => {
    network = undefined;
    throw error;
  });
  return network;
}

const load = async (pde) => scope.Method.network(pde, ...(await filesOf(pde)));

/// A network that measures its errors and bands for the very sensors; those of a record read it exactly.
const measuring = async (pde, isExact) => scope.Method.measuring(pde, ...(await filesOf(pde)), MEASURED_ON, isExact);

/// The weight file and the card of a problem's model.
async function filesOf(pde) {
  const weights = fetched(`models/${pde}.safetensors`, (share) => report("model", share));
  const card = new TextDecoder().decode(await fetched(`models/${pde}.toml`));
  return [await weights, card];
}

/// Tells how much of something is done, from 0 to 1.
const report = (what, share, stage) => postMessage({ progress: { what, share, stage } });

async function fetched(path, progress) {
  const response = await fetch(new URL(path, import.meta.url)).catch(() => undefined);
  if (!response) throw new Error(`${path} could not be loaded: the server cannot be reached.`);
  if (!response.ok) throw new Error(`${path} could not be loaded: the server says ${response.status}.`);
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
