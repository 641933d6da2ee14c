// Sequence: weights or gates over time (kind `temporal`), below the sound or the tokens that they belong to, a row for each head or gate.
(function (attend) {
  'use strict';

  const {element, controls, labels, chart} = attend;
  const gutter = {left: 44, right: 8, top: 8, bottom: 9};
  const rowsAtOnce = 400, waveHeight = 84;
  const ranges = [['unit', '0 to 1'], ['shared', 'largest'], ['own', 'each row']];

  // What the places in time are: seconds of a sound, tokens, or numbers.
  function timeOf(example, item) {
    const count = item.columns, axis = item.column_axis, name = labels.shorten(labels.printable(axis), 40);
    if (example.sound && example.sound.samples > 0 && example.sound.rate > 0) {
      const seconds = example.sound.samples / example.sound.rate;
      return {kind: 'sound', seconds, name: place => `${clock((place + 0.5) / count * seconds, seconds / count)} (${name} ${place + 1} of ${count})`};
    }
    const tokens = ['target', 'source'].find(side => side === axis) || ['source', 'target'].find(side => example[side].length === count && count > 0);
    if (tokens) {
      const texts = example[tokens].map(labels.printable);
      return {kind: 'tokens', texts, name: place => `${name} ${place + 1} of ${count}, “${labels.shorten(texts[place], 60)}”`};
    }
    return {kind: 'steps', name: place => `${name} ${place + 1} of ${count}`};
  }

  function clock(seconds, step) {
    return `${seconds.toFixed(step < 0.001 ? 5 : step < 0.01 ? 4 : 3)} s`;
  }

  class SequenceView {
    constructor(container, context) {
      const {item, example} = context;
      Object.assign(this, {context, container, row: 0, rows: [], surfaces: [], wave: null, shown: null, panel: null, isClosed: false});
      this.time = timeOf(example, item);
      this.span = chart.span(item.columns);
      this.rowLabels = labels.rows(example, item);
      if (item.columns === 0 || item.rows === 0 || item.panels === 0) {
        container.append(element('p', {class: 'empty', text: 'This item holds no weights over time: one of its axes has no places.'}));
        return;
      }
      this.build();
      this.drawn = Promise.all([this.load(), this.loadSound().catch(context.fail)]);
    }

    // --- Elements

    build() {
      const {context} = this, {item} = context;
      this.range = controls.choice({label: 'Scale', options: ranges, value: 'unit', change: range => context.state.set({range})});
      this.enlarge = chart.spanControls({span: () => this.span, changed: () => this.redraw(), text: (from, to) => this.partText(from, to)});
      this.readOut = element('p', {class: 'read-out', dataset: {role: 'read-out'}});
      this.host = element('div', {class: 'chart-rows', tabindex: 0, role: 'group',
        'aria-label': `Weights over ${item.columns} places in time. Arrow keys move in time and from row to row, plus and minus enlarge.`});
      this.note = element('p', {class: 'chart-note'});
      this.container.append(controls.bar(this.range, this.enlarge.element), this.readOut, this.host, this.note);
      chart.steer(this.host, {
        span: () => this.span, rows: () => this.rows.length, row: () => this.row, setRow: row => { this.row = row; }, moved: how => this.moved(how),
        plot: target => ({left: gutter.left, width: Math.max(1, target.querySelector('canvas').clientWidth - gutter.left - gutter.right)}),
      });
    }

    rowName(r) {
      const axis = this.context.item.row_axis;
      if (!axis) return labels.item(this.context.item);
      if (axis === 'source' || axis === 'target') return labels.shorten(this.rowLabels[r], 40);
      return `${labels.shorten(labels.printable(axis), 40)} ${this.rowLabels[r]}`;
    }

    partText(from, to) {
      const {columns} = this.context.item, {seconds} = this.time;
      if (this.time.kind !== 'sound') return `${from + 1}–${to + 1} of ${columns}`;
      return `${(from / columns * seconds).toFixed(2)}–${((to + 1) / columns * seconds).toFixed(2)} s of ${seconds.toFixed(2)} s`;
    }

    rangeName() {
      const {high, low} = this.whole, fits = low >= 0 && high <= 1 && high > 0.2;
      return this.context.state.get('range', fits ? 'unit' : 'shared', ranges.map(([name]) => name));
    }

    // --- Data

    async load() {
      const {context} = this, number = context.panel;
      this.shown = number;
      const panel = await context.source.panel(context.exampleNumber, context.itemNumber, number);
      if (this.isClosed || this.shown !== number) return;
      this.panel = panel;
      this.rows = Array.from({length: Math.min(panel.rows, rowsAtOnce)}, (_, r) => {
        const values = panel.row(r);
        return {name: this.rowName(r), values, facts: chart.facts(values)};
      });
      this.whole = {low: Math.min(...this.rows.map(row => row.facts.low)), high: Math.max(...this.rows.map(row => row.facts.high))};
      this.row = Math.min(this.row, this.rows.length - 1);
      this.makeRows();
      this.update();
    }

    async loadSound() {
      if (this.time.kind !== 'sound') return;
      const {context} = this, buffer = await context.source.bytes(`sound?example=${context.exampleNumber}`);
      this.wave = new Float32Array(buffer, 0, Math.floor(buffer.byteLength / 8) * 2);
      if (!this.isClosed) this.redraw();
    }

    makeRows() {
      for (const surface of this.surfaces) surface.close();
      const {length} = this.rows, height = length <= 2 ? 150 : length <= 6 ? 96 : length <= 24 ? 60 : 40, sections = [];
      const add = (surface, row, ...heading) => {
        this.surfaces.push(surface);
        sections.push(element('section', {class: row === null ? 'chart-row chart-axis' : 'chart-row', dataset: {row: row === null ? '' : row}},
          element('h3', {}, ...heading), surface.element));
      };
      this.surfaces = [];
      if (this.time.kind === 'sound') {
        add(chart.surface({height: waveHeight, draw: (c, width, tall) => this.drawWave(c, width, tall)}), '', 'sound',
          element('span', {class: 'quiet', text: `${this.time.seconds.toFixed(2)} s, ${Math.round(this.context.example.sound.rate)} samples a second`}));
      }
      this.rows.forEach((row, r) => add(chart.surface({height, seen: r < 12, draw: (c, width, tall) => this.drawRow(c, width, tall, r)}), r,
        element('bdi', {text: row.name}), element('span', {class: 'quiet', text: this.factText(row)})));
      add(chart.surface({height: width => this.axisHeight(width), draw: (c, width, tall) => this.drawAxis(c, width, tall)}), null);
      this.host.replaceChildren(...sections);
    }

    fillNote(width) {
      const pixels = width - gutter.left - gutter.right, parts = [];
      if (this.panel.rows > this.rows.length) parts.push(`The first ${this.rows.length} rows of ${this.panel.rows} are shown.`);
      if (pixels > 0 && pixels < this.span.size) {
        parts.push('There are more places than pixels: the area reaches to the largest weight in its pixel, the line shows their mean.');
      }
      if (this.note.textContent !== parts.join(' ')) this.note.textContent = parts.join(' ');
    }

    factText({facts, values}) {
      const missing = values.length - facts.count;
      if (facts.count === 0) return 'no numbers';
      const at = this.time.kind === 'sound' ? clock((facts.at + 0.5) / values.length * this.time.seconds, this.time.seconds / values.length) : facts.at + 1;
      return `mean ${labels.number(facts.mean)}, largest ${labels.number(facts.high)} at ${at}` + (missing ? `, ${missing} not a number` : '');
    }

    update() {
      if (!this.range) return;
      if (this.shown !== this.context.panel) {
        this.load().catch(error => chart.fail(this, error));
        return;
      }
      if (!this.panel) return;
      this.range.set(this.rangeName());
      this.redraw();
    }

    redraw() {
      for (const surface of this.surfaces) surface.redraw();
      this.enlarge.update();
      this.fillReadOut();
    }

    moved(how) {
      this.redraw();
      if (how === 'key') this.context.announce(this.readOut.textContent);
    }

    fillReadOut() {
      const {cursor} = this.span;
      if (!this.panel) return;
      if (cursor === null) {
        this.readOut.textContent = 'Point at a place in time, or focus the rows and use the arrow keys.';
        return;
      }
      const row = this.rows[this.row], name = this.context.item.row_axis ? `${row.name}, ` : '';
      this.readOut.textContent = `${name}${this.time.name(cursor)}: ${labels.number(row.values[cursor])}${chart.remark(this.panel, this.row, cursor)}`;
    }

    // --- Drawing

    plotOf(width, height) {
      return {left: gutter.left, width: width - gutter.left - gutter.right, top: gutter.top, height: height - gutter.top - gutter.bottom};
    }

    xOf(plot) {
      const {from, size} = this.span;
      return place => plot.left + (place - from) / size * plot.width;
    }

    limits(r) {
      const name = this.rangeName(), {low, high} = name === 'own' ? this.rows[r].facts : this.whole;
      const bottom = Math.min(0, low), top = name === 'unit' ? 1 : Math.max(0, high);
      return {low: bottom, high: top > bottom ? (bottom === 0 ? chart.roundUp(top, 3) : top) : bottom + 1};
    }

    drawRow(c, width, height, r) {
      const plot = this.plotOf(width, height);
      if (plot.width < 10) return;
      const {low, high} = this.limits(r), colours = chart.palette();
      const y = value => plot.top + (high - chart.clamp(value, low, high)) / (high - low) * plot.height;
      chart.levels(c, plot, low, high, y, colours);
      c.save();
      c.beginPath();
      c.rect(plot.left, 0, plot.width, height);
      c.clip();
      if (plot.width / this.span.size >= 1) this.drawSteps(c, plot, y, r, colours);
      else this.drawBand(c, plot, y, r, colours);
      this.drawCursor(c, plot, r === this.row ? y(this.rows[r].values[this.span.cursor]) : NaN, colours);
      c.restore();
    }

    // A line through the middle of each place with the area below; it is broken where there is no number.
    drawSteps(c, plot, y, r, colours) {
      const {span} = this, {values} = this.rows[r], x = this.xOf(plot), wide = plot.width / span.size, base = y(0);
      let run = [];
      const finish = () => {
        if (run.length > 0) drawArea(c, run, base, wide, colours);
        run = [];
      };
      for (let place = Math.max(0, Math.floor(span.from) - 1); place < Math.min(values.length, Math.ceil(span.to) + 1); ++place) {
        const value = values[place];
        if (Number.isNaN(value)) {
          finish();
          chart.missing(c, x(place), plot.top, wide, plot.height);
        } else {
          run.push([x(place + 0.5), y(value)]);
        }
      }
      finish();
    }

    // More places than pixels: in each pixel from the smallest to the largest, and their mean.
    drawBand(c, plot, y, r, colours) {
      const {span} = this, {values} = this.rows[r], pixels = Math.floor(plot.width), base = y(0), means = [];
      for (let pixel = 0; pixel < pixels; ++pixel) {
        const start = Math.floor(span.from + pixel / pixels * span.size), end = Math.max(start + 1, Math.floor(span.from + (pixel + 1) / pixels * span.size));
        const part = values.subarray(start, Math.min(end, values.length)), {low, high, mean, count} = chart.facts(part), x = plot.left + pixel;
        if (count < part.length && part.some(Number.isNaN)) chart.missing(c, x, plot.top, 1, plot.height);
        if (count === 0) {
          means.push(null);
          continue;
        }
        c.fillStyle = colours.accentSoft;
        c.fillRect(x, Math.min(y(high), base), 1, Math.abs(Math.max(y(low), base) - Math.min(y(high), base)));
        means.push([x + 0.5, y(mean)]);
      }
      c.strokeStyle = colours.accent;
      c.beginPath();
      means.forEach((point, place) => {
        if (!point) return;
        if (place > 0 && means[place - 1]) c.lineTo(...point);
        else c.moveTo(...point);
      });
      c.stroke();
    }

    drawCursor(c, plot, y, colours) {
      const {cursor, from, to} = this.span;
      if (cursor === null || cursor + 1 <= from || cursor >= to) return;
      const x = this.xOf(plot)(cursor + 0.5), wide = plot.width / this.span.size;
      c.fillStyle = colours.ink;
      if (wide > 3) {
        c.globalAlpha = 0.1;
        c.fillRect(x - wide / 2, 0, wide, plot.top + plot.height + gutter.bottom);
        c.globalAlpha = 1;
      } else {
        c.fillRect(x - 0.5, 0, 1, plot.top + plot.height + gutter.bottom);
      }
      if (Number.isNaN(y)) return;
      c.beginPath();
      c.arc(x, y, 3.5, 0, Math.PI * 2);
      c.fill();
    }

    // The sound, with the places that have much weight in the cursor's row behind it.
    drawWave(c, width, height) {
      const plot = this.plotOf(width, height), {wave, span} = this;
      if (!wave || plot.width < 10) return;
      const colours = chart.palette(), buckets = wave.length / 2, middle = plot.top + plot.height / 2, pixels = Math.floor(plot.width);
      this.drawWeightBehind(c, plot, height, colours);
      let loudest = 0;
      for (const sample of wave) if (Math.abs(sample) > loudest && Number.isFinite(sample)) loudest = Math.abs(sample);
      const scale = plot.height / 2 / (loudest || 1), bucketAt = pixel => (span.from + pixel / pixels * span.size) / span.count * buckets;
      c.fillStyle = colours.quiet;
      for (let pixel = 0; pixel < pixels; ++pixel) {
        const start = Math.floor(bucketAt(pixel)), end = Math.max(start + 1, Math.ceil(bucketAt(pixel + 1)));
        let low = Infinity, high = -Infinity;
        for (let bucket = start; bucket < Math.min(end, buckets); ++bucket) {
          low = Math.min(low, wave[bucket * 2]);
          high = Math.max(high, wave[bucket * 2 + 1]);
        }
        if (low <= high) c.fillRect(plot.left + pixel, middle - high * scale, 1, Math.max(1, (high - low) * scale));
      }
      this.drawCursor(c, plot, NaN, colours);
    }

    drawWeightBehind(c, plot, height, colours) {
      const row = this.rows[this.row], {span} = this, pixels = Math.floor(plot.width);
      if (!row || row.facts.high <= 0) return;
      c.fillStyle = colours.accent;
      for (let pixel = 0; pixel < pixels; ++pixel) {
        const start = Math.floor(span.from + pixel / pixels * span.size), end = Math.max(start + 1, Math.floor(span.from + (pixel + 1) / pixels * span.size));
        let high = 0;
        for (let place = start; place < Math.min(end, row.values.length); ++place) if (row.values[place] > high) high = row.values[place];
        c.globalAlpha = 0.35 * Math.min(1, high / row.facts.high);
        c.fillRect(plot.left + pixel, 0, 1, height);
      }
      c.globalAlpha = 1;
    }

    // --- The axis below the rows

    // Tokens stand upright where they are too long to stand side by side.
    standsUpright(width) {
      return this.time.kind === 'tokens' && (width - gutter.left - gutter.right) / this.span.size < Math.min(64, 12 + 7 * this.longestSeen());
    }

    longestSeen() {
      const {span, time} = this, end = Math.min(span.count, Math.ceil(span.to)), enough = 12;
      let longest = 0;
      for (let place = Math.floor(span.from); place < end && longest < enough; ++place) longest = Math.max(longest, time.texts[place].length);
      return longest;
    }

    axisHeight(width) {
      return this.standsUpright(width) ? Math.min(96, 16 + 7 * Math.max(3, this.longestSeen())) : 24;
    }

    drawAxis(c, width, height) {
      const plot = this.plotOf(width, height), colours = chart.palette();
      this.fillNote(width);
      if (plot.width < 10) return;
      c.fillStyle = colours.quiet;
      c.textBaseline = 'middle';
      if (this.time.kind === 'tokens') this.drawTokens(c, plot, height, this.standsUpright(width), colours);
      else this.drawTicks(c, plot, colours);
    }

    drawTokens(c, plot, height, upright, colours) {
      const {span} = this, x = this.xOf(plot), wide = plot.width / span.size, every = Math.max(1, Math.ceil((upright ? 13 : 0) / wide));
      for (let place = Math.ceil(Math.floor(span.from) / every) * every; place < Math.min(span.count, Math.ceil(span.to)); place += every) {
        const middle = x(place + 0.5);
        if (middle < plot.left || middle > plot.left + plot.width) continue;
        c.fillStyle = place === span.cursor ? colours.ink : colours.quiet;
        if (upright) {
          c.save();
          c.translate(middle, 4);
          c.rotate(Math.PI / 2);
          labels.draw(c, this.time.texts[place], 0, 0, height - 6, 'left');
          c.restore();
        } else {
          labels.draw(c, this.time.texts[place], middle, 11, wide - 4, 'center');
        }
      }
    }

    drawTicks(c, plot, colours) {
      const {span, time} = this, isSound = time.kind === 'sound', unit = isSound ? time.seconds / span.count : 1;
      const low = span.from * unit, high = span.to * unit, most = plot.width / 80;
      const marks = isSound ? chart.ticks(low, high, most) : chart.ticks(Math.floor(low) + 1, high, most).filter(Number.isInteger);
      const step = marks.length > 1 ? marks[1] - marks[0] : 1, x = this.xOf(plot);
      c.direction = 'ltr';
      c.textAlign = 'center';
      for (const mark of marks) {
        const at = isSound ? x(mark / unit) : x(mark - 0.5);
        c.fillStyle = colours.line;
        c.fillRect(Math.round(at), 0, 1, 4);
        c.fillStyle = colours.quiet;
        const text = isSound ? `${chart.tickText(mark, step)} s` : String(mark), half = c.measureText(text).width / 2;
        c.fillText(text, chart.clamp(at, half, plot.left + plot.width + gutter.right - half), 12);
      }
    }

    close() {
      this.isClosed = true;
      for (const surface of this.surfaces) surface.close();
    }
  }

  function drawArea(c, run, base, wide, colours) {
    const [first, last] = [run[0], run.at(-1)], side = Math.min(wide / 2, 12);
    c.fillStyle = colours.accent;
    c.globalAlpha = 0.18;
    c.beginPath();
    c.moveTo(first[0] - side, base);
    c.lineTo(first[0] - side, first[1]);
    for (const point of run) c.lineTo(...point);
    c.lineTo(last[0] + side, last[1]);
    c.lineTo(last[0] + side, base);
    c.fill();
    c.globalAlpha = 1;
    c.strokeStyle = colours.accent;
    c.lineWidth = 1.5;
    c.lineJoin = 'round';
    c.beginPath();
    c.moveTo(first[0] - side, first[1]);
    for (const point of run) c.lineTo(...point);
    c.lineTo(last[0] + side, last[1]);
    c.stroke();
    c.lineWidth = 1;
    if (wide < 14) return;
    c.fillStyle = colours.accent;
    for (const point of run) {
      c.beginPath();
      c.arc(...point, 2.5, 0, Math.PI * 2);
      c.fill();
    }
  }

  attend.views = attend.views || [];
  attend.views.push({
    name: 'sequence', title: 'Sequence',
    accepts: (record, example, item) => Boolean(item) && item.kind === 'temporal',
    open: (container, context) => new SequenceView(container, context),
    keys: [['←  →', 'place before, next (with shift: ten)'], ['↑  ↓', 'row above, below'], ['Home  End', 'start, end'],
           ['Page Up  Page Down', 'half of what is seen'], ['+  −', 'enlarge, show more'], ['Escape', 'no place']],
  });
})(window.attend = window.attend || {});
