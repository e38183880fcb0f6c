// A module under Node against the program: five problems, fields within 1e-5 of the native ones, and a linear fit made
// in the module, within 1e-3. With a number of rounds it also measures how long a recovery takes.
//
//     node crates/scope-wasm/tests/module.mjs simd|relaxed [ROUNDS]
//
// The relaxed module needs `--experimental-wasm-relaxed-simd` before Node 22.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { compile, start } from "../../scope-serve/page/wasm-module.js";
import { difference, recoverLinearly, recoverNatively, repository } from "./native.mjs";

const SIZE = 128;
const [module, rounds] = [process.argv[2] ?? "simd", Number(process.argv[3] ?? 0)];
/// A family, a number of sensors, and which channels they measure: 0 is a, 1 is u.
const LAYOUTS = [["uniform", 500, [1]], ["grid", 500, [0, 1]], ["cluster", 100, [0]]];

const read = (path) => readFileSync(join(repository, path));
const packed = read("crates/scope-serve/page/scope_wasm.gz");
const scope = await start(await compile(module, packed.buffer.slice(packed.byteOffset, packed.byteOffset + packed.length)));
const megabytes = () => (scope.memory.buffer.byteLength / 1e6).toFixed(0);

function sensorsOf(record, [family, budget, channels], draw = 0) {
  const points = channels.map((channel) => [...record.mask(family, budget, channel, 20261013 + draw)]);
  const numbers = channels.flatMap((channel, k) => points[k].map(() => channel));
  return scope.Sensors.of_record(record, Uint8Array.from(numbers), Uint32Array.from(points.flat()));
}

/// How long recoveries take: until the fields are there and until all is said of them, by the clock and in time of the
/// processor, which tells more on a machine that others use too. Sensors are others in every round: of the same ones as
/// before something is known already.
function measure(pde, method, record) {
  const times = { fields: [], fieldsProcessor: [], all: [], allProcessor: [] };
  for (let round = 0; round < rounds; round++) {
    const sensors = sensorsOf(record, LAYOUTS[0], round);
    const [begin, used] = [performance.now(), process.cpuUsage()];
    const note = (what) => {
      times[what].push(performance.now() - begin);
      times[`${what}Processor`].push(process.cpuUsage(used).user / 1000);
    };
    method.recover(sensors, () => note("fields")).free();
    note("all");
  }
  const [fields, fieldsProcessor, all, allProcessor] = Object.values(times).map((some) => some.sort((one, other) => one - other)[rounds >> 1].toFixed(0));
  console.log(`${module} ${pde}: medians of ${rounds}: fields in ${fields} ms (${fieldsProcessor} of the processor), all in ${all} ms (${allProcessor})`);
}

/// A fit of so many modes to so many fresh records, as the page makes one: enough of them for standard deviations. The seed is that of
/// the module's records.
const FIT = { records: 120, modes: 24, seed: 2026 };

function compareLinear(pde) {
  const record = new scope.FreshRecord(pde, 1, SIZE);
  const sensors = sensorsOf(record, ["uniform", 100, [1]]);
  const reference = recoverLinearly(pde, sensors.csv(pde, SIZE), FIT.seed, FIT.records, FIT.modes);
  const begin = performance.now();
  const fitting = new scope.LinearFitting(pde, SIZE, FIT.records);
  for (let solved = 0; solved < FIT.records; solved++) fitting.solve_next();
  const solved = performance.now();
  const fit = scope.LinearFit.of_bytes(fitting.fit(FIT.modes));
  const fitted = performance.now();
  const recovered = fit.method(true).recover(sensors);
  const answered = performance.now();
  // The fit is made in single precision, whose sums are not in the same order everywhere.
  for (const [name, field] of Object.entries(reference)) {
    const apart = difference(recovered.array(name), field);
    assert.ok(apart <= 1e-3, `${module}, linear fit of ${pde}: ${name} is ${apart} from the program's`);
  }
  const [a, u] = record.errors(recovered.array("a"), recovered.array("u"));
  const steps = [solved - begin, fitted - solved, answered - fitted].map((ms) => ms.toFixed(0));
  const took = `records ${steps[0]} ms, fit ${steps[1]} ms, answer with deviations ${steps[2]} ms`;
  console.log(`${module} ${pde}: linear fit of ${FIT.records} records, errors ${a.toFixed(1)}% and ${u.toFixed(2)}%; ${took}, memory ${megabytes()} MB`);
}

for (const pde of ["poisson", "ns"]) compareLinear(pde);

for (const { name: pde } of JSON.parse(scope.problems()).problems) {
  const solving = performance.now();
  const record = new scope.FreshRecord(pde, 1, SIZE);
  const solved = performance.now();
  const method = scope.Method.network(pde, read(`models/${pde}.safetensors`), read(`models/${pde}.toml`).toString());
  const loaded = performance.now();
  let most = 0;
  for (const layout of LAYOUTS) {
    const sensors = sensorsOf(record, layout);
    const reference = recoverNatively(pde, sensors.csv(pde, SIZE), record.disk());
    const recovered = method.recover(sensors);
    for (const channel of ["a", "u"]) {
      const apart = difference(recovered.array(channel), reference[channel]);
      assert.ok(apart <= 1e-5, `${module}, ${pde}, ${layout}: ${channel} is ${apart} from the program's`);
      most = Math.max(most, apart);
    }
    if (rounds && layout === LAYOUTS[0]) measure(pde, method, record);
  }
  method.free();
  const steps = `record ${(solved - solving).toFixed(0)} ms, model ${(loaded - solved).toFixed(0)} ms`;
  console.log(`${module} ${pde}: at most ${most.toExponential(1)} from the program; ${steps}, memory ${megabytes()} MB`);
}
