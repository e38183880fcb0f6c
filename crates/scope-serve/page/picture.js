// Draws fields and sensors. x runs to the right along axis 0, y upwards along axis 1, as in the program's pictures.

/// Makes a canvas as fine as the screen, and gives its context and its side in pixels.
export function prepare(canvas) {
  const side = Math.max(1, Math.round(canvas.clientWidth * (window.devicePixelRatio || 1)));
  if (canvas.width !== side || canvas.height !== side) canvas.width = canvas.height = side;
  const context = canvas.getContext("2d");
  context.clearRect(0, 0, side, side);
  return { context, side };
}

/// Fills a square with a field [size, size].
export function drawField({ context, side }, field, size, scale, alpha = 1) {
  const image = new ImageData(size, size);
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < size; j++) {
      const from = scale.index(field[i * size + j]);
      const to = 4 * ((size - 1 - j) * size + i);
      image.data[to] = scale.table[from];
      image.data[to + 1] = scale.table[from + 1];
      image.data[to + 2] = scale.table[from + 2];
      image.data[to + 3] = 255;
    }
  }
  const small = new OffscreenCanvas(size, size);
  small.getContext("2d").putImageData(image, 0, 0);
  context.globalAlpha = alpha;
  context.imageSmoothingQuality = "high";
  context.drawImage(small, 0, 0, side, side);
  context.globalAlpha = 1;
}

/// Where the centre of a pixel, which need not be whole, lies in a square.
export function at(side, size, i, j) {
  return [((i + 0.5) / size) * side, (1 - (j + 0.5) / size) * side];
}

/// Draws readings as dots of their value's colour: [[i, j, value], ...].
export function drawSensors({ context, side }, sensors, size, scale, ink) {
  // A few readings can be large, thousands must not cover each other.
  const radius = side / Math.min(230, Math.max(65, 12 * sensors.length ** 0.35));
  context.lineWidth = Math.max(1, side / 420);
  context.strokeStyle = ink;
  for (const [i, j, value] of sensors) {
    const [x, y] = at(side, size, i, j);
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = scale.css(value);
    context.fill();
    context.stroke();
  }
}

/// Rings sensors that do not fit the others: [[i, j], ...].
export function drawSuspects({ context, side }, places, size, colour) {
  context.lineWidth = Math.max(2, side / 110);
  context.strokeStyle = colour;
  for (const [i, j] of places) {
    context.beginPath();
    context.arc(...at(side, size, i, j), side / 32, 0, 2 * Math.PI);
    context.stroke();
  }
}

/// Says in an empty square what it is for.
export function drawHint({ context, side }, text, colour) {
  context.font = `${Math.round(side / 18)}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.fillStyle = colour;
  context.fillText(text, side / 2, side / 2);
}

/// Covers the disk of a flow: row and column of its centre and its radius, in pixels.
export function drawDisk({ context, side }, [cx, cy, r], size, colour) {
  const [x, y] = at(side, size, cx, cy);
  context.beginPath();
  context.arc(x, y, (r / size) * side, 0, 2 * Math.PI);
  context.fillStyle = colour;
  context.fill();
}

/// Marks where the keyboard is.
export function drawCursor({ context, side }, [i, j], size, colour) {
  const [x, y] = at(side, size, i, j);
  const reach = side / 28;
  context.lineWidth = Math.max(1.5, side / 220);
  context.strokeStyle = colour;
  context.beginPath();
  context.moveTo(x - reach, y);
  context.lineTo(x + reach, y);
  context.moveTo(x, y - reach);
  context.lineTo(x, y + reach);
  context.stroke();
}
