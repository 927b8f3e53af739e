// A panel that has axes: its cells on a canvas, and everything else over them as SVG.

const SVG = 'http://www.w3.org/2000/svg';

function drawn(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  return element;
}

function made(name, className, text) {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

// A panel's title, with the part that is struck through.
function titleOf(panel) {
  const title = made('h2');
  const at = panel.struck ? panel.title.indexOf(panel.struck) : -1;
  if (at < 0) {
    title.textContent = panel.title;
  } else {
    title.append(panel.title.slice(0, at), made('s', '', panel.struck), panel.title.slice(at + panel.struck.length));
  }
  return title;
}

const ruler = document.createElement('canvas').getContext('2d');
function widthOf(text, size) {
  ruler.font = `${size}px ${FONT}`;
  return ruler.measureText(text).width;
}
const FONT = "'DejaVu Sans', Verdana, sans-serif";

const BAR = 0.9;             // the width of a colour bar, in text sizes
const GOLDEN = 0.62;         // a plot's height, where nothing else says it
const HIGHEST = 1.6;         // of a map, in widths
const BAR_LINES = 22;        // the height that its ticks were chosen for

class Plot {
  constructor(page, panel) {
    Object.assign(this, { page, panel });
    this.x = new Axis(panel.x, page);
    this.y = new Axis(panel.y, page);
    this.series = panel.layers.filter((layer) => layer.kind === 'curve' || layer.kind === 'bars');
    this.element = made('section', 'panel');
    if (panel.title) this.element.append(titleOf(panel));
    this.addLegend();
    this.stage = made('div', 'stage');
    this.stage.tabIndex = 0;
    this.stage.setAttribute('role', 'img');
    this.stage.setAttribute('aria-label', [panel.title, panel.note].filter(Boolean).join('. ') || 'plot');
    this.canvas = made('canvas');
    this.over = drawn('svg', {});
    this.stage.append(this.canvas, this.over);
    this.element.append(this.stage);
    if (panel.note) this.element.append(made('p', 'note', panel.note));
    this.element.append(...tablesOf(this));
    this.cross = null;
    this.ticks = [];  // shares of the colour bar that are pointed at
  }

  maps() { return this.panel.layers.filter((layer) => layer.kind === 'map'); }
  hidden(layer) { return Boolean(layer.name) && this.page.hidden.has(layer.name); }

  addLegend() {
    const named = this.series.filter((layer) => layer.name);
    const hidden = this.maps().filter((layer) => layer.hidden);
    if (named.length + hidden.length === 0) return;
    const legend = made('div', 'legend');
    for (const layer of hidden) {
      const entry = made('span', '', layer.hidden);
      const swatch = made('i', 'hatched');
      const line = `${layer.hatch} 0 1px, ${layer.scale.mask} 1px 5px`;
      swatch.style.background = `repeating-linear-gradient(135deg, ${line})`;
      entry.prepend(swatch);
      legend.append(entry);
    }
    for (const layer of named) {
      const button = made('button', '', layer.name);
      const dash = !layer.dashed ? '' : layer.dashed < 1 ? 'dotted' : layer.dashed > 1 ? 'long' : 'dashed';
      const swatch = made('i', layer.kind === 'bars' ? 'filled' : dash);
      swatch.style.color = layer.color;
      button.prepend(swatch);
      button.type = 'button';
      button.dataset.name = layer.name;
      button.setAttribute('aria-pressed', 'true');
      button.addEventListener('click', () => this.page.toggle(layer.name));
      legend.append(button);
    }
    this.element.append(legend);
  }

  // The room that the labels around a plot of about this width need.
  margins(width) {
    const text = this.page.text;
    const { panel } = this;
    const margin = { left: 1, right: 1, top: 0.5 * text, bottom: 1 };
    if (panel.bar) {
      const ticks = Math.max(...panel.bar.ticks.map(([, label]) => widthOf(label, TICK * text)), 0);
      margin.right = (1.6 + BAR) * text + ticks + (panel.bar.label ? 1.8 * text : 0);
      margin.bottom = 0.5 * text;
    }
    if (panel.axes) {
      margin.right = Math.max(margin.right, 1.5 * text);
      this.strips = { x: this.x.names && this.sideways(width) ? this.labelRoom(this.x, width) : 1.4 * text,
                      y: this.labelRoom(this.y, width * this.shape()) };  // begin behind the labels
      margin.left = 0.7 * text + this.strips.y + blocksDepth(this.y, text) + (panel.y.label ? 1.6 * text : 0);
      margin.bottom = 0.7 * text + this.strips.x + blocksDepth(this.x, text) + (panel.x.label ? 1.5 * text : 0);
    }
    return margin;
  }

  // Height over width.
  shape() {
    const span = (axis) => Math.abs(axis.home[1] - axis.home[0]);
    return this.panel.equal ? Math.min(span(this.y) / span(this.x), HIGHEST) : GOLDEN;
  }

  // Where the plot lies in its stage, which has margins to the left and the right of `width`.
  place(width, left, right) {
    const margin = this.margins(width);
    this.left = left;
    this.top = margin.top;
    this.width = width;
    this.height = Math.max(24, width * this.shape());
    if (this.panel.equal && this.shape() === HIGHEST) {
      this.width = this.height * Math.abs((this.x.home[1] - this.x.home[0]) / (this.y.home[1] - this.y.home[0]));
    }
    this.total = [left + width + right, margin.top + this.height + margin.bottom];
    this.stage.style.height = `${this.total[1]}px`;
  }

  // Of the longest label that there is at first or that zooming may bring.
  labelRoom(axis, length) {
    const text = this.page.text;
    const size = TICK * text;
    const names = axis.names ? axis.names.cells.map((name, n) => Math.min(widthOf(axis.besideBlock(n, name), size), LONGEST_NAME * size)) : [];
    const home = new Axis(axis.json, this.page);
    const first = home.ticks(length, text, false, widthOf).concat(home.numberTicks(300, text, false, widthOf));
    return names.concat(first.map(({ label }) => widthOf(label, size)), 2.5 * size)
        .reduce((most, width) => Math.max(most, width), 0);
  }

  // Whether names below cells stand on their sides, now or zoomed.
  sideways(width) {
    const cells = Math.abs(this.x.home[1] - this.x.home[0]);
    const size = TICK * this.page.text;
    return this.x.names.cells.some((name, n) => widthOf(this.x.besideBlock(n, name), size) + 0.5 * size > width / cells);
  }

  px(x) { return this.left + this.x.share(x) * this.width; }
  py(y) { return this.top + (1 - this.y.share(y)) * this.height; }

  draw() {
    const place = { left: `${this.left}px`, top: `${this.top}px`, width: `${this.width}px`, height: `${this.height}px` };
    Object.assign(this.canvas.style, place);
    drawCells(this.canvas, this, this.page);
    const [width, height] = this.total;
    this.over.replaceChildren();
    for (const [key, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) {
      this.over.setAttribute(key, value);
    }
    const clip = `clip${this.page.plots.indexOf(this)}`;
    const path = drawn('clipPath', { id: clip });
    path.append(drawn('rect', { x: this.left, y: this.top, width: this.width, height: this.height }));
    const inside = drawn('g', { 'clip-path': `url(#${clip})` });
    this.over.append(path);
    drawGround(this, inside);
    drawLayers(this, inside);
    this.over.append(inside);
    if (this.panel.axes) drawAxes(this);
    if (this.panel.bar) drawColorBar(this);
    this.marks = drawn('g', { class: 'cross', 'clip-path': `url(#${clip})` });
    this.pointed = drawn('g', {});
    this.over.append(this.marks, this.pointed);
    this.drawCross();
    this.drawTicks();
  }

  drawTicks() {
    const text = this.page.text;
    const x = this.left + this.width + 0.8 * text;
    this.pointed.replaceChildren(...this.ticks.flatMap((share) => {
      const y = this.top + this.height * (1 - share);
      return [drawn('rect', { class: 'pointed', x, y: y - 1, width: BAR * text, height: 2 }),
              drawn('path', { class: 'tick', d: `M${x - 0.35 * text},${y - 0.3 * text}L${x},${y}L${x - 0.35 * text},${y + 0.3 * text}Z` })];
    }));
  }

  // The lines through the place that is pointed at, in this axis' own coordinates.
  drawCross() {
    this.marks.replaceChildren();
    if (!this.cross) return;
    const [x, y] = [this.px(this.cross.x), this.py(this.cross.y)];
    const cell = this.cross.cell;
    if (cell) {
      const left = Math.min(this.px(cell.x[0]), this.px(cell.x[1]));
      const top = Math.min(this.py(cell.y[0]), this.py(cell.y[1]));
      this.marks.append(drawn('rect', { x: left, y: top, width: Math.abs(this.px(cell.x[1]) - this.px(cell.x[0])),
                                        height: Math.abs(this.py(cell.y[1]) - this.py(cell.y[0])) }));
    }
    this.marks.append(drawn('line', { x1: x, x2: x, y1: this.top, y2: this.top + this.height }));
    if (this.maps().length > 0 || !this.series.length) {
      this.marks.append(drawn('line', { x1: this.left, x2: this.left + this.width, y1: y, y2: y }));
    }
  }
}
