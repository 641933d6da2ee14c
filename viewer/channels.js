// Channels: weights of feature channels as bars, a row of bars for each branch (kinds `channel` and `branch`).
(function (attend) {
  'use strict';

  const {element, controls, labels, chart} = attend;
  const gutter = {left: 44, right: 8, top: 8, bottom: 18};
  const rowsAtOnce = 400, listed = 10, orderRows = 100;

  function sortedDownwards(values) {
    const places = Uint32Array.from(values, (_, place) => place);
    const size = place => Number.isNaN(values[place]) ? -Infinity : values[place];
    return places.sort((a, b) => size(b) - size(a) || a - b);
  }

  function inverse(order) {
    const places = new Uint32Array(order.length);
    order.forEach((channel, place) => { places[channel] = place; });
    return places;
  }

  // What a row holds, computed when it is first needed.
  function makeRow(name, read) {
    let values = null, sorted = null, ranks = null, facts = null;
    const row = {
      name,
      values: () => values = values || read(),
      sorted: () => sorted = sorted || sortedDownwards(row.values()),
      ranks: () => ranks = ranks || inverse(row.sorted()),
      facts: () => facts = facts || chart.facts(row.values()),
    };
    return row;
  }

  class ChannelsView {
    constructor(container, context) {
      Object.assign(this, {context, container, rows: [], row: 0, surfaces: [], shown: null, isClosed: false});
      this.span = chart.span(context.item.columns);
      this.axis = labels.shorten(labels.printable(context.item.column_axis), 40);
      this.rowLabels = labels.rows(context.example, context.item);
      this.rowAxis = context.item.row_axis || '';
      if (context.item.columns === 0 || context.item.rows === 0 || context.item.panels === 0) {
        container.append(element('p', {class: 'empty', text: 'This item holds no channels: one of its axes has no places.'}));
        return;
      }
      this.build();
      this.drawn = this.load();
    }

    // --- Elements

    build() {
      const {context} = this;
      this.order = controls.list({label: 'Order', options: this.orderOptions(), value: this.orderName(), change: order => context.state.set({order})});
      const heights = [['shared', 'shared'], ['own', 'each row']];
      this.scale = controls.choice({label: 'Scale', options: heights, value: this.scaleName(), change: height => context.state.set({height})});
      this.scale.hidden = context.item.rows < 2;
      this.enlarge = chart.spanControls({span: () => this.span, changed: () => this.redraw(), text: (from, to) => this.partText(from, to)});
      this.readOut = element('p', {class: 'read-out', dataset: {role: 'read-out'}});
      this.host = element('div', {class: 'chart-rows', tabindex: 0, role: 'group',
        'aria-label': `Weights of ${context.item.columns} channels. Arrow keys move from channel to channel and row to row, plus and minus enlarge.`});
      this.list = element('table', {class: 'largest'});
      this.note = element('p', {class: 'chart-note'});
      this.container.append(controls.bar(this.order, this.scale, this.enlarge.element), this.readOut,
        element('div', {class: 'with-aside'}, element('div', {}, this.host, this.note), element('aside', {'aria-label': 'Largest weights'}, this.list)));
      chart.steer(this.host, {
        span: () => this.span, rows: () => this.rows.length, row: () => this.row, setRow: row => { this.row = row; }, moved: how => this.moved(how),
        plot: target => ({left: gutter.left, width: Math.max(1, target.querySelector('canvas').clientWidth - gutter.left - gutter.right)}),
      });
    }

    orderOptions() {
      const {item} = this.context, options = [['number', 'by number'], ['own', item.rows > 1 ? 'largest first, each row' : 'largest first']];
      for (let r = 0; item.rows > 1 && r < Math.min(item.rows, orderRows); ++r) options.push([`row-${r}`, `largest first in ${this.rowName(r)}`]);
      return options;
    }

    orderName() { return this.context.state.get('order', 'number', this.orderOptions().map(([name]) => name)); }
    scaleName() { return this.context.state.get('height', 'shared', ['shared', 'own']); }

    rowName(r) {
      const label = this.rowLabels[r];
      if (this.rowAxis === '') return this.axis;
      if (this.rowAxis === 'source' || this.rowAxis === 'target') return labels.shorten(label, 40);
      return `${labels.shorten(labels.printable(this.rowAxis), 40)} ${label}`;
    }

    partText(from, to) {
      const {columns} = this.context.item;
      return this.orderName() === 'number' ? `${from + 1}–${to + 1} of ${columns}` : `ranks ${from + 1}–${to + 1} of ${columns}`;
    }

    // --- Data

    async load() {
      const {context} = this, number = context.panel;
      this.shown = number;
      const panel = await context.source.panel(context.exampleNumber, context.itemNumber, number);
      if (this.isClosed || this.shown !== number) return;
      this.rows = Array.from({length: Math.min(panel.rows, rowsAtOnce)}, (_, r) => makeRow(this.rowName(r), () => panel.row(r)));
      this.panel = panel;
      this.row = Math.min(this.row, this.rows.length - 1);
      this.makeRows();
      this.update();
    }

    makeRows() {
      for (const surface of this.surfaces) surface.close();
      const height = this.rows.length <= 2 ? 168 : this.rows.length <= 6 ? 112 : 76;
      this.surfaces = this.rows.map((row, r) => chart.surface({height, seen: r < 12, draw: (c, width, tall) => this.draw(c, width, tall, r)}));
      this.host.replaceChildren(...this.rows.map((row, r) => {
        const heading = element('h3', {}, element('bdi', {text: row.name}), element('span', {class: 'quiet', dataset: {facts: r}}));
        return element('section', {class: 'chart-row', dataset: {row: r}}, heading, this.surfaces[r].element);
      }));
    }

    update() {
      if (!this.order) return;
      if (this.shown !== this.context.panel) {
        this.load().catch(error => chart.fail(this, error));
        return;
      }
      this.order.set(this.orderName());
      this.scale.set(this.scaleName());
      if (this.panel) this.redraw();
    }

    redraw() {
      for (const surface of this.surfaces) surface.redraw();
      this.enlarge.update();
      this.fillList();
      this.fillReadOut();
    }

    moved(how) {
      this.redraw();
      if (how === 'key') this.context.announce(this.readOut.textContent);
    }

    // --- Places and channels

    // The channel at each place of a row; null: the same number.
    orderOf(r) {
      const name = this.orderName();
      if (name === 'number') return null;
      return this.rows[name === 'own' ? r : Math.min(Number(name.slice(4)), this.rows.length - 1)].sorted();
    }

    channelAt(r, place) {
      const order = this.orderOf(r);
      return order ? order[place] : place;
    }

    placeOf(r, channel) {
      const name = this.orderName();
      if (name === 'number') return channel;
      return this.rows[name === 'own' ? r : Math.min(Number(name.slice(4)), this.rows.length - 1)].ranks()[channel];
    }

    cursorChannel() { return this.span.cursor === null ? null : this.channelAt(this.row, this.span.cursor); }

    // --- Texts

    fillReadOut() {
      const channel = this.cursorChannel(), {columns} = this.context.item;
      if (channel === null) {
        const what = this.axis === 'channel' ? 'channels' : `places of ${this.axis}`;
        this.readOut.textContent = `${columns} ${what}. Point at a bar, or focus the bars and use the arrow keys.`;
        return;
      }
      const row = this.rows[this.row], value = labels.number(row.values()[channel]) + chart.remark(this.panel, this.row, channel);
      const name = this.rowAxis === '' ? '' : `${row.name}, `;
      this.readOut.textContent = `${name}${this.axis} ${channel + 1}: ${value}, rank ${row.ranks()[channel] + 1} of ${columns}`;
    }

    fillList() {
      const row = this.rows[this.row], key = `${this.shown} ${this.row}`;
      if (this.list.dataset.key === key) return;
      this.list.dataset.key = key;
      const body = Array.from(row.sorted().subarray(0, listed), channel => element('tr', {},
        element('td', {text: String(channel + 1)}), element('td', {text: labels.number(row.values()[channel])})));
      this.list.replaceChildren(
        element('caption', {}, 'Largest', ...(this.rowAxis === '' ? [] : [' in ', element('bdi', {text: row.name})])),
        element('thead', {}, element('tr', {}, element('th', {scope: 'col', text: this.axis}), element('th', {scope: 'col', text: 'weight'}))),
        element('tbody', {}, ...body));
    }

    fillFacts(r) {
      const shown = this.host.querySelector(`[data-facts="${r}"]`), {mean, high, count} = this.rows[r].facts();
      const missing = this.context.item.columns - count;
      const text = count === 0 ? 'no numbers' : `mean ${labels.number(mean)}, largest ${labels.number(high)}` + (missing ? `, ${missing} not a number` : '');
      if (shown.textContent !== text) shown.textContent = text;
    }

    // --- Drawing

    limits(r) {
      let {low, high} = this.rows[r].facts();
      if (this.scaleName() === 'shared') {
        for (const row of this.rows) {
          low = Math.min(low, row.facts().low);
          high = Math.max(high, row.facts().high);
        }
      }
      low = Math.min(0, low);
      high = Math.max(0, high);
      return {low, high: high > low ? (low === 0 ? chart.roundUp(high, 3) : high) : low + 1};
    }

    draw(c, width, height, r) {
      this.fillFacts(r);
      this.fillNote(width);
      const plot = {left: gutter.left, width: width - gutter.left - gutter.right, top: gutter.top, height: height - gutter.top - gutter.bottom};
      if (plot.width < 10) return;
      const {low, high} = this.limits(r), y = value => plot.top + (high - Math.min(high, Math.max(low, value))) / (high - low) * plot.height;
      const colours = chart.palette();
      chart.levels(c, plot, low, high, y, colours);
      const wide = plot.width / this.span.size;
      if (wide >= 1) this.drawBars(c, plot, wide, y, r, colours);
      else this.drawColumns(c, plot, y, r, colours);
      this.drawNumbers(c, plot, r, colours);
      this.drawCursor(c, plot, y, r, colours);
    }

    fillNote(width) {
      const pixels = width - gutter.left - gutter.right, parts = [];
      if (this.panel.rows > this.rows.length) parts.push(`The first ${this.rows.length} rows of ${this.panel.rows} are shown.`);
      if (pixels > 0 && pixels < this.span.size) {
        parts.push('There are more channels than pixels: the pale part of a bar reaches to the largest weight in its pixel, the full part to the smallest.');
      }
      if (this.note.textContent !== parts.join(' ')) this.note.textContent = parts.join(' ');
    }

    drawBars(c, plot, wide, y, r, colours) {
      const {span} = this, values = this.rows[r].values(), order = this.orderOf(r), base = y(0), gap = wide >= 6 ? 2 : wide >= 3 ? 1 : 0;
      for (let place = Math.floor(span.from); place < Math.min(span.count, Math.ceil(span.to)); ++place) {
        const value = values[order ? order[place] : place], x = plot.left + (place - span.from) * wide;
        const from = Math.max(plot.left, x), to = Math.min(plot.left + plot.width, x + wide - gap);
        if (Number.isNaN(value)) chart.missing(c, from, plot.top, to - from, plot.height);
        else {
          c.fillStyle = colours.accent;
          c.fillRect(from, Math.min(base, y(value)), Math.max(0.5, to - from), Math.max(value === 0 ? 0 : 1, Math.abs(base - y(value))));
        }
      }
    }

    drawColumns(c, plot, y, r, colours) {
      const {span} = this, values = this.rows[r].values(), order = this.orderOf(r), base = y(0), pixels = Math.floor(plot.width);
      for (let pixel = 0; pixel < pixels; ++pixel) {
        const start = Math.floor(span.from + pixel / pixels * span.size), end = Math.max(start + 1, Math.floor(span.from + (pixel + 1) / pixels * span.size));
        let low = Infinity, high = -Infinity, missing = false;
        for (let place = start; place < Math.min(end, span.count); ++place) {
          const value = values[order ? order[place] : place];
          if (Number.isNaN(value)) missing = true;
          else {
            low = Math.min(low, value);
            high = Math.max(high, value);
          }
        }
        const x = plot.left + pixel;
        if (missing) chart.missing(c, x, plot.top, 1, plot.height);
        if (low > high) continue;
        c.fillStyle = colours.accentSoft;
        c.fillRect(x, Math.min(base, y(high)), 1, Math.abs(Math.max(base, y(low)) - Math.min(base, y(high))));
        c.fillStyle = colours.accent;
        if (low > 0) c.fillRect(x, y(low), 1, base - y(low));
        else if (high < 0) c.fillRect(x, base, 1, y(high) - base);
      }
    }

    // Below the bars: numbers of channels where they stand in order, else ranks.
    drawNumbers(c, plot, r, colours) {
      const {span} = this, first = Math.floor(span.from) + 1, last = Math.ceil(span.to);
      c.fillStyle = colours.quiet;
      c.textBaseline = 'top';
      c.direction = 'ltr';
      const marks = chart.ticks(first, last, plot.width / 70).filter(Number.isInteger);
      for (const number of new Set([first, ...marks])) {
        const x = plot.left + (number - 0.5 - span.from) / span.size * plot.width;
        if (number !== first && x - plot.left < 28) continue;
        c.textAlign = number === first ? 'left' : 'center';
        c.fillText(String(number), number === first ? plot.left : Math.min(x, plot.left + plot.width - 10), plot.top + plot.height + 5);
      }
    }

    drawCursor(c, plot, y, r, colours) {
      const channel = this.cursorChannel();
      if (channel === null) return;
      const {span} = this, place = this.placeOf(r, channel), wide = plot.width / span.size;
      if (place + 1 <= span.from || place >= span.to) return;
      const x = plot.left + (place + 0.5 - span.from) * wide, value = this.rows[r].values()[channel];
      c.fillStyle = colours.ink;
      c.globalAlpha = 0.12;
      c.fillRect(x - Math.max(1, wide / 2), plot.top, Math.max(2, wide), plot.height);
      c.globalAlpha = 1;
      const top = Number.isNaN(value) ? plot.top : y(value);
      c.fillRect(x - Math.max(1, wide / 2 - 1), Math.min(top, y(0)), Math.max(2, wide - 2), Math.max(1, Math.abs(y(0) - top)));
      const text = labels.number(value), half = c.measureText(text).width / 2 + 3;
      const at = chart.clamp(x, plot.left + half, plot.left + plot.width - half), line = Math.max(plot.top + 6, Math.min(top, y(0)) - 8);
      c.fillStyle = colours.paper;
      c.globalAlpha = 0.85;
      c.fillRect(at - half, line - 7, half * 2, 14);
      c.globalAlpha = 1;
      c.fillStyle = colours.ink;
      c.textAlign = 'center';
      c.textBaseline = 'middle';
      c.fillText(text, at, line);
    }

    close() {
      this.isClosed = true;
      for (const surface of this.surfaces) surface.close();
    }
  }

  attend.views = attend.views || [];
  attend.views.push({
    name: 'channels', title: 'Channels',
    accepts: (record, example, item) => Boolean(item) && (item.kind === 'channel' || item.kind === 'branch'),
    open: (container, context) => new ChannelsView(container, context),
    keys: [['←  →', 'channel before, next (with shift: ten)'], ['↑  ↓', 'row above, below'], ['Home  End', 'first, last channel'],
           ['Page Up  Page Down', 'half of what is seen'], ['+  −', 'enlarge, show more'], ['Escape', 'no channel']],
  });
})(window.attend = window.attend || {});
