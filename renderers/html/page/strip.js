// A panel of text: each token tinted by its value, wrapped by the browser.

class Strip {
  constructor(page, panel) {
    Object.assign(this, { page, panel });
    const layer = panel.layers.find(({ kind }) => kind === 'strip');
    this.element = made('section', 'panel');
    if (panel.title) this.element.append(titleOf(panel));
    const row = made('div', 'text');
    const tokens = made('p', 'strip');
    const lines = new Set(layer.lines);
    const words = new Set(layer.words);
    let word = null;
    layer.tokens.forEach(([token, value, tint, ink], n) => {
      if (lines.has(n)) tokens.append(document.createElement('br'));
      if (!word || words.has(n) || lines.has(n)) tokens.append(word = made('span', 'word'));
      const span = made('span', n === layer.selected ? 'token selected' : 'token', token);
      if (tint) Object.assign(span.style, { background: tint, color: ink });
      span.addEventListener('pointerenter', (event) => page.tip.show(event, this.linesOf(n, token, value)));
      span.addEventListener('pointerleave', () => page.tip.hide());
      word.append(span);
    });
    row.append(tokens);
    if (panel.bar) row.append(this.colorBar());
    this.element.append(row);
    if (panel.note) this.element.append(made('p', 'note', panel.note));
    this.element.append(...tablesOf(this));
  }

  linesOf(n, token, value) {
    return [[this.panel.bar?.label || 'value', shortNumber(value ?? undefined, 4)], [`token ${n}`, token]];
  }

  colorBar() {
    const bar = drawn('svg', { class: 'bar', width: 5 * this.page.text, height: 13 * this.page.text });
    const text = this.page.text;
    drawColorBar({ panel: this.panel, page: this.page, over: bar, left: 0, width: -0.8 * text, top: 0.5 * text,
                   height: 12 * text, total: [5 * text, 13 * text] });
    return bar;
  }

  margins() { return { left: 0, right: 0 }; }
  maps() { return []; }
  place() {}
  draw() {}
  drawCross() {}
  drawTicks() {}
}
