// Links: the tokens of rows and columns side by side, a line for each weight. Lines are drawn for what can be seen, the strongest of them.
//
// State: token=rROW or cCOLUMN (from 0): the token whose lines alone are drawn; threshold and full as in the matrix.
(function (attend) {
  'use strict';

  const {element, controls, colours, labels, heatMap, inspector} = attend;

  const pitch = 22;         // pixels from one token to the next
  const mostLines = 2000;   // that are drawn at once
  const overscan = 8;       // tokens above and below what is seen
  const levels = 48;        // of opacity: lines of one level are one path
  const fewColumns = 64;    // as in the matrix
  const listed = 10;        // partners of a token in the inspector

  // Of {r, c, weight}, arrays of one length, the places of the `most` with the largest weights; equals at the edge may be cut.
  function strongestPlaces(weights, most) {
    const all = Array.from(weights.keys());
    if (all.length <= most) return all;
    const bins = new Uint32Array(4096), top = weights.reduce((a, b) => Math.max(a, b), 0) || 1;
    const bin = weight => Math.min(bins.length - 1, Math.floor(Math.sqrt(Math.max(0, weight / top)) * bins.length));
    for (const weight of weights) ++bins[bin(weight)];
    let cut = bins.length, kept = 0;
    while (cut > 0 && kept + bins[cut - 1] <= most) kept += bins[--cut];
    const above = all.filter(i => bin(weights[i]) >= cut);
    if (cut === 0) return above;
    const edge = all.filter(i => bin(weights[i]) === cut - 1).sort((a, b) => weights[b] - weights[a]);
    return above.concat(edge.slice(0, most - above.length));
  }

  const clamp = (value, low, high) => Math.min(Math.max(value, low), Math.max(low, high));

  class Links {
    constructor(container, context) {
      this.context = context;
      this.shown = -1;
      this.hover = null;
      this.frame = 0;
      this.build(container);
      this.resize = new ResizeObserver(() => this.draw());
      this.resize.observe(this.scroller);
      this.drawn = this.load();
    }

    // --- Elements

    build(container) {
      const {item, state} = this.context;
      this.threshold = controls.threshold({change: value => state.set({threshold: value})});
      this.full = controls.choice({label: 'Full scale', options: [['one', '1'], ['largest', 'largest']], value: 'one', change: value => state.set({full: value})});
      const release = controls.button({label: 'All tokens', title: 'Show the lines of all tokens (Esc)', press: () => this.choose(null)});
      this.rows = this.buildSide('r', 'left', item.row_axis);
      this.columns = this.buildSide('c', 'right', item.column_axis);
      this.lines = element('canvas', {'aria-hidden': 'true'});
      this.space = element('div', {class: 'links-space'}, element('div', {class: 'links-lines'}, this.lines), this.rows.list, this.columns.list);
      this.scroller = element('div', {class: 'links', on: {scroll: () => this.schedule()}}, this.space);
      this.message = element('p', {class: 'empty', text: 'Reading the weights …'});
      this.titles = element('div', {class: 'links-titles'}, element('span', {text: `${item.row_axis} looks at`}), element('span', {text: item.column_axis}));
      this.inspector = inspector.make('Weights of the chosen token');
      this.note = element('p', {class: 'quiet links-note'});
      this.body = element('div', {class: 'matrix'}, element('div', {class: 'links-frame'}, this.titles, this.scroller, this.note), this.inspector);
      container.append(controls.bar(this.full, this.threshold, release), this.message, this.body);
    }

    buildSide(letter, where, axis) {
      const list = element('div', {class: `links-side ${where}`, role: 'listbox', tabindex: 0, 'aria-label': `Tokens of ${axis}, ${where}`});
      const side = {letter, list, names: [], options: new Map()};
      list.addEventListener('pointermove', event => this.pointAt(side, event));
      list.addEventListener('pointerleave', () => this.pointAway());
      list.addEventListener('click', event => this.click(side, event));
      list.addEventListener('keydown', event => this.key(side, event));
      list.addEventListener('focus', () => this.focused(side));
      return side;
    }

    close() {
      this.closed = true;
      cancelAnimationFrame(this.frame);
      this.resize.disconnect();
    }

    // --- Data

    async load() {
      const {item} = this.context;
      const isCurrent = await attend.readPanel(this, (panel, rowNames, columnNames) => {
        this.panel = panel;
        [this.rows.names, this.columns.names] = [rowNames, columnNames];
        const isEmpty = panel.rows === 0 || panel.columns === 0;
        this.say(isEmpty ? `There is nothing to see: ${panel.rows} tokens of ${item.row_axis}, ${panel.columns} of ${item.column_axis}.` : '');
      }, error => {
        this.panel = null;
        this.say(error.message, true);
      });
      if (!isCurrent) return;
      this.widths = null;
      this.draw(true);
    }

    say(text, isProblem = false) {
      this.message.textContent = text;
      this.message.hidden = text === '';
      this.message.classList.toggle('problem', isProblem);
      this.body.hidden = text !== '';
    }

    // Calls f(r, c, weight) for what is known of a row; NaN is left out.
    eachOfRow(r, f) {
      const {grid} = this.panel, kept = grid.entries(r);
      if (kept) {
        for (let i = 0; i < kept.count; ++i) f(r, kept.columns[i], kept.weights[i]);
        return;
      }
      const row = grid.row(r);
      for (let c = 0; c < row.length; ++c) f(r, c, row[c]);
    }

    // Weights that may be drawn: of the isolated token, or of all tokens that can be seen.
    candidates(isolated, seen) {
      const {threshold} = this.settings, found = {r: [], c: [], weight: []};
      const add = (r, c, weight) => {
        if (!(weight > 0) || weight < threshold) return;
        found.r.push(r);
        found.c.push(c);
        found.weight.push(weight);
      };
      const {rows} = this.panel.grid;
      if (isolated && isolated.letter === 'r') {
        this.eachOfRow(isolated.place, add);
        return found;
      }
      const touches = isolated ? (r, c) => c === isolated.place : (r, c) => inside(r, seen.rows) || inside(c, seen.columns);
      const addTouching = (r, c, weight) => { if (touches(r, c)) add(r, c, weight); };
      for (let r = 0; r < rows; ++r) {
        if (isolated || !inside(r, seen.rows)) this.eachOfRow(r, addTouching);
        else this.eachOfRow(r, add);
      }
      return found;
    }

    // --- State

    readSettings() {
      const {state} = this.context, {grid} = this.panel, relative = state.get('full', grid.columns > fewColumns ? 'largest' : 'one', ['one', 'largest']) === 'largest';
      const threshold = state.get('threshold', 0, value => value >= 0 && value <= 1);
      const token = state.get('token', '', value => /^[rc]\d+$/.test(value) && Number(value.slice(1)) < (value[0] === 'r' ? grid.rows : grid.columns));
      this.full.set(relative ? 'largest' : 'one');
      this.threshold.set(threshold);
      const scale = heatMap.scale({full: relative ? this.panel.largest() : 1, threshold});
      this.settings = {threshold, scale, chosen: token ? {letter: token[0], place: Number(token.slice(1))} : null};
    }

    choose(token) {
      this.context.state.set({token: token ? token.letter + token.place : null});
    }

    update() {
      if (this.context.panel !== this.shown) this.load();
      else this.draw();
    }

    // --- Drawing

    schedule() {
      if (this.frame === 0) this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.drawSeen();
      });
    }

    draw(isNew = false) {
      if (!this.panel || this.closed || this.body.hidden || this.scroller.clientWidth === 0) return;
      this.readSettings();
      this.measure();
      const {chosen} = this.settings;
      if (isNew && chosen) this.scroller.scrollTop = (chosen.place + 0.5) * pitch - this.scroller.clientHeight / 2;
      this.drawSeen();
    }

    // Each side gets as much room as its tokens need, but not more than a third.
    measure() {
      const {clientWidth: width} = this.scroller;
      if (this.widths && this.widths.of === width) return;
      const c = this.lines.getContext('2d');
      c.font = attend.font(13);
      const wide = names => names.slice(0, 400).reduce((most, name) => Math.max(most, c.measureText(labels.shorten(name, 60)).width), 0) + 20;
      const [left, right] = [this.rows, this.columns].map(side => Math.ceil(clamp(wide(side.names), 48, width * 0.36)));
      this.widths = {of: width, left, right, between: Math.max(60, width - left - right)};
      this.rows.list.style.width = `${left}px`;
      this.columns.list.style.width = `${right}px`;
      const tallest = Math.max(this.rows.names.length, this.columns.names.length) * pitch;
      this.space.style.height = `${tallest}px`;
      this.scroller.style.maxHeight = `${tallest + 2}px`;
      this.rows.list.style.height = this.columns.list.style.height = `${tallest}px`;
      this.titles.style.width = `${width}px`;
    }

    seen(side) {
      const {scrollTop, clientHeight} = this.scroller;
      return [Math.max(0, Math.floor(scrollTop / pitch)), Math.min(side.names.length, Math.ceil((scrollTop + clientHeight) / pitch))];
    }

    drawSeen() {
      if (!this.panel || this.closed || !this.settings) return;
      const seen = {rows: this.seen(this.rows), columns: this.seen(this.columns)}, isolated = this.hover || this.settings.chosen;
      const found = this.candidates(isolated, seen), places = strongestPlaces(found.weight, mostLines);
      this.drawLines(found, places);
      this.partners = isolated ? partnersOf(isolated, found) : null;
      this.fillSide(this.rows, isolated);
      this.fillSide(this.columns, isolated);
      this.inspect(isolated);
      this.explain(places.length, found.weight.length, isolated);
    }

    drawLines(found, places) {
      const {left, between} = this.widths, {scrollTop, clientHeight} = this.scroller, {scale} = this.settings;
      this.lines.style.left = `${left}px`;
      const c = attend.fitCanvas(this.lines, between, clientHeight), paths = Array.from({length: levels + 1}, () => null);
      for (const i of places) {
        const level = Math.ceil(clamp(scale.fraction(found.weight[i]), 0, 1) * levels), path = paths[level] = paths[level] || new Path2D();
        const from = (found.r[i] + 0.5) * pitch - scrollTop, to = (found.c[i] + 0.5) * pitch - scrollTop;
        path.moveTo(0, from);
        path.bezierCurveTo(between * 0.45, from, between * 0.55, to, between, to);
      }
      c.strokeStyle = colours.css(colours.accent());
      paths.forEach((path, level) => {
        if (!path) return;
        const strength = level / levels;
        c.globalAlpha = 0.95 * strength ** 0.8;
        c.lineWidth = 0.75 + 3 * strength;
        c.stroke(path);
      });
    }

    // Elements for the tokens that can be seen, and for no others.
    fillSide(side, isolated) {
      const [first, last] = this.seen(side), from = Math.max(0, first - overscan), to = Math.min(side.names.length, last + overscan);
      for (const [place, option] of side.options) {
        if (place >= from && place < to && option.dataset.panel === String(this.shown)) continue;
        option.remove();
        side.options.delete(place);
      }
      for (let place = from; place < to; ++place) {
        if (!side.options.has(place)) this.addOption(side, place);
        this.shade(side, place, isolated);
      }
      const {chosen} = this.settings, isHere = chosen && chosen.letter === side.letter && side.options.has(chosen.place);
      if (isHere) side.list.setAttribute('aria-activedescendant', side.options.get(chosen.place).id);
      else side.list.removeAttribute('aria-activedescendant');
    }

    addOption(side, place) {
      const option = element('div', {
        class: 'links-token', role: 'option', id: `links-${side.letter}-${place}`, dataset: {place, panel: this.shown}, 'aria-posinset': place + 1, 'aria-setsize': side.names.length,
      }, element('bdi', {text: labels.shorten(side.names[place], 120)}));
      option.style.top = `${place * pitch}px`;
      side.options.set(place, option);
      side.list.append(option);
    }

    // The chosen token is marked; those that it looks at have the colour of their weight.
    shade(side, place, isolated) {
      const option = side.options.get(place), {chosen, scale} = this.settings, is = token => Boolean(token) && token.letter === side.letter && token.place === place;
      option.setAttribute('aria-selected', String(is(chosen)));
      option.classList.toggle('isolated', is(isolated));
      const weight = isolated && isolated.letter !== side.letter ? this.partners.get(place) || 0 : 0;
      const surface = weight > 0 ? colours.of(scale.fraction(weight)) : null;
      option.style.background = surface ? colours.css(surface) : '';
      option.style.color = surface ? colours.css(colours.textOn(surface)) : '';
      option.classList.toggle('faded', Boolean(isolated) && !is(isolated) && weight === 0);
    }

    explain(drawn, candidates, isolated) {
      const parts = [], what = isolated ? 'of this token' : 'of the tokens in view';
      parts.push(drawn < candidates ? `Drawn: the ${labels.count(drawn)} strongest of ${labels.count(candidates)} weights ${what}.` : `Drawn: all ${labels.count(drawn)} weights ${what}`
        + (this.settings.threshold > 0 ? ` from ${labels.number(this.settings.threshold)} up.` : '.'));
      if (this.panel.note) parts.push(this.panel.note);
      if (this.panel.missing() > 0) parts.push(`${labels.count(this.panel.missing())} weights are not a number and have no line.`);
      const text = parts.join(' ');
      if (this.note.textContent !== text) this.note.textContent = text;
    }

    inspect(isolated) {
      const key = isolated ? `${this.shown} ${isolated.letter} ${isolated.place} ${this.settings.threshold} ${this.settings.scale.full}` : '';
      if (key === this.inspected) return;
      this.inspected = key;
      if (!isolated) {
        inspector.hint(this.inspector, 'Point at a token to see its lines alone. Click it, or go there with Tab and the arrow keys, to keep it.');
        return;
      }
      const isRow = isolated.letter === 'r', {item} = this.context, [own, other] = isRow ? [this.rows, this.columns] : [this.columns, this.rows];
      const partners = [...this.partners].sort((a, b) => b[1] - a[1]).slice(0, listed).map(([place, weight]) => [other.names[place], weight]);
      inspector.tell(this.inspector, [
        [`${isRow ? item.row_axis : item.column_axis} ${isolated.place + 1} of ${own.names.length}`, inspector.token(own.names[isolated.place])],
        [isRow ? 'Looks most at' : 'Is looked at most by', partners.length ? inspector.bars(partners, this.settings.scale) : 'nothing'],
      ]);
    }

    // --- Pointer and keys

    tokenUnder(side, event) {
      const option = event.target.closest('.links-token');
      return option ? {letter: side.letter, place: Number(option.dataset.place)} : null;
    }

    pointAt(side, event) {
      const token = this.tokenUnder(side, event), key = token ? token.letter + token.place : '';
      if (key === this.hoverKey || event.pointerType === 'touch') return;
      this.hoverKey = key;
      this.hover = token;
      this.schedule();
    }

    pointAway() {
      this.hoverKey = '';
      this.hover = null;
      this.schedule();
    }

    click(side, event) {
      const token = this.tokenUnder(side, event), {chosen} = this.settings;
      this.choose(token && chosen && token.letter === chosen.letter && token.place === chosen.place ? null : token);
    }

    focused(side) {
      if (!this.settings || !side.list.matches(':focus-visible')) return;
      const {chosen} = this.settings;
      if (!chosen || chosen.letter !== side.letter) this.go(side, this.seen(side)[0]);
    }

    key(side, event) {
      if (!this.settings || event.ctrlKey || event.altKey || event.metaKey) return;
      const {chosen} = this.settings, place = chosen && chosen.letter === side.letter ? chosen.place : 0, other = side === this.rows ? this.columns : this.rows;
      const action = {
        ArrowUp: () => this.go(side, place - 1), ArrowDown: () => this.go(side, place + 1), PageUp: () => this.go(side, place - 10), PageDown: () => this.go(side, place + 10),
        Home: () => this.go(side, 0), End: () => this.go(side, side.names.length - 1),
        ArrowLeft: side === this.columns && (() => this.change(other, place)), ArrowRight: side === this.rows && (() => this.change(other, place)), Escape: () => this.choose(null),
      }[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    }

    change(side, place) {
      this.go(side, place);
      side.list.focus();
    }

    go(side, wanted) {
      const place = clamp(wanted, 0, side.names.length - 1), token = {letter: side.letter, place};
      this.choose(token);
      this.settings.chosen = token;
      this.bringIntoView(token);
      const best = [...partnersOf(token, this.candidates(token, null))].sort((a, b) => b[1] - a[1]).slice(0, 3);
      const other = side === this.rows ? this.columns : this.rows;
      this.context.announce(`${labels.shorten(side.names[place], 60)}: ${best.map(([where, weight]) => `${labels.shorten(other.names[where], 40)} ${labels.number(weight)}`).join(', ') || 'nothing'}`);
    }

    bringIntoView({place}) {
      const {scrollTop, clientHeight} = this.scroller, top = place * pitch;
      if (top < scrollTop) this.scroller.scrollTop = top - pitch;
      else if (top + pitch > scrollTop + clientHeight) this.scroller.scrollTop = top + 2 * pitch - clientHeight;
    }
  }

  const inside = (place, [first, last]) => place >= first && place < last;

  // place on the other side → weight
  function partnersOf(token, found) {
    const others = token.letter === 'r' ? found.c : found.r;
    return new Map(others.map((place, i) => [place, found.weight[i]]));
  }

  const isText = axis => axis === 'source' || axis === 'target';

  attend.views = attend.views || [];
  attend.views.push({
    name: 'links',
    title: 'Links',
    positions: ['token'],
    keys: [['↑  ↓', 'token before, next'], ['←  →', 'the other side'], ['Home  End', 'first, last token'], ['Esc', 'lines of all tokens']],
    accepts: (record, example, item) => item !== null && isText(item.row_axis) && isText(item.column_axis),
    open: (container, context) => new Links(container, context),
  });
})(window.attend = window.attend || {});
