// Numbers and sentences as people read them.

/// A share in percent, in two digits or in whole percent.
export function percent(value) {
  if (value === undefined || value === null || Number.isNaN(value)) return "–";
  if (value > 0 && value < 0.001) return "< 0.001%";
  return `${value >= 99.5 ? grouped(Math.round(value)) : value.toPrecision(2)}%`;
}

export const grouped = (count) => count.toLocaleString("en");

export const counted = (number, name) => `${grouped(number)} ${number === 1 ? name : `${name}s`}`;

export const duration = (milliseconds) => (milliseconds < 1000 ? `${milliseconds.toFixed(0)} ms` : `${(milliseconds / 1000).toFixed(1)} s`);

/// A number in two digits.
export function short(value) {
  const size = Math.abs(value);
  const small = size !== 0 && (size < 0.01 || size >= 1e4);
  return (small ? value.toExponential(1) : String(Number(value.toPrecision(2)))).replace(/^-/, "−");
}

/// A sentence with a full stop, and with a capital unless it begins with the name of a field or of a file.
export function sentence(text) {
  const begin = /^([au]|\S+\.\w+) /.test(text) ? text.charAt(0) : text.charAt(0).toUpperCase();
  return begin + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}

/// Mask families as people see them.
export const LAYOUTS = { uniform: "scattered uniformly", grid: "on a grid", cluster: "in clusters", lines: "on whole lines", block: "in one block" };

const TASKS = { forward: "a", inverse: "u", joint: "each of a and u" };

/// A condition, such as inverse/uniform/500, in words.
export function measuredAs(condition) {
  const [task, layout, budget] = condition.split("/");
  return TASKS[task] && LAYOUTS[layout] ? `${grouped(Number(budget))} sensors of ${TASKS[task]}, ${LAYOUTS[layout]}` : `sensors as in ${condition}`;
}

/// A sentence of the library whose conditions are told in words.
export const withoutNames = (text) => text.replace(/under ((?:forward|inverse|joint)\/\w+\/\d+)/g, (_, condition) => `with ${measuredAs(condition)}`);
