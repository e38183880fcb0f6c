// Colour scales: from a number in [0, 1] to red, green and blue.

// ColorBrewer's RdBu and PuOr, from low to high, and a scale from dark to light for values of one sign.
const STOPS = {
  signed: ["#053061", "#2166ac", "#4393c3", "#92c5de", "#d1e5f0", "#f7f7f7", "#fddbc7", "#f4a582", "#d6604d", "#b2182b", "#67001f"],
  error: ["#7f3b08", "#b35806", "#e08214", "#fdb863", "#fee0b6", "#f7f7f7", "#d8daeb", "#b2abd2", "#8073ac", "#542788", "#2d004b"],
  positive: ["#081d58", "#1f3b8a", "#225ea8", "#1d91c0", "#41b6c4", "#7fcdbb", "#c7e9b4", "#edf8b1", "#fffbd9"],
  width: ["#fcfbfd", "#e5e4ef", "#c6c5e0", "#a19ecb", "#7d75b4", "#5c3d99", "#3f007d"],
};

const parse = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

function table(stops) {
  const colours = stops.map(parse);
  const out = new Uint8ClampedArray(256 * 3);
  for (let k = 0; k < 256; k++) {
    const at = (k / 255) * (colours.length - 1);
    const low = Math.min(Math.floor(at), colours.length - 2);
    for (let c = 0; c < 3; c++) out[3 * k + c] = colours[low][c] + (at - low) * (colours[low + 1][c] - colours[low][c]);
  }
  return out;
}

const TABLES = Object.fromEntries(Object.entries(STOPS).map(([name, stops]) => [name, table(stops)]));

/// A scale by name, over a range of values.
export class Scale {
  constructor(name, low, high) {
    this.name = name;
    this.low = low;
    this.high = high > low ? high : low + 1e-30;
    this.table = TABLES[name];
  }

  /// One for a field: signed about zero where it has both signs.
  static of(field) {
    const [low, high] = range(field);
    if (low < 0 && high > 0) {
      const most = Math.max(-low, high);
      return new Scale("signed", -most, most);
    }
    // A scale that nearly begins at zero begins there.
    return new Scale("positive", low >= 0 && low < 0.1 * high ? 0 : low, high);
  }

  /// One for what a field is off by. A few outliers do not decide it.
  static ofErrors(errors) {
    const most = quantile(errors, 0.995);
    return new Scale("error", -most, most);
  }

  /// One for half-widths.
  static ofWidths(widths) {
    return new Scale("width", 0, quantile(widths, 0.995));
  }

  index(value) {
    const share = (value - this.low) / (this.high - this.low);
    return 3 * Math.round(255 * Math.min(1, Math.max(0, share)));
  }

  css(value) {
    const at = this.index(value);
    return `rgb(${this.table[at]},${this.table[at + 1]},${this.table[at + 2]})`;
  }

  /// Its colours, evenly spaced.
  stops() {
    return STOPS[this.name];
  }

  /// The scale as a strip, for CSS.
  gradient() {
    return `linear-gradient(90deg, ${this.stops().join(", ")})`;
  }
}

function range(field) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of field) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

function quantile(values, share) {
  const sizes = Float64Array.from(values, Math.abs).sort();
  return sizes[Math.min(sizes.length - 1, Math.floor(share * sizes.length))];
}
