// Blocks of an axis: strips beside its labels that show which cells are one picture.

const BLOCK_SIDE = 2;      // of a picture across the axis, in text sizes
const BLOCK_LONGEST = 3;   // and along it, in those sides
const BLOCK_LEAST = 0.8;   // what is smaller shows nothing, in text sizes
const NOTE = 0.8;          // the size of its name, in text sizes

function blocksDepth(axis, text) {
  if (axis.blocks.length === 0) return 0;
  return 0.6 * text + (axis.blocks.some(({ image }) => image >= 0) ? BLOCK_SIDE : 1.2 * NOTE) * text;
}

// `edge`: where the strip begins, below the plot or left of it.
function drawBlocks(plot, axis, alongX, edge) {
  const { page, over } = plot;
  const text = page.text;
  const size = NOTE * text;
  const [first, last] = alongX ? [plot.left, plot.left + plot.width] : [plot.top, plot.top + plot.height];
  for (const { low, high, name, image } of axis.blocks) {
    const ends = [low, high].map((end) => clamp(alongX ? plot.px(end) : plot.py(end), first, last));
    const [begin, end] = [Math.min(...ends), Math.max(...ends)];
    if (end - begin < 2) continue;
    const away = 0.3 * text;
    over.append(alongX ? drawn('line', { class: 'block', x1: begin, x2: end, y1: edge, y2: edge })
        : drawn('line', { class: 'block', x1: edge, x2: edge, y1: begin, y2: end }));
    const picture = page.images[image];
    let [along, across] = [0, 0];
    if (picture) {
      const ratio = alongX ? picture.width / picture.height : picture.height / picture.width;
      along = Math.min(ratio * BLOCK_SIDE * text, BLOCK_LONGEST * BLOCK_SIDE * text, end - begin);
      across = along / ratio;
      if (Math.min(along, across) < BLOCK_LEAST * text) along = across = 0;
    }
    const wide = widthOf(name, size);
    const gap = along > 0 ? 0.2 * text : 0;
    const named = name !== '' && along + gap + wide <= end - begin;
    const at = (begin + end - along - (named ? gap + wide : 0)) / 2;
    if (along > 0) {
      over.append(drawn('image', { href: picture.src, preserveAspectRatio: 'none',
                                   x: alongX ? at : edge - away - across, y: alongX ? edge + away : at,
                                   width: alongX ? along : across, height: alongX ? across : along }));
    }
    if (named) {
      const middle = away + (along > 0 ? across / 2 : 0.6 * size);
      const from = at + along + gap;
      const place = alongX ? `translate(${from} ${edge + middle + 0.36 * size})`
          : `translate(${edge - middle + 0.36 * size} ${from + wide}) rotate(-90)`;
      over.append(drawn('text', { class: 'tick', transform: place, 'font-size': size }, name));
    }
  }
}
