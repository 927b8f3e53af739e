// What lies over the cells of a plot: its ground and grid, curves, histograms, markers, boxes, axes and colour bar.

const asPath = (points) => points.map(([x, y], n) => `${n ? 'L' : 'M'}${x.toFixed(2)},${y.toFixed(2)}`).join('');

function drawGround(plot, group) {
  const { panel, page } = plot;
  const hasCells = panel.layers.some(({ kind }) => kind === 'map' || kind === 'image');
  if (!panel.axes || hasCells) return;
  group.append(drawn('rect', { x: plot.left, y: plot.top, width: plot.width, height: plot.height, class: 'ground' }));
  for (const tick of plot.x.ticks(plot.width, page.text, true, widthOf)) {
    const x = plot.px(tick.at);
    group.append(drawn('line', { class: 'grid', x1: x, x2: x, y1: plot.top, y2: plot.top + plot.height }));
  }
  for (const tick of plot.y.ticks(plot.height, page.text, false, widthOf)) {
    const y = plot.py(tick.at);
    group.append(drawn('line', { class: 'grid', x1: plot.left, x2: plot.left + plot.width, y1: y, y2: y }));
  }
}

function drawLayers(plot, group) {
  const drawers = { map: drawOverCells, bars: drawBars, curve: drawCurve, points: drawPoints, marker: drawMarker,
                    box: drawBox };
  plot.labelled = [];
  for (const layer of plot.panel.layers) {
    if (drawers[layer.kind] && !plot.hidden(layer)) drawers[layer.kind](plot, layer, group);
  }
}

// The edge of what a mask hides, and numbers.
function drawOverCells(plot, layer, group) {
  if (layer.hatch) {
    const at = layer.edgeX.map((x, n) => x === null || layer.edgeY[n] === null ? null : [plot.px(x), plot.py(layer.edgeY[n])]);
    for (const run of runsOf(at.length, at)) {
      group.append(drawn('path', { class: 'line edge', d: asPath(run.map((n) => at[n])) }));
    }
  }
  drawCellTexts(plot, layer, group);
}

// Numbers in cells, where each has room for its own.
function drawCellTexts(plot, layer, group) {
  if (!layer.texts) return;
  const field = plot.page.fields[layer.field];
  const [rowFirst, rowStep] = field.row;
  const [columnFirst, columnStep] = field.column;
  const width = Math.abs(plot.px(columnFirst + columnStep) - plot.px(columnFirst));
  const height = Math.abs(plot.py(rowFirst + rowStep) - plot.py(rowFirst));
  const widest = (texts) => texts.reduce((most, text) => Math.max(most, widthOf(text, 1)), 0.64);
  const longest = widest(layer.texts);
  const smallest = 0.5 * plot.page.text;
  let size = Math.min(TICK * plot.page.text, 0.7 * height, 0.9 * width / longest);
  if (size < smallest) return;
  const detail = layer.details ? widest(layer.details) : 0;
  const beside = layer.details ? Math.min(size, 0.9 * width / (longest + 0.64 + detail)) : 0;
  const below = layer.details ? Math.min(size, 0.36 * height, 0.9 * width / Math.max(longest, detail)) : 0;
  const detailed = Math.max(beside, below) >= smallest;
  const oneLine = detailed && beside >= below;
  if (detailed) size = Math.max(beside, below);
  const ground = channels(plot.page.theme.background);
  const colour = new Uint8Array(4);
  layer.texts.forEach((text, n) => {
    const x = plot.px(columnFirst + columnStep * (n % field.columns + 0.5));
    const y = plot.py(rowFirst + rowStep * (Math.floor(n / field.columns) + 0.5));
    if (!text || x < plot.left || x > plot.left + plot.width || y < plot.top || y > plot.top + plot.height) return;
    paintValue(layer.scale, plot.page.colormaps[layer.scale.map], channels(layer.scale.mask), field.whole.values[n],
               colour, 0);
    const over = [0, 1, 2].map((c) => ground[c] + (colour[c] - ground[c]) * colour[3] / 255);
    const write = (words, baseline) => group.append(drawn('text', {
      x, y: baseline, 'font-size': size, 'text-anchor': 'middle', fill: isLight(over) ? '#101010' : '#fafafa' }, words));
    const baseline = y + 0.36 * size;
    if (oneLine) {
      write(`${text}\u00a0 ${layer.details[n]}`, baseline);
    } else if (detailed) {
      write(text, baseline - 0.6 * size);
      write(layer.details[n], baseline + 0.6 * size);
    } else {
      write(text, baseline);
    }
  });
}

function drawBars(plot, layer, group) {
  const base = clamp(plot.py(0), plot.top, plot.top + plot.height);
  const outline = [];
  layer.heights.forEach((height, n) => {
    const [left, right] = [plot.px(layer.edges[n]), plot.px(layer.edges[n + 1])];
    const top = height === null ? base : plot.py(height);
    outline.push([left, top], [right, top]);
  });
  if (outline.length === 0) return;
  outline.unshift([outline[0][0], base]);
  outline.push([outline[outline.length - 1][0], base]);
  const fill = { fill: layer.color, 'fill-opacity': layer.opacity };
  group.append(drawn('path', { class: 'outline', d: asPath(outline), stroke: layer.color, ...fill }));
}

// Runs of a curve's indices at which every one of these has a value.
function runsOf(count, ...values) {
  const runs = [[]];
  for (let n = 0; n < count; ++n) {
    if (values.every((each) => each[n] !== null && each[n] !== undefined)) {
      runs[runs.length - 1].push(n);
    } else if (runs[runs.length - 1].length) {
      runs.push([]);
    }
  }
  return runs.filter((run) => run.length > 0);
}

const heightOf = (layer, n) => n < layer.stands.length ? layer.stands[n] + layer.y[n] : layer.y[n];

function drawCurve(plot, layer, group) {
  const heights = layer.y.map((y, n) => y === null ? null : heightOf(layer, n));
  const area = (low, high, opacity) => {
    for (const run of runsOf(Math.min(low.length, high.length), layer.x, low, high)) {
      if (run.length < 2) continue;
      const points = run.map((n) => [plot.px(layer.x[n]), plot.py(high[n])])
          .concat([...run].reverse().map((n) => [plot.px(layer.x[n]), plot.py(low[n])]));
      group.append(drawn('path', { d: asPath(points) + 'Z', fill: layer.color, 'fill-opacity': opacity }));
    }
  };
  area(layer.low, layer.high, 0.2);
  area(layer.stands, heights, 0.5);
  const width = layer.width * plot.page.text / 12;
  for (const run of runsOf(layer.x.length, layer.x, heights)) {
    const points = run.map((n) => [plot.px(layer.x[n]), plot.py(heights[n])]);
    if (points.length === 1) {
      group.append(drawn('circle', { cx: points[0][0], cy: points[0][1], r: 1.25 * width, fill: layer.color }));
      continue;
    }
    const line = drawn('path', { class: 'line', d: asPath(points), stroke: layer.color, 'stroke-width': width });
    if (layer.dashed) line.setAttribute('stroke-dasharray', `${4 * layer.dashed * width} ${2.4 * layer.dashed * width}`);
    group.append(line);
  }
  const unit = plot.page.text / 12;
  layer.hollow.forEach((ring, n) => {
    if (layer.x[n] === null || heights[n] === null) return;
    const paint = ring ? { fill: 'none', stroke: layer.color, 'stroke-width': 1.5 * unit } : { fill: layer.color };
    group.append(drawn('circle', { class: 'dot', cx: plot.px(layer.x[n]), cy: plot.py(heights[n]),
                                   r: (7 - (ring ? 1.5 : 0)) / 2 * unit, ...paint }));
  });
}

// The half of a disc that is not empty: the right one of hollow 2, the upper one of hollow 3.
function halfDisc(x, y, r, hollow) {
  return hollow === 2 ? `M${x} ${y - r}A${r} ${r} 0 0 1 ${x} ${y + r}Z` : `M${x - r} ${y}A${r} ${r} 0 0 1 ${x + r} ${y}Z`;
}

// Discs and rings with their crosses, the faint ones behind the others, and names above all.
function drawPoints(plot, layer, group) {
  const unit = plot.page.text / 12;
  const colour = new Uint8Array(4);
  const every = layer.x.map((_, n) => n).filter((n) => layer.x[n] !== null && layer.y[n] !== null);
  const sizeOf = (n) => unit * (layer.sizes[n] ?? 8);
  for (const n of [...every.filter((n) => layer.faint[n]), ...every.filter((n) => !layer.faint[n])]) {
    paintValue(layer.scale, plot.page.colormaps[layer.scale.map], channels(layer.scale.mask), layer.values[n], colour, 0);
    const stroke = `rgb(${colour.slice(0, 3).join(',')})`;
    const opacity = layer.faint[n] ? 0.25 : 1;
    const [x, y] = [plot.px(layer.x[n]), plot.py(layer.y[n])];
    const cross = (low, high, ends) => {
      if (low === null || low === undefined || high === null || high === undefined) return;
      group.append(drawn('line', { ...ends(low, high), class: 'interval', opacity, 'stroke-width': unit }));
    };
    cross(layer.xLow[n], layer.xHigh[n], (low, high) => ({ x1: plot.px(low), x2: plot.px(high), y1: y, y2: y }));
    cross(layer.yLow[n], layer.yHigh[n], (low, high) => ({ x1: x, x2: x, y1: plot.py(low), y2: plot.py(high) }));
    const ring = layer.hollow[n];
    const circle = { cx: x, cy: y, r: (sizeOf(n) - (ring ? 1.5 * unit : 0)) / 2 };
    const line = (width) => ring ? { fill: 'none', 'stroke-width': (1.5 + width) * unit } : { 'stroke-width': width * unit };
    group.append(drawn('circle', { ...circle, class: 'edge', opacity: 0.6 * opacity, ...line(1.5) }));
    if (ring > 1) group.append(drawn('path', { d: halfDisc(x, y, sizeOf(n) / 2, ring), opacity, fill: stroke }));
    group.append(drawn('circle', { ...circle, class: 'point', opacity, fill: stroke, ...(ring ? { stroke, ...line(0) } : {}) }));
  }
  const size = 0.8 * plot.page.text;
  for (const n of every) {
    const name = layer.names[n];
    if (!name) continue;
    const gap = sizeOf(n) / 2 + 0.3 * size;
    const x = plot.px(layer.x[n]);
    const left = x + gap + widthOf(name, size) > plot.left + plot.width;
    group.append(drawn('text', { class: 'label', x: left ? x - gap : x + gap, y: plot.py(layer.y[n]) - 0.3 * size,
                                 'font-size': size, 'text-anchor': left ? 'end' : 'start' }, name));
  }
}

function drawMarker(plot, layer, group) {
  const at = layer.vertical ? plot.px(layer.at) : plot.py(layer.at);
  const [right, bottom] = [plot.left + plot.width, plot.top + plot.height];
  if (layer.vertical ? at < plot.left - 0.5 || at > right + 0.5 : at < plot.top - 0.5 || at > bottom + 0.5) return;
  const line = layer.vertical ? { x1: at, x2: at, y1: plot.top, y2: bottom }
      : { x1: plot.left, x2: right, y1: at, y2: at };
  const dash = layer.dashed ? { 'stroke-dasharray': '4 2.4' } : {};
  const onCells = plot.maps().length > 0;
  const behind = isLight(channels(layer.color)) ? '#000000' : '#ffffff';
  if (onCells) group.append(drawn('line', { ...line, stroke: behind, 'stroke-opacity': 0.25, 'stroke-width': 2 }));
  group.append(drawn('line', { ...line, ...dash, stroke: layer.color, 'stroke-width': 1.2 }));
  if (!layer.label) return;
  const size = 0.8 * plot.page.text;
  const width = widthOf(layer.label, size);
  const pad = 0.35 * size;
  const end = layer.vertical ? at + width + 2 * pad > right && at - width - 2 * pad > plot.left : true;
  const x = layer.vertical ? (end ? at - pad : at + pad) : right - pad;
  let y = layer.vertical ? plot.top + 1.1 * size : at - pad > plot.top + size ? at - pad : at + 1.1 * size;
  const left = end ? x - width : x;
  while (layer.vertical && plot.labelled.some((box) => Math.abs(box.y - y) < 1.1 * size
                                                       && box.left < left + width && left < box.right)) y += 1.22 * size;
  plot.labelled.push({ left, right: left + width, y });
  if (onCells) {
    group.append(drawn('rect', { x: left - pad, y: y - size, width: width + 2 * pad, height: 1.3 * size, fill: behind,
                                 'fill-opacity': 0.56 }));
  }
  group.append(drawn('text', { x, y, 'font-size': size, fill: layer.color, 'text-anchor': end ? 'end' : 'start' },
                     layer.label));
}

function drawBox(plot, layer, group) {
  const [left, right] = layer.x.map((x) => plot.px(x)).sort((a, b) => a - b);
  const [top, bottom] = layer.y.map((y) => plot.py(y)).sort((a, b) => a - b);
  group.append(drawn('rect', { x: left - 1, y: top - 1, width: right - left + 2, height: bottom - top + 2, fill: 'none',
                               stroke: layer.color, 'stroke-width': 2 }));
}

function drawAxes(plot) {
  const { over, page, panel } = plot;
  const text = page.text;
  const [right, bottom] = [plot.left + plot.width, plot.top + plot.height];
  const onCells = panel.layers.some(({ kind }) => kind === 'map' || kind === 'image');
  over.append(onCells
      ? drawn('rect', { class: 'frame', x: plot.left - 0.5, y: plot.top - 0.5, width: plot.width + 1, height: plot.height + 1 })
      : drawn('path', { class: 'frame', d: `M${plot.left},${plot.top}V${bottom}H${right}` }));
  const ticks = plot.x.ticks(plot.width, text, true, widthOf);
  const apart = plot.width / Math.abs(plot.x.view[1] - plot.x.view[0]);  // of cells
  const names = Boolean(plot.x.names) && ticks.some(({ label }) => label !== '');
  const turned = names && ticks.some(({ label, size, mark }) => mark && widthOf(label, size) + 0.5 * size > apart);
  const words = names && ticks.some(({ mark, label }) => !mark && label);
  for (const { at, label, size, mark } of ticks) {
    const x = plot.px(at);
    if (x < plot.left - 1 || x > right + 1) continue;
    if (mark) over.append(drawn('line', { class: 'frame', x1: x, x2: x, y1: bottom, y2: bottom + 0.3 * text }));
    if (!label) continue;
    const y = bottom + 0.5 * text;
    over.append((turned && widthOf(label, size) > 0.9 * apart) || words
        ? drawn('text', { class: 'tick', transform: `translate(${x + 0.36 * size} ${y}) rotate(-90)`, 'font-size': size,
                          'text-anchor': 'end' }, label)
        : drawn('text', { class: 'tick', x, y: y + 0.85 * size, 'font-size': size, 'text-anchor': 'middle' }, label));
  }
  for (const { at, label, size, mark } of plot.y.ticks(plot.height, text, false, widthOf)) {
    const y = plot.py(at);
    if (y < plot.top - 1 || y > bottom + 1) continue;
    if (mark) over.append(drawn('line', { class: 'frame', x1: plot.left - 0.3 * text, x2: plot.left, y1: y, y2: y }));
    over.append(drawn('text', { class: 'tick', x: plot.left - 0.5 * text, y: y + 0.36 * size, 'font-size': size,
                                'text-anchor': 'end' }, label));
  }
  drawBlocks(plot, plot.x, true, bottom + 0.7 * text + plot.strips.x);
  drawBlocks(plot, plot.y, false, plot.left - 0.7 * text - plot.strips.y);
  if (panel.x.label) {
    over.append(drawn('text', { class: 'label', x: plot.left + plot.width / 2, y: plot.total[1] - 0.4 * text,
                                'font-size': text, 'text-anchor': 'middle' }, panel.x.label));
  }
  if (panel.y.label) {
    const place = `translate(${text} ${plot.top + plot.height / 2}) rotate(-90)`;
    over.append(drawn('text', { class: 'label', transform: place, 'font-size': text, 'text-anchor': 'middle' },
                      panel.y.label));
  }
}

function drawColorBar(plot) {
  const { bar } = plot.panel;
  const text = plot.page.text;
  const size = TICK * text;
  const x = plot.left + plot.width + 0.8 * text;
  const { height } = plot;
  const colours = bar.tints ?? Array.from({ length: 64 }, (_, n) => {
    const entry = 3 * Math.round(n / 63 * 255);
    return `rgb(${plot.page.colormaps[bar.map].slice(entry, entry + 3).join(',')})`;
  });
  colours.forEach((fill, n) => {
    const y = plot.top + height * (1 - (n + 1) / colours.length);
    plot.over.append(drawn('rect', { x, y, width: BAR * text, height: height / colours.length + 0.5, fill }));
  });
  plot.over.append(drawn('rect', { class: 'frame', x, y: plot.top, width: BAR * text, height: height + 0.5 }));
  const every = Math.ceil(BAR_LINES * text / height);  // a low bar has room for fewer
  bar.ticks.forEach(([at, label], n) => {
    if (n % every) return;
    const y = plot.top + height * (1 - at);
    plot.over.append(drawn('line', { class: 'frame', x1: x + BAR * text, x2: x + (BAR + 0.3) * text, y1: y, y2: y }));
    plot.over.append(drawn('text', { class: 'tick', x: x + (BAR + 0.5) * text, y: y + 0.36 * size, 'font-size': size },
                           label));
  });
  if (bar.label) {
    const room = plot.total[1];
    const label = elided(bar.label, text, room, widthOf);
    const place = `translate(${plot.total[0] - 0.4 * text} ${clampMiddle(plot, widthOf(label, text))}) rotate(-90)`;
    plot.over.append(drawn('text', { class: 'label', transform: place, 'font-size': text, 'text-anchor': 'middle' },
                           label));
  }
}

// The middle of a bar's label: that of the bar, or as near to it as keeps the whole label on the stage.
function clampMiddle(plot, length) {
  const room = plot.total[1];
  return length > room ? room / 2 : clamp(plot.top + plot.height / 2, length / 2, room - length / 2);
}
