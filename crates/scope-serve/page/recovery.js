// Who computes what. The main worker makes records and answers with the network or a linear fit, in a fraction of a
// second. What takes many seconds has workers of its own, which are ended once nobody waits for them: an exact
// posterior, bands that are measured for the very sensors, and the records that a linear fit is made from. Of requests
// for fields only the newest counts.

import { Link } from "./link.js";

let compiled; // the module, once for all workers
let main;
let slow; // { link, started, busy, method }, while what takes many seconds is asked for
let fitting;
let computing = false; // whether the main worker is
let next; // the newest request for fields that came meanwhile
let onProgress = () => {};

/// Hears how much has been done of loading a model, of a linear fit, of an exact posterior or of bands that are measured:
/// { what, share, stage }, share from 0 to 1.
export function heedProgress(heed) {
  onProgress = heed;
}

/// Starts a main worker in place of the one there was, and ends all others: a module's memory never shrinks, and what
/// they compute nobody waits for any more. Gives what the library says of itself.
export async function restart() {
  for (const link of [main, slow?.link, fitting]) link?.end();
  slow = fitting = next = undefined;
  computing = false;
  const link = new Link((progress) => onProgress(progress));
  main = link;
  const facts = await link.ask("start", { compiled });
  ({ compiled } = facts);
  return facts;
}

/// Asks the main worker to do something.
export const ask = (action, request) => main.ask(action, request);

/// Recovers fields. While the main worker computes, only the newest of the requests that come is remembered; what takes
/// long and is being computed for older sensors is given up. `hear.fields` hears of a network's fields,
/// `hear.answer` of all that is said of them, whether they are those of the newest request and whether they are the
/// last of it, `hear.refusal` of a refusal.
export async function recover(request, hear) {
  if (slow && (slow.busy || slow.method !== request.method || !isSlow(request))) endSlow();
  if (computing) {
    next = [request, hear];
    return;
  }
  computing = true;
  let network;
  try {
    network = await main.ask("recover", ofMain(request), hear.fields);
    hear.answer(network, next === undefined, !isSlow(request));
  } catch (error) {
    hear.refusal(error);
  }
  computing = false;
  if (next) {
    const newest = next;
    next = undefined;
    recover(...newest);
  } else if (network && isSlow(request)) {
    recoverSlowly(request, network, hear);
  }
}

/// Whether the network's answer is only what is shown until that of another worker is there.
const isSlow = ({ method, measured }) => method === "exact" || measured;

/// What the main worker is asked: it answers with the network until an exact posterior is there.
function ofMain({ file, method, ...request }) {
  return { ...request, file: file !== undefined, method: method === "exact" ? "network" : method };
}

/// Computes what takes many seconds, which a newer request ends. Where it fails, the network's fields stay.
async function recoverSlowly({ pde, number, file, channels, points, method, deviations }, network, hear) {
  const own = (slow ??= startSlow(method));
  own.busy = true;
  try {
    await own.started;
    const sensors = file ? { file: { name: file.name, bytes: file.bytes } } : { number, channels, points };
    const answer = await own.link.ask("slowly", { pde, method, deviations, ...sensors });
    own.busy = false;
    // Measured bands are about the fields that are there already.
    const ofNetwork = method === "exact" ? { networkSummary: network.summary } : { milliseconds: network.milliseconds };
    hear.answer({ ...network, ...answer, ...ofNetwork, method, fromSlow: true }, true, true);
  } catch (error) {
    endSlow();
    hear.refusal(error, true);
  }
}

function startSlow(method) {
  const link = new Link((progress) => onProgress(progress));
  return { link, started: link.ask("start", { compiled }), busy: false, method };
}

function endSlow() {
  slow?.link.end();
  slow = undefined;
}

/// Nothing is wanted any more of what was asked for.
export function forget() {
  endSlow();
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

/// The content of a file to save, from the worker that computed an answer; sensors are the main worker's.
export function contentOf(what, request, { fromSlow }) {
  const isSlows = fromSlow && what !== "sensors";
  if (isSlows && !slow) throw new Error("These fields are being computed anew: save them once they are there.");
  return (isSlows ? slow.link : main).ask("save", { what, ...ofMain(request) });
}
