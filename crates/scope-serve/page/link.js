// A worker whose actions the page awaits.

export class Link {
  #worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  #waiting = new Map();
  #last = 0; // request

  /// `onProgress` hears how much of something is done: { what, share, stage }.
  constructor(onProgress) {
    this.#worker.onmessage = ({ data: { id, answer, error, progress, fields } }) => {
      if (progress !== undefined) return onProgress(progress);
      const { resolve, reject, first } = this.#waiting.get(id);
      if (fields !== undefined) return first(fields);
      this.#waiting.delete(id);
      if (error === undefined) resolve(answer);
      else reject(new Error(error));
    };
    this.#worker.onerror = (event) => {
      const error = new Error(event.message || "The worker could not be started: load the page anew.");
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
    };
  }

  /// Asks the worker to do something; `first` hears of fields before the whole answer is there.
  ask(action, request = {}, first = () => {}) {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, first });
      this.#worker.postMessage({ id, action, request });
    });
  }

  /// Ends it, and gives its memory back. What it was asked nobody hears of any more.
  end() {
    this.#worker.terminate();
    this.#waiting.clear();
  }
}
