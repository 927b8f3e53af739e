// The page: its panels in a grid, and what they do together.

const LEAST_COLUMN = 230;  // pixels; the panels of a row go below each other where they would be narrower
const GAP = 12;
const MOST_READ = 6;       // of plots that are moved together, beside the pointer

class Page {
  constructor(data) {
    this.theme = data.theme;
    this.text = data.theme.text;
    this.digits = data.exact ? 4 : 3;
    this.names = data.names;
    this.colormaps = data.colormaps.map(bytesOf);
    this.hidden = new Set();
    this.tip = new Tip();
    this.data = data;
  }

  async read() {
    this.fields = await Promise.all(this.data.fields.map(Field.read));
    this.images = await Promise.all(this.data.images.map(async (source) => {
      const image = new Image();
      image.src = source;
      await image.decode();
      return image;
    }));
  }

  show(place) {
    this.place = place;
    document.body.classList.toggle('single', Math.min(this.data.columns, this.data.panels.length) <= 1);
    this.plots = this.data.panels.map((panel) =>
        panel.layers.some(({ kind }) => kind === 'strip') ? new Strip(this, panel) : new Plot(this, panel));
    place.append(...this.plots.map(({ element }) => element));
    this.plots.filter((plot) => plot instanceof Plot).forEach(listen);
    this.draw();
    new ResizeObserver(() => this.later()).observe(place);
  }

  // As many columns as the figure has, where there is room; plots have one width, so that maps beside each other compare.
  layOut() {
    const total = this.place.clientWidth;
    const wanted = Math.min(this.data.columns, this.plots.length);
    const columns = total >= LEAST_COLUMN * wanted ? wanted : Math.max(1, Math.floor(total / LEAST_COLUMN));
    const rough = Math.max(40, total / columns - 100);
    const margins = Array.from({ length: columns }, () => ({ left: 0, right: 0 }));
    this.plots.forEach((plot, n) => {
      const own = plot.margins(rough);
      const column = margins[n % columns];
      column.left = Math.max(column.left, own.left);
      column.right = Math.max(column.right, own.right);
    });
    const taken = margins.reduce((sum, { left, right }) => sum + left + right, 0) + GAP * (columns - 1);
    const width = Math.max(40, (total - taken) / columns);
    this.place.style.gridTemplateColumns = margins.map(({ left, right }) => `${left + width + right}px`).join(' ');
    this.plots.forEach((plot, n) => plot.place(width, margins[n % columns].left, margins[n % columns].right));
  }

  draw() {
    this.layOut();
    this.plots.forEach((plot) => plot.draw());
  }

  later() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  // Those that are moved with a plot: they follow the camera and began where it did.
  linked(plot) {
    if (!plot.panel.follows) return [plot];
    const home = (other) => [other.x, other.y].flatMap((axis) => axis.home.map((end) => axis.toCamera(end)));
    const own = home(plot);
    const alike = (other) => home(other).every((end, n) => Math.abs(end - own[n]) <= 1e-6 * (1 + Math.abs(end)));
    return this.plots.filter((other) => other instanceof Plot && other.panel.follows && alike(other));
  }

  change(plot, changeX, changeY) {
    const moved = (axis, change, cells) => {
      const bent = (view) => view.map((end) => axis.bent(end));
      const home = bent(axis.home);
      const least = cells ? LEAST_CELLS : Math.abs(home[1] - home[0]) / 1000;
      return within(change(bent(axis.view)), home, least).map((end) => axis.toCamera(axis.straight(end)));
    };
    const cells = plot.maps().length > 0 && Math.abs(plot.x.home[1] - plot.x.home[0]) > LEAST_CELLS;
    const [x, y] = [moved(plot.x, changeX, cells), moved(plot.y, changeY, cells)];
    for (const other of this.linked(plot)) {
      other.x.view = x.map((end) => other.x.fromCamera(end));
      other.y.view = y.map((end) => other.y.fromCamera(end));
      other.draw();
    }
  }

  fit(plot) {
    for (const other of this.linked(plot)) {
      other.x.view = [...other.x.home];
      other.y.view = [...other.y.home];
      other.draw();
    }
  }

  point(plot, x, y, event) {
    const lines = [];
    const linked = this.linked(plot);
    const camera = [plot.x.toCamera(x), plot.y.toCamera(y)];
    for (const other of this.plots) {
      other.cross = null;
      other.ticks = [];
      if (linked.includes(other)) {
        const [ownX, ownY] = [other.x.fromCamera(camera[0]), other.y.fromCamera(camera[1])];
        other.cross = { x: ownX, y: ownY, cell: cellAt(other, ownX, ownY) };
        if (other === plot || linked.length <= MOST_READ) {
          const own = readout(other, ownX, ownY);
          const titled = linked.length > 1 && other.panel.title;  // the value of each under its title
          const quantity = titled && own.length === 1 ? quantityOf(other) : '';
          if (quantity && !lines.some(([name]) => name === quantity)) lines.push([quantity, '']);
          lines.push(...own.map(([name, value]) => [titled && own.length === 1 ? other.panel.title : name, value]));
        }
      }
      other.drawCross();
    }
    const tick = tickAt(plot, x, y);
    if (tick) tick.bar.ticks = [tick.share];
    this.plots.forEach((other) => other.drawTicks());
    lines.push(...placeLines(plot, x, y));  // what is drawn leads
    if (lines.length) this.tip.show(event, lines);
    else this.tip.hide();
  }

  leave() {
    this.tip.hide();
    for (const plot of this.plots) {
      plot.cross = null;
      plot.ticks = [];
      plot.drawCross();
      plot.drawTicks();
    }
  }

  toggle(name) {
    if (!this.hidden.delete(name)) this.hidden.add(name);
    for (const button of document.querySelectorAll('.legend button')) {
      button.setAttribute('aria-pressed', String(!this.hidden.has(button.dataset.name)));
    }
    this.draw();
  }
}

// The cell of a plot's first map that holds a place, where it is large enough to be framed.
function cellAt(plot, x, y) {
  const map = plot.maps()[0];
  if (!map) return null;
  const field = plot.page.fields[map.field];
  const [row, column] = [field.index('row', y), field.index('column', x)];
  if (field.value(row, column) === undefined) return null;
  const ends = ([first, step], n) => [first + n * step, first + (n + 1) * step];
  return { x: ends(field.column, column), y: ends(field.row, row) };
}

const page = new Page(JSON.parse(document.getElementById('locus-figure').textContent));
page.read().then(() => {
  page.show(document.getElementById('panels'));
  document.body.dataset.ready = 'yes';
}, () => {
  document.getElementById('panels').append(
      made('p', 'note', 'This browser cannot unpack the data of the figure: it needs DecompressionStream (2023 or later).'));
});
