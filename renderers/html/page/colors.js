// Colours of values, as every other renderer of the figure has them.

function share(scale, low, high, value) {
  if (scale.transfer === 'log') {
    if (value <= 0) return 0;
    const from = Math.log(Math.max(low, 1e-30));
    const to = Math.log(Math.max(high, 1e-30));
    return to > from ? clamp((Math.log(value) - from) / (to - from), 0, 1) : 0;
  }
  const t = high > low ? clamp((value - low) / (high - low), 0, 1) : 0;
  return scale.transfer === 'gamma' ? t ** scale.gamma : t;
}

// t in [0, 1] of a value; of signed values the middle is 0.
function normalised(scale, value) {
  if (!scale.centred) return share(scale, scale.low, scale.high, value);
  const largest = Math.max(Math.abs(scale.low), Math.abs(scale.high));
  const least = scale.transfer !== 'log' ? 0 : scale.low > 0 ? scale.low : largest * 1e-4;
  const half = share(scale, least, largest, Math.abs(value)) / 2;
  return value < 0 ? 0.5 - half : 0.5 + half;
}

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

const channels = (css) => [1, 3, 5, 7].map((at) => parseInt(css.slice(at, at + 2), 16));

// Writes RGBA of a value at bytes[at…]; the colormap is linear between its 256 entries.
function paintValue(scale, colormap, mask, value, bytes, at) {
  if (value !== value) {
    bytes.set(mask, at);
    return;
  }
  const place = normalised(scale, value) * 255;
  const entry = Math.min(Math.floor(place), 254);
  const part = place - entry;
  for (let n = 0; n < 3; ++n) {
    const low = colormap[3 * entry + n];
    bytes[at + n] = Math.round(low + (colormap[3 * entry + 3 + n] - low) * part);
  }
  bytes[at + 3] = 255;
}

// Whether dark words read better than light ones on these channels (relative luminance of WCAG 2).
function isLight([red, green, blue]) {
  const linear = (part) => part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4;
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue) > 0.179;
}
