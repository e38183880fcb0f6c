// What is chosen and shown, and what follows from it at once.

import { short } from "./wording.js";

export const CHANNELS = ["a", "u"];
export const phone = matchMedia("(max-width: 720px)");
export const dark = matchMedia("(prefers-color-scheme: dark)");
export const find = (id) => document.getElementById(id);

export const shown = {
  facts: undefined, // what the library says of problems and mask families
  size: 128, // points of the grid along each axis
  problem: undefined,
  number: 0, // of the record
  record: undefined, // { a, u, disk, xs, ys }
  points: { a: new Set(), u: new Set() }, // where sensors are, row * size + column
  file: undefined, // { name, bytes, list, notes } of sensors of one's own
  measured: "u",
  family: "uniform",
  count: 500,
  draw: 20261013, // which mask of the family
  tool: "point",
  view: "off",
  method: "network",
  fit: undefined, // of the linear method, once it is made: { records, modes, milliseconds }
  truth: 1, // how much of it is shown
  answer: undefined, // the latest fields
  cursor: {}, // where the keyboard is, by channel
};

/// The sensors of a channel as [row, column, value].
export function readings(channel) {
  const { file, points, record, size } = shown;
  if (!file) return Array.from(points[channel], (point) => [Math.floor(point / size), point % size, record[channel][point]]);
  const all = [];
  for (let k = 0; k < file.list.length; k += 4) {
    if (file.list[k] === CHANNELS.indexOf(channel)) all.push([...file.list.slice(k + 1, k + 4)]);
  }
  return all;
}

/// Where sensors of a channel are that do not fit the others, as [row, column].
export function suspects(channel) {
  const { answer, record } = shown;
  const along = (places, place) => (place - places[0]) / (places[1] - places[0]);
  const found = answer?.summary.problems[0].suspects ?? [];
  return found.filter((one) => one.channel === channel).map(({ x, y }) => [along(record.xs, x), along(record.ys, y)]);
}

/// Whether a point lies in the disk of a flow, where all is known: a sensor there would say nothing.
export function inDisk(point) {
  const disk = shown.record?.disk;
  if (!disk) return false;
  const [i, j] = [Math.floor(point / shown.size), point % shown.size];
  return (i - disk[0]) ** 2 + (j - disk[1]) ** 2 <= disk[2] ** 2;
}

/// Problems whose records take too long to solve hundreds of them in a page.
const TOO_SLOW_TO_FIT = { cylinder: "No linear fit here: a record takes 0.8 s to solve, and a fit takes hundreds." };

/// Why the problem that is shown has no linear fit here, if it has none.
export const withoutLinear = () => TOO_SLOW_TO_FIT[shown.problem.name];

/// Whether a method can answer for the problem that is shown.
const methods = { network: () => true, exact: () => shown.problem.has_exact, linear: () => shown.fit !== undefined };

/// The method that answers: the one that was chosen, or the network as long as that one cannot.
export const answering = () => (methods[shown.method]() ? shown.method : "network");

/// What the worker has to know of the sensors.
export function request() {
  const { problem, number, points, file, view } = shown;
  const method = answering();
  const all = CHANNELS.flatMap((channel, number) => [...points[channel]].map((point) => [number, point]));
  return {
    pde: problem.name,
    number,
    method,
    // They take longer than the fields: they are computed where they are looked at.
    deviations: method !== "network" && view === "band",
    file,
    channels: Uint8Array.from(all, ([number]) => number),
    points: Uint32Array.from(all, ([, point]) => point),
  };
}

/// The number of sensors nearest to the one asked for that the chosen family can have.
export function allowedCount() {
  const family = shown.facts.families.find((one) => one.name === shown.family);
  if (family.any_budget) return shown.count;
  return family.budgets.reduce((best, one) => (Math.abs(one - shown.count) < Math.abs(best - shown.count) ? one : best));
}

/// A sensor so near to a place, in points of the grid, is meant by it.
export const NEAR = 2;

/// What is at a place of a channel, for whoever cannot see it.
export function placeInWords(channel, [i, j]) {
  const { record, size } = shown;
  const apart = ([k, l]) => Math.hypot(k - i, l - j);
  const near = readings(channel).filter((reading) => apart(reading) <= NEAR);
  const [nearest] = near.sort((one, other) => apart(one) - apart(other));
  const where = `${channel} at x ${record.xs[i].toFixed(2)}, y ${record.ys[j].toFixed(2)}`;
  if (inDisk(i * size + j)) return `${where}: inside the disk`;
  if (!nearest) return `${where}: no sensor`;
  return `${where}: ${apart(nearest) < 0.5 ? "a sensor" : "a sensor close by"}, which reads ${short(nearest[2])}`;
}
