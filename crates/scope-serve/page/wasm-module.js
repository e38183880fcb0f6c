// Finds the module that this browser can run, unpacks it, and starts it.

import init, * as scope from "./scope_wasm.js";

// The smallest modules that use a plain and a relaxed instruction on 128-bit vectors: () -> v128.
const HEADER = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0];
const PLAIN = [...HEADER, 10, 8, 1, 6, 0, 65, 0, 253, 15, 11];
const RELAXED = [...HEADER, 10, 15, 1, 13, 0, 65, 0, 253, 15, 65, 0, 253, 15, 253, 128, 2, 11];
const runs = (bytes) => WebAssembly.validate(Uint8Array.from(bytes));

const NAMES = ["simd", "relaxed"];
/// The modules lie in one file, so many bytes of one before the same of the other: see scripts/release/build-page.sh.
const PIECE = 16_000;

/// The name of the fastest module: "relaxed" has fused products, "simd" has not.
export function choose() {
  if (runs(RELAXED)) return "relaxed";
  if (runs(PLAIN)) return "simd";
  throw new Error("This browser cannot run the recovery: it lacks WebAssembly's 128-bit vectors, which all browsers have since 2023.");
}

/// Compiles a module by its name, from the bytes of `scope_wasm.gz`. Several workers can start the same one.
export const compile = async (name, packed) => WebAssembly.compile(extract(NAMES.indexOf(name), await unpacked(packed)));

/// Starts a module; gives what it exports, and its memory.
export async function start(compiled) {
  const { memory } = await init({ module_or_path: compiled });
  return { ...scope, memory };
}

/// Some servers unpack such files on their way, most do not.
async function unpacked(buffer) {
  const [first, second] = new Uint8Array(buffer, 0, 2);
  if (first !== 0x1f || second !== 0x8b) return buffer;
  const stream = new Blob([buffer]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/// One of the modules. Their lengths come first, 4 bytes each.
function extract(which, buffer) {
  const view = new DataView(buffer);
  const lengths = NAMES.map((_, k) => view.getUint32(4 * k, true));
  const module = new Uint8Array(lengths[which]);
  let from = 4 * NAMES.length;
  for (let at = 0; at < Math.max(...lengths); at += PIECE) {
    lengths.forEach((length, k) => {
      const size = Math.max(0, Math.min(PIECE, length - at));
      // A piece beyond a module's end is empty, and has no place in it.
      if (k === which && size > 0) module.set(new Uint8Array(buffer, from, size), at);
      from += size;
    });
  }
  return module;
}
