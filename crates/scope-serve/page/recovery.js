// Who computes what. The main worker makes records and answers with the network or a linear fit, in a fraction of a
// second. What takes many seconds has workers of its own, which are ended once nobody waits for them: an exact
// posterior, and the records that a linear fit is made from. Of requests for fields only the newest counts.

import { Link } from "./link.js";

let compiled; // the module, once for all workers
let main;
let exact; // { link, started, busy }, while exact posteriors are asked for
let fitting;
let computing = false; // whether the main worker is
let next; // the newest request for fields that came meanwhile
let onProgress = () => {};

/// Hears how much has been done of loading a model, of a linear fit or of an exact posterior: { what, share, stage },
/// share from 0 to 1.
export function heedProgress(heed) {
  onProgress = heed;
}

/// Starts a main worker in place of the one there was, and ends all others: a module's memory never shrinks, and what
/// they compute nobody waits for any more. Gives what the library says of itself.
export async function restart() {
  for (const link of [main, exact?.link, fitting]) link?.end();
  exact = fitting = next = undefined;
  computing = false;
  const link = new Link((progress) => onProgress(progress));
  main = link;
  const facts = await link.ask("start", { compiled });
  ({ compiled } = facts);
  return facts;
}

/// Asks the main worker to do something.
export const ask = (action, request) => main.ask(action, request);

/// Recovers fields. While the main worker computes, only the newest of the requests that come is remembered; an exact
/// posterior that is being computed for older sensors is given up. `hear.fields` hears of a network's fields,
/// `hear.answer` of all that is said of them, whether they are those of the newest request and whether they are the
/// last of it, `hear.refusal` of a refusal.
export async function recover(request, hear) {
  if (exact && (exact.busy || request.method !== "exact")) endExact();
  if (computing) {
    next = [request, hear];
    return;
  }
  computing = true;
  let network;
  try {
    network = await main.ask("recover", ofMain(request), hear.fields);
    hear.answer(network, next === undefined, request.method !== "exact");
  } catch (error) {
    hear.refusal(error);
  }
  computing = false;
  if (next) {
    const newest = next;
    next = undefined;
    recover(...newest);
  } else if (network && request.method === "exact") {
    recoverExactly(request, network, hear);
  }
}

/// What the main worker is asked: it answers with the network until an exact posterior is there.
function ofMain({ file, method, ...request }) {
  return { ...request, file: file !== undefined, method: method === "exact" ? "network" : method };
}

/// Computes the exact posterior, which a newer request ends. Where it fails, the network's fields stay.
async function recoverExactly({ pde, number, file, channels, points, deviations }, network, hear) {
  const own = (exact ??= startExact());
  own.busy = true;
  try {
    await own.started;
    const sensors = file ? { file: { name: file.name, bytes: file.bytes } } : { number, channels, points };
    const answer = await own.link.ask("exact", { pde, deviations, ...sensors });
    own.busy = false;
    hear.answer({ ...network, ...answer, method: "exact", networkSummary: network.summary }, true, true);
  } catch (error) {
    endExact();
    hear.refusal(error, true);
  }
}

function startExact() {
  const link = new Link((progress) => onProgress(progress));
  return { link, started: link.ask("start", { compiled }), busy: false };
}

function endExact() {
  exact?.link.end();
  exact = undefined;
}

/// Nothing is wanted any more of what was asked for.
export function forget() {
  endExact();
  next = undefined;
}

/// Fits the linear method to fresh records, beside all else, and hands the fit to the main worker.
export async function fitLinearly(pde) {
  const link = new Link((progress) => onProgress(progress));
  fitting = link;
  try {
    await link.ask("start", { compiled });
    const { bytes, ...fit } = await link.ask("fit", { pde });
    await main.ask("linear", { bytes });
    return fit;
  } finally {
    link.end();
  }
}

/// The content of a file to save, from the worker that computed what is shown by a method; sensors are the main
/// worker's.
export function contentOf(what, request, method) {
  const isExact = method === "exact" && what !== "sensors";
  if (isExact && !exact) throw new Error("These fields are being computed anew: save them once they are there.");
  return (isExact ? exact.link : main).ask("save", { what, ...ofMain(request) });
}
