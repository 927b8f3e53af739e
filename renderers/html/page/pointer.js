// What the pointer does over a plot: it reads values, zooms and moves. Plots that show the same part of the same axes do
// so together.

const ZOOM = 1.0015;        // a pixel of the wheel
const LEAST_CELLS = 2;      // that remain visible of a map

class Tip {
  constructor() {
    this.element = made('div', 'tip');
    this.element.setAttribute('role', 'status');
    this.element.hidden = true;
    document.body.append(this.element);
  }

  show(event, lines) {
    this.element.replaceChildren();
    for (const [name, value] of lines) {
      const line = made('div');
      line.append(made('span', '', name), made('b', '', value));
      this.element.append(line);
    }
    this.element.hidden = false;
    const { offsetWidth, offsetHeight } = this.element;
    const left = event.clientX + 14 + offsetWidth > window.innerWidth ? event.clientX - 14 - offsetWidth : event.clientX + 14;
    const top = event.clientY + 14 + offsetHeight > window.innerHeight ? event.clientY - 14 - offsetHeight : event.clientY + 14;
    Object.assign(this.element.style, { left: `${Math.max(0, left)}px`, top: `${Math.max(0, top)}px` });
  }

  hide() { this.element.hidden = true; }
}

function listen(plot) {
  const { stage, page } = plot;
  let held = null;
  const at = (event) => {
    const box = stage.getBoundingClientRect();
    const [u, v] = [(event.clientX - box.left - plot.left) / plot.width, (event.clientY - box.top - plot.top) / plot.height];
    return u < 0 || u > 1 || v < 0 || v > 1 ? null : { u, v: 1 - v };
  };
  stage.addEventListener('pointermove', (event) => {
    if (held) {
      const box = stage.getBoundingClientRect();
      const moved = { u: (event.clientX - held.clientX) / plot.width, v: (held.clientY - event.clientY) / plot.height };
      held = event;
      if (box.width > 0) page.change(plot, moveBy(-moved.u), moveBy(-moved.v));
    }
    const place = at(event);
    if (place) page.point(plot, plot.x.at(place.u), plot.y.at(place.v), event);
    else page.leave();
  });
  stage.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 || !at(event)) return;
    held = event;
    if (event.isTrusted) stage.setPointerCapture(event.pointerId);
  });
  for (const name of ['pointerup', 'pointercancel']) stage.addEventListener(name, () => { held = null; });
  stage.addEventListener('pointerleave', () => page.leave());
  stage.addEventListener('wheel', (event) => {
    const place = at(event);
    if (!place) return;
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === 1 ? 33 : event.deltaMode === 2 ? 400 : 1);
    const factor = ZOOM ** clamp(pixels, -600, 600);
    page.change(plot, scaleBy(factor, place.u), scaleBy(factor, place.v));
    page.point(plot, plot.x.at(place.u), plot.y.at(place.v), event);
  }, { passive: false });
  stage.addEventListener('dblclick', () => page.fit(plot));
  stage.addEventListener('keydown', (event) => {
    const keys = {
      '+': () => page.change(plot, scaleBy(0.8, 0.5), scaleBy(0.8, 0.5)),
      '-': () => page.change(plot, scaleBy(1.25, 0.5), scaleBy(1.25, 0.5)),
      0: () => page.fit(plot),
      ArrowLeft: () => page.change(plot, moveBy(-0.1), moveBy(0)),
      ArrowRight: () => page.change(plot, moveBy(0.1), moveBy(0)),
      ArrowUp: () => page.change(plot, moveBy(0), moveBy(0.1)),
      ArrowDown: () => page.change(plot, moveBy(0), moveBy(-0.1)),
    };
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
}

// Changes of a view [low, high] that keep what is at the share `at`, and that move it by a share of itself.
const scaleBy = (factor, at) => ([low, high]) => {
  const middle = low + at * (high - low);
  return [middle + (low - middle) * factor, middle + (high - middle) * factor];
};
const moveBy = (share) => ([low, high]) => [low + share * (high - low), high + share * (high - low)];

// The view shortened to no less than `least` and moved into its home, keeping its direction.
function within([low, high], home, least) {
  const [from, to] = [Math.min(...home), Math.max(...home)];
  const size = clamp(Math.abs(high - low), Math.min(least, to - from), to - from);
  const middle = (low + high) / 2;
  const begin = clamp(middle - size / 2, from, to - size);
  return home[0] <= home[1] ? [begin, begin + size] : [begin + size, begin];
}

// The plot beside which a map's colours have their bar: plots of one scale have it once. Null: none.
function barOf(plot, layer) {
  const has = (other) => other.panel.bar && other.maps().length > 0
      && JSON.stringify(other.maps()[0].scale) === JSON.stringify(layer.scale);
  const { plots } = plot.page;
  const at = plots.indexOf(plot);
  return plots.slice(at).find(has) ?? plots.slice(0, at).reverse().find(has) ?? null;
}

// Where on which bar the colour of a place is; null: on none.
function tickAt(plot, x, y) {
  const layer = plot.maps().find(({ field }) => plot.page.fields[field].value(...cellOf(plot, field, x, y)) !== undefined);
  if (!layer) return null;
  const value = plot.page.fields[layer.field].value(...cellOf(plot, layer.field, x, y));
  const bar = barOf(plot, layer);
  return bar && value === value ? { bar, share: normalised(layer.scale, value) } : null;
}

const cellOf = (plot, field, x, y) => [plot.page.fields[field].index('row', y), plot.page.fields[field].index('column', x)];

// The quantity that a plot draws, with its unit.
function quantityOf(plot) {
  const map = plot.maps()[0];
  if (!map) return plot.series.length ? plot.panel.y.label : '';
  return barOf(plot, map)?.panel.bar.label || plot.page.fields[map.field].quantity || '';
}

// What is drawn at a place of a plot's own axes.
function readout(plot, x, y) {
  const lines = [];
  if (plot.series.length && plot.panel.y.label) lines.push([plot.panel.y.label, '']);
  for (const layer of plot.maps()) {
    const field = plot.page.fields[layer.field];
    const [row, column] = [field.index('row', y), field.index('column', x)];
    const value = field.value(row, column);
    if (value === undefined) continue;
    const said = layer.said?.[row * field.columns + column];
    if (said) {
      lines.push(['', said]);
      continue;
    }
    const text = layer.texts?.[row * field.columns + column];
    const name = quantityOf(plot) || 'value';
    lines.push([name, text && plot.page.digits === 3 ? text : shortNumber(value, plot.page.digits)]);
    if (text && numberIn(text) === null) lines.push(['', text]);
  }
  for (const layer of plot.panel.layers.filter(({ kind }) => kind === 'points')) {
    const n = nearestPoint(plot, layer, x, y);
    if (n < 0) continue;
    const between = (low, high) => low === null || low === undefined ? '' : ` (${shortNumber(low, 4)} to ${shortNumber(high, 4)})`;
    if (layer.names[n]) lines.push([layer.names[n], '']);
    lines.push([plot.panel.x.label, shortNumber(layer.x[n], 4) + between(layer.xLow[n], layer.xHigh[n])]);
    lines.push([plot.panel.y.label, shortNumber(layer.y[n], 4) + between(layer.yLow[n], layer.yHigh[n])]);
    lines.push([plot.panel.bar?.label || 'value', shortNumber(layer.values[n], 4)]);
  }
  for (const layer of plot.series) {
    const n = plot.hidden(layer) ? -1 : nearest(layer, x);
    if (n < 0) continue;
    if (layer.kind === 'bars') {
      lines.push([`${layer.name} ${shortNumber(layer.edges[n], 4)} to ${shortNumber(layer.edges[n + 1], 4)}`.trim(),
                  shortNumber(layer.heights[n] ?? undefined, 4)]);
      continue;
    }
    const band = layer.low[n] !== undefined && layer.low[n] !== null
        ? ` (${shortNumber(layer.low[n], 4)} to ${shortNumber(layer.high[n], 4)})` : '';
    lines.push([`${layer.name} at ${shortNumber(layer.x[n], 4)}`.trim(), shortNumber(layer.y[n] ?? undefined, 4) + band]);
  }
  return lines;
}

// The point nearest to a place, within 20 pixels; −1: none.
function nearestPoint(plot, layer, x, y) {
  let best = -1;
  let least = 20;
  layer.x.forEach((value, n) => {
    if (value === null || layer.y[n] === null) return;
    const apart = Math.hypot(plot.px(value) - plot.px(x), plot.py(layer.y[n]) - plot.py(y));
    if (apart < least) [best, least] = [n, apart];
  });
  return best;
}

// The bin, or the point nearest to x; −1: none.
function nearest(layer, x) {
  if (layer.kind === 'bars') return layer.heights.findIndex((_, n) => x >= layer.edges[n] && x < layer.edges[n + 1]);
  let best = -1;
  layer.x.forEach((value, n) => {
    if (value !== null && layer.y[n] !== null && (best < 0 || Math.abs(value - x) < Math.abs(layer.x[best] - x))) best = n;
  });
  return best;
}

// Where the pointer is: both axes, with the names of their cells.
function placeLines(plot, x, y) {
  const field = plot.maps().length ? plot.page.fields[plot.maps()[0].field] : null;
  const line = (axis, place, own) => {
    const step = own?.[1] ?? 1;
    const cell = own ? own[0] + Math.floor((place - own[0]) / step) * step : place;
    const number = own && step > 1 ? `${cell}–${cell + step - 1}` : axis.numberAt(place);
    const label = axis.json.label || own?.[2] || '';
    const name = axis.nameAt(place);
    return [`${label} ${name && label === '' ? '' : number}`.trim(), name];
  };
  if (!field) return plot.series.length || plot.panel.layers.some(({ kind }) => kind === 'points') ? [] : [line(plot.y, y), line(plot.x, x)];
  return [line(plot.y, y, field.row), line(plot.x, x, field.column)];
}
