// Heat maps on a canvas, a pixel at a time: one cell, or the reduction of those that the pixel covers.

const MOST_TAPS = 16;        // samples along one axis of a pixel
const HATCH = 0.55;          // the lines over what a mask hides, in text sizes along an axis
const SAMPLE_SHIFT = 1 / 256;  // of a pixel: where an edge of cells meets its centre

// For each of `count` pixels over [low, high] of an axis, the cells of a level that it samples; −1 outside the field.
function samplesOf(low, high, count, [first, step], size, level, levelSize, taps) {
  const perPixel = (high - low) / count / step;
  const cells = new Int32Array(count * taps);
  for (let p = 0; p < count; ++p) {
    const middle = (low + (p + 0.5 + SAMPLE_SHIFT) / count * (high - low) - first) / step;
    for (let t = 0; t < taps; ++t) {
      const place = Math.floor(clamp(middle + ((t + 0.5) / taps - 0.5) * perPixel, 0, size - 1));
      cells[p * taps + t] = middle < 0 || middle >= size ? -1 : Math.min(place >> level, levelSize - 1);
    }
  }
  return cells;
}

// The level of cells, and how many along each axis, that pixels of so many cells sample.
function samplingOf(field, rowsPerPixel, columnsPerPixel) {
  const least = Math.max(1, Math.min(rowsPerPixel, columnsPerPixel));
  const most = Math.max(1, rowsPerPixel, columnsPerPixel);
  const wanted = Math.max(Math.floor(Math.log2(least)), Math.ceil(Math.log2(most / MOST_TAPS)));
  const top = Math.floor(Math.log2(Math.max(field.rows, field.columns)));
  const level = clamp(wanted, 0, top);
  const taps = (extent) => clamp(Math.ceil(extent / 2 ** level - 1e-4), 1, MOST_TAPS);
  return { level, rowTaps: taps(rowsPerPixel), columnTaps: taps(columnsPerPixel) };
}

// The map as pixels of width × height, over the views x and y ([at the left, at the right], [at the top, at the
// bottom]).
function mapPixels(layer, field, colormap, x, y, width, height, text) {
  const image = new ImageData(width, height);
  const [period, line] = [Math.max(3, Math.round(HATCH * text)), Math.max(1, Math.round(text / 14))];
  const perPixel = (view, count, [, step]) => Math.abs(view[1] - view[0]) / count / Math.abs(step);
  const sampling = samplingOf(field, perPixel(y, height, field.row), perPixel(x, width, field.column));
  const cells = field.level(sampling.level, layer.mean);
  const rows = samplesOf(y[0], y[1], height, field.row, field.rows, sampling.level, cells.rows, sampling.rowTaps);
  const columns =
      samplesOf(x[0], x[1], width, field.column, field.columns, sampling.level, cells.columns, sampling.columnTaps);
  const mask = channels(layer.scale.mask);
  const hatch = layer.hatch ? channels(layer.hatch) : mask;
  const reduced = new Reducer(layer.mean);
  for (let py = 0; py < height; ++py) {
    if (rows[py * sampling.rowTaps] < 0) continue;
    for (let px = 0; px < width; ++px) {
      if (columns[px * sampling.columnTaps] < 0) continue;
      reduced.clear();
      for (let r = 0; r < sampling.rowTaps; ++r) {
        const row = rows[py * sampling.rowTaps + r] * cells.columns;
        for (let c = 0; c < sampling.columnTaps; ++c) {
          reduced.add(cells.values[row + columns[px * sampling.columnTaps + c]]);
        }
      }
      const none = layer.hatch && (px + py) % period < line ? hatch : mask;
      paintValue(layer.scale, colormap, none, reduced.result(), image.data, 4 * (py * width + px));
    }
  }
  return image;
}

// Draws the maps and pictures of a panel, in their order, onto its canvas.
function drawCells(canvas, plot, page) {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(1, Math.round(plot.width * ratio));
  const height = Math.max(1, Math.round(plot.height * ratio));
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext('2d');
  const x = plot.x.ends();
  const y = [...plot.y.ends()].reverse();
  for (const layer of plot.panel.layers) {
    if (layer.kind === 'image') {
      const at = (view, place, size) => (place - view[0]) / (view[1] - view[0]) * size;
      const [left, right] = layer.x.map((place) => at(x, place, width));
      const [top, bottom] = layer.y.map((place) => at(y, place, height));
      context.globalAlpha = layer.opacity;
      context.save();
      context.translate(left, top);
      context.scale(Math.sign(right - left) || 1, Math.sign(bottom - top) || 1);
      context.drawImage(page.images[layer.image], 0, 0, Math.abs(right - left), Math.abs(bottom - top));
      context.restore();
    } else if (layer.kind === 'map') {
      const field = page.fields[layer.field];
      const pixels = mapPixels(layer, field, page.colormaps[layer.scale.map], x, y, width, height,
                               ratio * page.text);
      const own = new OffscreenCanvas(width, height);
      own.getContext('2d').putImageData(pixels, 0, 0);
      context.globalAlpha = layer.opacity;
      context.drawImage(own, 0, 0);
    }
  }
}
