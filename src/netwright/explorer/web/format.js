// Readable numbers and symbols.

export const number = (n) => (n < 0 ? "−" : "") + Math.abs(n).toLocaleString("en");
export const steps = (n) => `${number(n)} ${n === 1 ? "step" : "steps"}`;
export const signed = (text) => String(text).replace(/-/g, "−");
export const clip = (text, most = 24) => ([...text].length > most ? `${[...text].slice(0, most - 1).join("")}…` : text);
export const symbol = (s, blank) => (s === blank || s === " " ? "␣" : s);

// An exact rational such as -8790/23456790 as −8790/t, if its denominator divides a power of t.
export function overTime(text, t) {
  const found = /^(-?\d+)\/(\d+)$/.exec(text);
  if (/^-?\d{5,15}$/.test(text)) return number(Number(text));
  if (!found) return signed(text);
  const [top, bottom] = [BigInt(found[1]), BigInt(found[2])];
  let power = 1n;
  for (const name of ["/t", "/t²", "/t³"]) {
    power *= BigInt(t);
    if (power % bottom === 0n) {
      const found = `${top * (power / bottom)}${name}`;
      if (t < 100 && String(bottom).length < 3 || found.length >= text.length) break;
      return signed(found);
    }
  }
  return text.length > 16 ? about(text) : signed(text);
}

// A float, which is an exact rational, as a decimal with four digits.
export function decimal(text) {
  const [top, bottom = 1] = text.split("/").map(Number), x = top / bottom;
  return signed(Number.isInteger(x) ? number(x) : Number.isFinite(x) ? String(Number(x.toPrecision(4))) : about(text));
}

// An exact rational as a decimal with some digits.
export function about(text) {
  const found = /^(-?)(\d+)(?:\/(\d+))?$/.exec(text);
  if (!found) return signed(text);
  const [, sign, top, bottom = "1"] = found;
  if (text.length <= 20) return signed(text);
  const size = top.length - bottom.length;
  const shift = 8n - BigInt(size);
  const scaled = shift > 0n
    ? (BigInt(top) * 10n ** shift) / BigInt(bottom)
    : BigInt(top) / (BigInt(bottom) * 10n ** -shift);
  const digits = String(scaled);
  const exponent = digits.length - 1 - Number(shift);
  const mantissa = `${digits[0]}.${digits.slice(1, 4)}`;
  return `${sign ? "−" : ""}${mantissa}e${signed(exponent)}`;
}

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
