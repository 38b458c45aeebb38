// A space-time diagram on a canvas: time to the right, cells downwards.

const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const parse = (hex) => [1, 3, 5].map((n) => parseInt(hex.slice(n, n + 2), 16));

// Resize a canvas to its size on the screen; return a context in CSS pixels.
export function fit(canvas) {
  const ratio = devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { context, width, height };
}

// The coordinates of times and cells on a canvas of this size.
export function scale(diagram, width, height) {
  const perTime = width / (diagram.stop - diagram.start);
  const perCell = height / (diagram.last + 1 - diagram.first);
  return {
    perTime, perCell,
    x: (t) => (t - diagram.start) * perTime,
    y: (cell) => (cell - diagram.first) * perCell,
    t: (x) => Math.floor(diagram.start + x / perTime),
    cell: (y) => Math.floor(diagram.first + y / perCell),
  };
}

export function paint(context, diagram, width, height) {
  const { columns, rows, image } = diagram;
  const [light, dark] = [parse(ink("--tape-0")), parse(ink("--tape-1"))];
  const pixels = new ImageData(columns, rows);
  for (let x = 0; x < columns; x++) {
    for (let y = 0; y < rows; y++) {
      const level = image[x * rows + y] / 255, place = 4 * (y * columns + x);
      for (let c = 0; c < 3; c++) pixels.data[place + c] = light[c] + level * (dark[c] - light[c]);
      pixels.data[place + 3] = 255;
    }
  }
  const small = new OffscreenCanvas(columns, rows);
  small.getContext("2d").putImageData(pixels, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, width, height);
  path(context, diagram, width, height);
}

function path(context, diagram, width, height) {
  const { columns, low, high } = diagram;
  const { perTime, y, perCell } = scale(diagram, width, height);
  const step = width / columns, single = columns === diagram.stop - diagram.start;
  if (single && perTime >= 2) {
    context.beginPath();
    for (let x = 0; x < columns; x++) context.lineTo((x + 0.5) * step, y(low[x]) + perCell / 2);
    cased(context, "--head", 2.5);
    return;
  }
  for (const [colour, rim] of [["--casing", CASING], ["--head", 0]]) {
    context.fillStyle = ink(colour);
    for (let x = 0; x < columns; x++) {
      // If the head sweeps over much of the picture, its path would hide the tape.
      const top = y(low[x]), size = Math.max(2, y(high[x] + 1) - top);
      if (size < height / 6) context.fillRect(x * step - rim, top - rim, Math.max(1, step) + 2 * rim, size + 2 * rim);
    }
  }
}

const CASING = 2; // pixels around every mark, of a colour that differs from it by more than 3 : 1

// Stroke the path twice, the casing first, so that it shows on every shade of the tape.
export function cased(context, colour, width) {
  context.lineJoin = "round";
  for (const [name, wide] of [["--casing", width + 2 * CASING], [colour, width]]) {
    context.strokeStyle = ink(name);
    context.lineWidth = wide;
    context.stroke();
  }
}

export { ink };
