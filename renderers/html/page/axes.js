// Axes: places of values, and ticks that are round numbers, names of cells or words.

const TICK = 10.5 / 12;    // the size of their labels, in text sizes
const LONGEST_NAME = 10;   // in sizes of their text; what is longer is elided
const MOST_TICKS = 9;      // on an axis, however long: more are not read
const LEAST_NAME = 0.75;   // names of cells may shrink to this part of a label

class Axis {
  constructor(json, page) {
    this.json = json;
    this.names = json.names === undefined ? null : page.names[json.names];
    this.blocks = json.blocks ?? [];
    this.home = [json.low, json.high];
    this.view = [...this.home];
    this.length = 1;
  }

  // Views are changed where equal lengths are equal distances.
  bent(value) { return this.json.base ? Math.log(Math.max(value, 1e-300)) : value; }
  straight(value) { return this.json.base ? Math.exp(value) : value; }

  ends() { return this.view; }
  // 0 at the beginning of the view (left, or bottom), 1 at its end.
  share(value) {
    const [low, high] = this.view.map((end) => this.bent(end));
    return (this.bent(value) - low) / (high - low);
  }
  at(share) {
    const [low, high] = this.view.map((end) => this.bent(end));
    return this.straight(low + share * (high - low));
  }

  // What panels that are moved together have in common: their camera's coordinates, of which this axis may count others.
  toCamera(own) {
    const table = this.json.camera;
    if (!table) return own;
    const last = table.length - 1;
    const slope = table[last] > table[0] ? (table[last] - table[0]) / last : 1;
    if (own <= table[0]) return (own - table[0]) / slope;
    if (own >= table[last]) return last + (own - table[last]) / slope;
    const above = table.findIndex((value) => value > own);
    return above - 1 + (own - table[above - 1]) / (table[above] - table[above - 1]);
  }
  fromCamera(camera) {
    const table = this.json.camera;
    if (!table) return camera;
    const last = table.length - 1;
    const slope = table[last] > table[0] ? (table[last] - table[0]) / last : 1;
    if (camera <= 0) return table[0] + camera * slope;
    if (camera >= last) return table[last] + (camera - last) * slope;
    const whole = Math.floor(camera);
    return table[whole] + (table[whole + 1] - table[whole]) * (camera - whole);
  }

  // What a reader calls a place: the name of its cell.
  nameAt(value) {
    const name = this.names?.cells[Math.floor(value)];
    return name === undefined ? '' : name;
  }

  // As it stands beside the block that the cell lies in, whose strip names it.
  besideBlock(cell, name) {
    const block = this.blocks.find(({ low, high }) => low <= cell && cell + 1 <= high);
    return block && name.startsWith(block.name + ' ') ? name.slice(block.name.length + 1) : name;
  }

  // Numbers of cells are whole.
  numberAt(value) {
    return this.json.cells ? String(Math.floor(value)) : shortNumber(value, 4);
  }

  // [{at, label, size, mark}] for a length in pixels; `measure` gives the width of a label.
  ticks(length, text, alongX, measure) {
    return this.nameTicks(length, text, measure) ?? this.numberTicks(length, text, alongX, measure);
  }

  nameTicks(length, text, measure) {
    if (!this.names) return null;
    const { cells, words } = this.names;
    if (cells.every((name) => name === '')) return [];  // another panel names them
    const [low, high] = [Math.min(...this.view), Math.max(...this.view)];
    const cell = length / (high - low);
    const first = clamp(Math.ceil(low - 0.5), 0, cells.length);
    const last = clamp(Math.floor(high + 0.5), 0, cells.length);
    const size = TICK * text;
    if (cell >= 1.05 * LEAST_NAME * size) {
      const own = clamp(cell / 1.05, LEAST_NAME * size, size);
      return cells.slice(first, last).map((name, n) =>
          ({ at: first + n + 0.5, label: elided(this.besideBlock(first + n, name), own, LONGEST_NAME * size, measure),
             size: own, mark: true }));
    }
    return this.wordTicks(words, cells.length, first, last, cell, 0.85 * size, measure);
  }

  // Words, as many together as make room for a line, and blocks, whose strips name them (null); none where that is more
  // than a few words each.
  wordTicks(words, count, first, last, cell, size, measure) {
    const seen = words.map(([begin, name], n) => ({ begin, end: words[n + 1]?.[0] ?? count, name }))
        .filter((word) => word.end > first && word.begin < last);
    const groups = [];
    let texts = 0;
    for (const word of seen) {
      const open = groups[groups.length - 1];
      const fresh = !open || open.name === null || word.name === null;
      if (!fresh && (open.end - open.begin) * cell < 1.3 * size) {
        open.end = word.end;
        open.name += ' ' + word.name;
      } else {
        groups.push({ ...word });
        texts += fresh && word.name !== null ? 1 : 0;
      }
    }
    const named = groups.filter(({ name }) => name !== null).length;
    const spoken = seen.filter(({ name }) => name !== null);
    const cells = spoken.reduce((sum, { begin, end }) => sum + Math.min(end, last) - Math.max(begin, first), 0);
    const letters = spoken.length * 3 <= cells;
    if (named < 2 || spoken.length <= texts || spoken.length > (letters ? 6 : 2) * named) return null;
    const ticks = [];
    for (const { begin, end, name } of groups) {
      ticks.push({ at: begin, label: '', size, mark: true });
      if (name === null) continue;
      const label = elided(name, size, LONGEST_NAME * size, measure);
      ticks.push({ at: (Math.max(begin, first) + Math.min(end, last)) / 2, label, size, mark: false });
    }
    ticks.push({ at: groups[groups.length - 1].end, label: '', size, mark: true });
    return ticks;
  }

  numberTicks(length, text, alongX, measure) {
    const size = TICK * text;
    const least = length / MOST_TICKS;
    const room = (label) => alongX ? Math.max(measure(label, size) + 1.2 * size, least) : Math.max(1.9 * size, least);
    const [low, high] = [Math.min(...this.view), Math.max(...this.view)];
    if (!(high > low)) return [];
    const found = this.json.base && low > 0 ? logTicks(low, high, this.json.base, length, room)
        : linearTicks(low, high, length, room, Boolean(this.json.cells));
    return found.map(({ at, label }) => ({ at, label, size, mark: true }));
  }
}

function elided(name, size, room, measure) {
  if (measure(name, size) <= room) return name;
  const letters = [...name];
  while (letters.length > 1 && measure(letters.join('') + '…', size) > room) letters.pop();
  return letters.join('') + '…';
}

function touching(ticks, place, room) {
  let end = -Infinity;
  for (const tick of ticks) {
    const half = room(tick.label) / 2;
    if (place(tick.at) - half < end) return true;
    end = place(tick.at) + half;
  }
  return false;
}

// Steps of 1, 2, 5 × 10ⁿ: the smallest whose labels do not touch. Of cells steps are whole, in the middle of theirs.
function linearTicks(low, high, length, room, cells) {
  const span = high - low;
  const offset = cells ? 0.5 : 0;
  let ticks = [];
  for (let n = Math.max(Math.floor(3 * Math.log10(span / 100)), cells ? 0 : -Infinity); ; ++n) {
    const step = Number([1, 2, 5][((n % 3) + 3) % 3] + 'e' + Math.floor(n / 3));
    if (step > 10 * span && step > 1) return ticks;
    if (span / step > 1000) continue;
    ticks = [];
    for (let k = Math.ceil((low - offset) / step - 1e-9); k * step + offset <= high + 1e-9 * span; ++k) {
      ticks.push({ at: k * step + offset, label: tickLabel(k * step, step) });
    }
    if (!touching(ticks, (at) => (at - low) / span * length, room)) return ticks;
  }
}

// Powers of the base, and between decades 2 and 5 where there is room.
function logTicks(low, high, base, length, room) {
  const place = (at) => Math.log(at / low) / Math.log(high / low) * length;
  const powers = Math.log(high / low) / Math.log(base);
  if (powers < 1) return linearTicks(low, high, length, room, false).filter(({ at }) => at > 0);
  const first = Math.floor(Math.log(low) / Math.log(base) + 1e-9);
  const last = Math.ceil(Math.log(high) / Math.log(base) - 1e-9);
  const plain = base !== 10 || (first >= -2 && last <= 4);
  const ticksOf = (stride, factors) => {
    const ticks = [];
    for (let e = first; e <= last; ++e) {
      for (const factor of factors) {
        const value = factor * base ** e;
        if (value < low * (1 - 1e-9) || value > high * (1 + 1e-9) || (factor === 1 && e % stride !== 0)) continue;
        const whole = base !== 10 && e < 0 ? String(value) : tickLabel(value, Math.min(base ** e, 1));  // 0.25, not 0.2
        ticks.push({ at: value, label: plain ? whole : scientific(value) });
      }
    }
    return ticks;
  };
  const between = base === 10 && powers < 3 ? ticksOf(1, [1, 2, 5]) : [];
  if (between.length > 1 && !touching(between, place, room)) return between;
  for (let stride = 1; ; ++stride) {
    const ticks = ticksOf(stride, [1]);
    if (stride > powers || !touching(ticks, place, room)) return ticks;
  }
}

// A number as it is written at ticks that lie `step` apart.
function tickLabel(value, step) {
  const size = Math.abs(value);
  if (size < 1e-9 * step) return '0';
  if (size >= 1e7 || step < 0.99e-4) return scientific(value);
  const [whole, fraction] = size.toFixed(Math.max(0, Math.ceil(-Math.log10(step) - 1e-9))).split('.');
  const grouped = whole.length < 5 ? whole : whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return (value < 0 ? '−' : '') + grouped + (fraction ? '.' + fraction : '');
}

function scientific(value) {
  const [digits, power] = Math.abs(value).toExponential(2).split('e');
  const short = String(Number(digits));
  const raised = [...String(Number(power))].map((letter) => SUPERSCRIPT[letter]).join('');
  return (value < 0 ? '−' : '') + (short === '1' ? '' : short + '×') + '10' + raised;
}
