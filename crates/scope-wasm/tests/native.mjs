// The program `scope` as the reference: its fields for a file of sensors.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const repository = new URL("../../../", import.meta.url).pathname;
const program = process.env.SCOPE ?? join(repository, "target/release/scope");

/// The arrays of a result folder by name.
function results(folder, names) {
  return Object.fromEntries(names.map((name) => [name, fieldOf(readFileSync(join(folder, "out", `${name}.npy`)))]));
}

/// Runs the program in a folder of its own that has a file of sensors, and gives what `read` makes of the folder.
function inFolder(csv, commands, read) {
  const folder = mkdtempSync(join(tmpdir(), "scope-page-"));
  try {
    writeFileSync(join(folder, "sensors.csv"), csv);
    const env = { ...process.env, SCOPE_MODELS: join(repository, "models") };
    for (const options of commands) execFileSync(program, options, { cwd: folder, stdio: "pipe", env });
    return read(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/// The fields a and u that `scope recover` writes, and the bands where they are measured.
export function recoverNatively(pde, csv, disk, measuring = []) {
  const geometry = disk ? ["--geometry", Array.from(disk).join(",")] : [];
  const options = ["recover", "--model", pde, "--sensors", "sensors.csv", "--out", "out", "--device", "cpu", ...geometry, ...measuring];
  const bands = measuring.length ? ["a_band68", "u_band95"] : [];
  return inFolder(csv, [options], (folder) => results(folder, ["a", "u", ...bands]));
}

/// The fields of the exact posterior.
export function recoverExactly(pde, csv) {
  const options = ["recover", "--method", "exact", "--pde", pde, "--no-deviations", "--sensors", "sensors.csv", "--out", "out"];
  return inFolder(csv, [options], (folder) => results(folder, ["a", "u"]));
}

/// Fields and standard deviations of a linear fit to so many records of a seed, with so many modes.
export function recoverLinearly(pde, csv, seed, records, modes) {
  const commands = [
    ["data", "generate", pde, "--count", records, "--seed", seed, "--out", "records"],
    ["fit", "linear", "--data", "records", "--modes", modes, "--out", "fit.safetensors"],
    ["recover", "--method", "linear", "--fit", "fit.safetensors", "--sensors", "sensors.csv", "--out", "out"],
  ];
  return inFolder(csv, commands.map((options) => options.map(String)), (folder) => results(folder, ["a", "u", "a_sd", "u_sd"]));
}

/// The numbers of a float32 .npy file.
export function fieldOf(bytes) {
  const header = bytes.readUInt16LE(8) + 10;
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset + header, bytes.byteOffset + bytes.length));
}

/// The largest difference of two fields, relative to the largest value of the second.
export function difference(field, reference) {
  if (field.length !== reference.length) return Infinity;
  let apart = 0;
  let size = 0;
  for (let k = 0; k < field.length; k++) {
    apart = Math.max(apart, Math.abs(field[k] - reference[k]));
    size = Math.max(size, Math.abs(reference[k]));
  }
  return Number.isNaN(apart) ? Infinity : apart / size;
}
