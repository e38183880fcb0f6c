// How much memory a module takes in each of the page's workers under Node: no more than 150 MB.
//
//     node crates/scope-wasm/tests/memory.mjs simd|relaxed
//
// The relaxed module needs `--experimental-wasm-relaxed-simd` before Node 22.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { compile, start } from "../../scope-serve/page/wasm-module.js";
import { repository } from "./native.mjs";

const SIZE = 128;
const MOST = 150;
/// As many as the page's.
const FIT = { records: 400, modes: 160 };
const MEASURED_ON = 100;
const read = (path) => readFileSync(join(repository, path));
const [module, step, pde, fitted] = process.argv.slice(2);

/// What each worker of the page does.
const steps = {
  /// Fits the linear method, and leaves the fit in a file.
  fitting(scope) {
    const fitting = new scope.LinearFitting(pde, SIZE, FIT.records);
    for (let solved = 0; solved < FIT.records; solved++) fitting.solve_next();
    writeFileSync(fitted, fitting.fit(FIT.modes));
  },

  /// Answers with the network, and with a linear fit if there is one.
  answering(scope) {
    const network = scope.Method.network(pde, read(`models/${pde}.safetensors`), read(`models/${pde}.toml`).toString());
    const sensors = sensorsOf(scope);
    network.recover(sensors, undefined).free();
    if (fitted) scope.LinearFit.of_bytes(readFileSync(fitted)).method(true).recover_in_stages(sensors, () => {}).free();
  },

  /// Answers with the network where a reading does not fit the others, which takes more passes.
  doubting(scope) {
    const network = scope.Method.network(pde, read(`models/${pde}.safetensors`), read(`models/${pde}.toml`).toString());
    const lines = sensorsOf(scope).csv(pde, SIZE).trim().split("\n");
    lines[7] = lines[7].replace(/[^,]*$/, "0.02");
    const recovered = network.recover(scope.Sensors.of_file("faulty.csv", Buffer.from(lines.join("\n"))), undefined);
    assert.match(recovered.summary(), /line 8/);
    recovered.free();
  },

  /// Measures errors and bands for these very sensors.
  measuring(scope) {
    const network = scope.Method.measuring(pde, read(`models/${pde}.safetensors`), read(`models/${pde}.toml`).toString(), MEASURED_ON, true);
    network.recover_in_stages(sensorsOf(scope), () => {}).free();
  },

  /// Computes an exact posterior with its standard deviations.
  exact(scope) {
    scope.Method.exact(pde, SIZE, true).recover_in_stages(sensorsOf(scope), () => {}).free();
  },
};

function sensorsOf(scope) {
  const record = new scope.FreshRecord(pde, 1, SIZE);
  const points = record.mask("uniform", 500, 1, 20261013);
  return scope.Sensors.of_record(record, new Uint8Array(points.length).fill(1), points);
}

/// The megabytes of a module after a step, which a process of its own takes.
const measured = (...options) => Number(execFileSync(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url), module, ...options]));

if (step) {
  const packed = readFileSync(join(repository, "crates/scope-serve/page/scope_wasm.gz"));
  const scope = await start(await compile(module, packed.buffer.slice(packed.byteOffset, packed.byteOffset + packed.length)));
  steps[step](scope);
  console.log((scope.memory.buffer.byteLength / 1e6).toFixed(0));
} else {
  const folder = mkdtempSync(join(tmpdir(), "scope-memory-"));
  try {
    const fit = join(folder, "fit");
    const others = ["doubting", "measuring", "exact"].map((step) => [step, "poisson"]);
    const taken = [["fitting", "poisson", fit], ["answering", "poisson", fit], ["answering", "poisson"], ["answering", "cylinder"], ...others];
    for (const options of taken) {
      const megabytes = measured(...options);
      console.log(`${module}, ${options[0]} ${options[1]}${options[0] === "answering" && options[2] ? " with a linear fit" : ""}: ${megabytes} MB`);
      assert.ok(megabytes <= MOST, `a worker takes ${megabytes} MB, expected at most ${MOST}`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
