// The worker as functions that the page awaits; of requests for fields only the newest counts.

const waiting = new Map();
let worker;
let last = 0; // request
let computing = false;
let next; // the newest request for fields that came meanwhile
let onProgress = () => {};

/// Starts a worker in place of the one there was, whose work is forgotten: a module's memory never shrinks, and what it computes nobody
/// waits for any more. Gives what the library says of itself.
export function restart() {
  worker?.terminate();
  waiting.clear();
  computing = false;
  next = undefined;
  worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data: { id, answer, error, progress, fields } }) => {
    if (progress !== undefined) return onProgress(progress);
    const { resolve, reject, first } = waiting.get(id);
    if (fields !== undefined) return first(fields);
    waiting.delete(id);
    if (error === undefined) resolve(answer);
    else reject(new Error(error));
  };
  worker.onerror = (event) => {
    const error = new Error(event.message || "The worker could not be started: open the page over http, not as a file.");
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  return ask("start");
}

/// Asks the worker to do something; `first` hears of fields before the whole answer is there.
export function ask(action, request = {}, first = () => {}) {
  const id = ++last;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject, first });
    worker.postMessage({ id, action, request });
  });
}

/// Hears how much of a model has been loaded or of a fit been made: { what, share }, from 0 to 1.
export function heedProgress(heed) {
  onProgress = heed;
}

/// Recovers fields. While one request is computed only the newest of those that come is remembered; `first` hears of the fields, `done`
/// of the whole answer and whether it is the newest, `failed` of a refusal.
export async function recover(request, first, done, failed) {
  if (computing) {
    next = [request, first, done, failed];
    return;
  }
  computing = true;
  try {
    const answer = await ask("recover", request, first);
    done(answer, next === undefined);
  } catch (error) {
    failed(error);
  }
  computing = false;
  if (next) {
    const newest = next;
    next = undefined;
    recover(...newest);
  }
}
