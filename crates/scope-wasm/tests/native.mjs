// The program `scope` as the reference: its fields for a file of sensors.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const repository = new URL("../../../", import.meta.url).pathname;
const program = process.env.SCOPE ?? join(repository, "target/release/scope");

/// The fields a and u that `scope recover` writes.
export function recoverNatively(pde, csv, disk) {
  const folder = mkdtempSync(join(tmpdir(), "scope-page-"));
  try {
    writeFileSync(join(folder, "sensors.csv"), csv);
    const geometry = disk ? ["--geometry", Array.from(disk).join(",")] : [];
    const options = ["recover", "--model", pde, "--sensors", "sensors.csv", "--out", "out", "--device", "cpu", ...geometry];
    execFileSync(program, options, { cwd: folder, stdio: "pipe", env: { ...process.env, SCOPE_MODELS: join(repository, "models") } });
    return { a: fieldOf(readFileSync(join(folder, "out/a.npy"))), u: fieldOf(readFileSync(join(folder, "out/u.npy"))) };
  } finally {
    rmSync(folder, { recursive: true });
  }
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
