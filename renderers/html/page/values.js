// Fields: the cells of maps, unpacked, at their own resolution and reduced by halves.

const bytesOf = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

async function inflated(base64) {
  const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function halfOf(bits) {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const size = exponent === 31 ? (fraction ? NaN : Infinity)
      : exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24;
  return bits & 0x8000 ? -size : size;
}

// Bytes of one significance lie together, the lowest first.
function cellsOf(bytes, count, exponent) {
  const cells = new Float32Array(count);
  if (bytes.length === 2 * count) {
    const scale = 2 ** exponent;
    for (let n = 0; n < count; ++n) cells[n] = halfOf(bytes[n] | (bytes[count + n] << 8)) * scale;
    return cells;
  }
  const words = new Uint32Array(cells.buffer);
  for (let n = 0; n < count; ++n) {
    words[n] = bytes[n] | (bytes[count + n] << 8) | (bytes[2 * count + n] << 16) | (bytes[3 * count + n] << 24);
  }
  return cells;
}

// A field with its levels: level n has cells of 2^n, the last of a level also covers what is left over. Cells without a
// value do not count.
class Field {
  constructor(json, cells) {
    Object.assign(this, json);
    this.levels = { max: [], mean: [] };
    this.whole = { rows: this.rows, columns: this.columns, values: cells };
  }

  static async read(json) {
    return new Field(json, cellsOf(await inflated(json.cells), json.rows * json.columns, json.exponent));
  }

  value(row, column) {
    return row >= 0 && row < this.rows && column >= 0 && column < this.columns
        ? this.whole.values[row * this.columns + column] : undefined;
  }

  // The cell at a place of an axis: "row" or "column".
  index(axis, place) { return Math.floor((place - this[axis][0]) / this[axis][1]); }

  level(n, mean) {
    if (n === 0) return this.whole;
    const levels = this.levels[mean ? 'mean' : 'max'];
    while (levels.length < n) {
      levels.push(halved(levels.length ? levels[levels.length - 1] : this.whole, mean));
    }
    return levels[n - 1];
  }
}

function halved(below, mean) {
  const rows = Math.max(1, below.rows >> 1);
  const columns = Math.max(1, below.columns >> 1);
  const values = new Float32Array(rows * columns);
  for (let r = 0; r < rows; ++r) {
    const rowEnd = r + 1 === rows ? below.rows : 2 * r + 2;
    for (let c = 0; c < columns; ++c) {
      const columnEnd = c + 1 === columns ? below.columns : 2 * c + 2;
      const reduced = new Reducer(mean);
      for (let i = 2 * r; i < rowEnd; ++i) {
        for (let j = 2 * c; j < columnEnd; ++j) reduced.add(below.values[i * below.columns + j]);
      }
      values[r * columns + c] = reduced.result();
    }
  }
  return { rows, columns, values };
}

class Reducer {
  constructor(mean) {
    this.mean = mean;
    this.clear();
  }

  clear() {
    this.count = 0;
    this.sum = 0;
    this.most = -Infinity;
  }

  add(value) {
    if (value !== value) return;
    ++this.count;
    this.sum += value;
    if (value > this.most) this.most = value;
  }

  result() { return this.count === 0 ? NaN : this.mean ? this.sum / this.count : this.most; }
}

// Four digits of exact values, three of rounded ones; a real minus.
function shortNumber(value, digits) {
  if (!Number.isFinite(value)) return value === undefined || value !== value ? 'no value' : value > 0 ? '∞' : '−∞';
  const size = Math.abs(value);
  const text = value === 0 || (size >= 1e-4 && size < 1e7)
      ? String(Number(Number.isInteger(value) && digits > 3 ? value : value.toPrecision(digits)))
      : value.toExponential(digits - 1).replace(/\.?0*e([+-])(\d+)/, (_, sign, power) =>
            '×10' + [...(sign === '-' ? '-' + power : power)].map((letter) => SUPERSCRIPT[letter]).join(''));
  return text.replace('-', '−');
}

const SUPERSCRIPT = Object.fromEntries([...'0123456789-'].map((letter, n) => [letter, [...'⁰¹²³⁴⁵⁶⁷⁸⁹⁻'][n]]));
