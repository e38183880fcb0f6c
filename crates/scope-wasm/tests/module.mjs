// A module under Node against the program: five problems, fields within 1e-5 of the native ones. With a number of rounds it also measures
// how long a recovery takes.
//
//     node crates/scope-wasm/tests/module.mjs simd|relaxed [ROUNDS]
//
// The relaxed module needs `--experimental-wasm-relaxed-simd` before Node 22.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { start } from "../../scope-serve/page/wasm-module.js";
import { difference, recoverNatively, repository } from "./native.mjs";

const SIZE = 128;
const [module, rounds] = [process.argv[2] ?? "simd", Number(process.argv[3] ?? 0)];
/// A family, a number of sensors, and which channels they measure: 0 is a, 1 is u.
const LAYOUTS = [["uniform", 500, [1]], ["grid", 500, [0, 1]], ["cluster", 100, [0]]];

const read = (path) => readFileSync(join(repository, path));
const packed = read("crates/scope-serve/page/scope_wasm.gz");
const scope = await start(module, packed.buffer.slice(packed.byteOffset, packed.byteOffset + packed.length));
const megabytes = () => (scope.memory.buffer.byteLength / 1e6).toFixed(0);

function sensorsOf(record, [family, budget, channels]) {
  const points = channels.map((channel) => [...record.mask(family, budget, channel, 20261013)]);
  const numbers = channels.flatMap((channel, k) => points[k].map(() => channel));
  return scope.Sensors.of_record(record, Uint8Array.from(numbers), Uint32Array.from(points.flat()));
}

/// How long recoveries take by the clock, and in time of the processor, which tells more on a machine that others use too.
function measure(pde, method, sensors) {
  const clock = [];
  const processor = [];
  for (let round = 0; round < rounds; round++) {
    const [begin, used] = [performance.now(), process.cpuUsage()];
    method.recover(sensors).free();
    clock.push(performance.now() - begin);
    processor.push(process.cpuUsage(used).user / 1000);
  }
  const [ms, processorMs] = [clock, processor].map((times) => times.sort((one, other) => one - other)[rounds >> 1].toFixed(0));
  console.log(`${module} ${pde}: median of ${rounds} recoveries ${ms} ms, ${processorMs} ms of the processor`);
}

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
    if (rounds && layout === LAYOUTS[0]) measure(pde, method, sensors);
  }
  method.free();
  const steps = `record ${(solved - solving).toFixed(0)} ms, model ${(loaded - solved).toFixed(0)} ms`;
  console.log(`${module} ${pde}: at most ${most.toExponential(1)} from the program; ${steps}, memory ${megabytes()} MB`);
}
