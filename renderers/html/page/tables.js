// The numbers of a panel as tables: those written in the cells of a map, curves and histograms, a text's tokens. A table
// is made when it is opened, and sorted by the column whose head is pressed.

const MOST_ROWS = 5000;

function tablesOf(panel) {
  const { layers } = panel.panel;
  const tables = [];
  const written = layers.filter((layer) => layer.kind === 'map' && layer.texts);
  if (written.length) tables.push(closedTable(() => cellTable(panel, written[0])));
  const series = layers.filter(({ kind }) => kind === 'curve' || kind === 'bars');
  if (series.length) tables.push(closedTable(() => seriesTable(panel.panel, series)));
  for (const layer of layers.filter(({ kind }) => kind === 'points')) {
    tables.push(closedTable(() => pointTable(panel.panel, layer)));
  }
  const strip = layers.find(({ kind }) => kind === 'strip');
  if (strip) {
    tables.push(closedTable(() => ({
      head: ['', 'token', panel.panel.bar?.label || 'value'],
      rows: strip.tokens.map(([token, value], n) => [n, token, value ?? null]),
    })));
  }
  return tables;
}

function closedTable(content) {
  const details = made('details', 'numbers');
  details.append(made('summary', '', 'Numbers'));
  details.addEventListener('toggle', () => {
    if (details.open && !details.querySelector('table')) details.append(tableOf(content()));
  });
  return details;
}

function cellTable(panel, layer) {
  const field = panel.page.fields[layer.field];
  const nameOf = (axis, n, places) => axis.nameAt(places[0] + places[1] * (n + 0.5)) || String(places[0] + n * places[1]);
  const head = [panel.panel.y.label || ''];
  for (let c = 0; c < field.columns; ++c) head.push(nameOf(panel.x, c, field.column));
  const rows = [];
  for (let r = 0; r < field.rows; ++r) {
    rows.push([nameOf(panel.y, r, field.row), ...layer.texts.slice(r * field.columns, (r + 1) * field.columns)]);
  }
  return { head, rows };
}

// A row for each x that some series has.
function seriesTable(panel, series) {
  const at = new Map();
  const put = (x, column, value) => {
    if (x === null) return;
    if (!at.has(x)) at.set(x, Array(series.length).fill(null));
    at.get(x)[column] = value;
  };
  series.forEach((layer, column) => {
    if (layer.kind === 'bars') layer.heights.forEach((height, n) => put(layer.edges[n], column, height));
    else layer.x.forEach((x, n) => put(x, column, layer.y[n]));
  });
  const rows = [...at.entries()].sort(([a], [b]) => a - b).map(([x, values]) => [x, ...values]);
  const from = series.every(({ kind }) => kind === 'bars') ? ' from' : '';
  return { head: [(panel.x.label || 'x') + from, ...series.map(({ name }) => name || panel.y.label || 'y')], rows };
}

// A row for each point, with the ends of its intervals.
function pointTable(panel, layer) {
  const columns = [[panel.x.label, layer.x], ['from', layer.xLow], ['to', layer.xHigh], [panel.y.label, layer.y],
                   ['from', layer.yLow], ['to', layer.yHigh], [panel.bar?.label || 'value', layer.values]]
      .filter(([, list]) => list.length);
  return { head: ['', ...columns.map(([name]) => name)],
           rows: layer.x.map((_, n) => [layer.names[n] ?? '', ...columns.map(([, list]) => list[n])]) };
}

const numberIn = (text) => {
  const number = typeof text === 'number' ? text : Number(String(text).replace('−', '-').replace(/,/g, ''));
  return text === null || text === '' || Number.isNaN(number) ? null : number;
};

function tableOf({ head, rows }) {
  const table = made('table');
  const top = table.createTHead().insertRow();
  const body = table.createTBody();
  const fill = () => {
    body.replaceChildren();
    for (const row of rows.slice(0, MOST_ROWS)) {
      const line = body.insertRow();
      row.forEach((value, n) => {
        const shown = typeof value === 'number' ? shortNumber(value, 6) : value ?? '';
        line.append(made(n === 0 ? 'th' : 'td', '', shown));
      });
    }
    if (rows.length > MOST_ROWS) {
      body.insertRow().append(made('td', 'more', `${rows.length - MOST_ROWS} more rows`));
    }
  };
  head.forEach((name, column) => {
    const cell = made('th', '', name);
    let down = false;
    cell.addEventListener('click', () => {
      down = !down;
      const key = (row) => numberIn(row[column]);
      rows.sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === null || y === null) {
          return x === y ? String(a[column]).localeCompare(String(b[column])) : x === null ? 1 : -1;
        }
        return down ? y - x : x - y;
      });
      fill();
    });
    top.append(cell);
  });
  fill();
  const scroll = made('div', 'scroll');
  scroll.append(table);
  return scroll;
}
