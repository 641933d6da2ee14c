// Matrix: one panel as a heat map, rows × columns, with zoom, a cross-hair and the weight under it.
//
// State: cell=ROW.COLUMN (from 0), zoom (1: all is seen), left and top (cells that are scrolled away), scale=log, full=one|largest, threshold,
// rows=total|COLUMN and columns=total|ROW (what they are sorted by).
(function (attend) {
  'use strict';

  const {element, controls, colours, labels, heatMap, inspector} = attend;

  const fewColumns = 64;    // more share their weight among so many that colours up to 1 would all be pale
  const leastHeight = 300;  // pixels of the map, where the inspector is below it
  const dragStart = 4;      // pixels before a press is a drag
  const wholeTip = 300;     // characters of a token in a tip; the inspector has all
  const listed = 5;         // weights of a row in the inspector
  const whole = 1.001;      // a zoom up to this shows all

  const clamp = (value, low, high) => Math.min(Math.max(value, low), Math.max(low, high));

  class Matrix {
    constructor(container, context) {
      this.context = context;
      this.hover = null;  // cell under the pointer; either of r and c may be −1
      this.pointers = new Map();
      this.shown = -1;    // the panel that is loaded
      this.build(container);
      this.listen();
      this.resize = new ResizeObserver(() => this.draw());
      this.resize.observe(this.frame);
      this.drawn = this.load();
    }

    // --- Elements

    build(container) {
      this.canvas = element('canvas', {class: 'map', tabindex: 0, role: 'application', 'aria-roledescription': 'heat map', 'aria-label': 'Heat map'});
      const over = element('canvas', {class: 'over', 'aria-hidden': 'true'});
      this.map = new attend.MatrixMap(this.canvas, over);
      this.tip = element('div', {class: 'tip', hidden: true, 'aria-hidden': 'true'});
      this.message = element('p', {class: 'empty'});
      this.stage = element('div', {class: 'stage'}, this.canvas, over, this.message, this.tip);
      this.inspector = inspector.make('Weight under the cross-hair');
      this.frame = element('div', {class: 'matrix'}, this.stage, this.inspector);
      this.legend = controls.legend();
      container.append(this.buildBar(), this.frame, this.legend.element);
      this.say('Reading the weights …');
    }

    buildBar() {
      const {state} = this.context, set = name => value => state.set({[name]: value});
      const sorts = [['', 'as they are'], ['total', 'by total weight'], ['cell', 'by the chosen cell']];
      this.scaleChoice = controls.choice({label: 'Scale', options: [['linear', 'linear'], ['log', 'log']], value: 'linear', change: value => state.set({scale: value === 'log' ? value : null})});
      this.fullChoice = controls.choice({label: 'Full scale', options: [['one', '1'], ['largest', 'largest']], value: 'one', change: set('full')});
      this.threshold = controls.threshold({change: set('threshold')});
      this.rowsList = controls.list({label: 'Rows', options: sorts, value: '', change: value => this.sortBy('rows', value)});
      this.columnsList = controls.list({label: 'Columns', options: sorts, value: '', change: value => this.sortBy('columns', value)});
      const zoom = element('div', {class: 'control together', role: 'group', 'aria-label': 'Zoom'},
        controls.button({label: '−', title: 'Zoom out (-)', press: () => this.zoomBy(1 / 1.5)}),
        controls.button({label: '+', title: 'Zoom in (+)', press: () => this.zoomBy(1.5)}),
        controls.button({label: 'All', title: 'See all of it (0)', press: () => this.showAll()}));
      return controls.bar(this.scaleChoice, this.fullChoice, this.threshold, this.rowsList, this.columnsList, zoom);
    }

    listen() {
      const on = (name, listener, options) => this.canvas.addEventListener(name, listener.bind(this), options);
      on('pointerdown', this.press);
      on('pointermove', this.move);
      on('pointerup', this.release);
      on('pointercancel', this.release);
      on('pointerleave', this.leave);
      on('wheel', this.wheel, {passive: false});
      on('keydown', this.key);
    }

    close() {
      this.closed = true;
      this.resize.disconnect();
    }

    // --- Data

    async load() {
      const isCurrent = await attend.readPanel(this, (panel, rowNames, columnNames) => {
        this.map.show(new attend.PanelFacts(panel), this.context.item, rowNames, columnNames);
        const isEmpty = panel.rows === 0 || panel.columns === 0;
        this.say(isEmpty ? `There is nothing to see: ${panel.rows} rows × ${panel.columns} columns. Nothing was read, or nothing written.` : '');
        if (isEmpty) this.clear();
      }, error => {
        this.say(error.message, true);
        this.clear();
      });
      if (!isCurrent) return;
      this.hover = null;
      this.inspected = null;
      this.draw();
    }

    say(text, isProblem = false) {
      this.message.textContent = text;
      this.message.hidden = text === '';
      this.inspector.hidden = this.legend.element.hidden = text !== '';
      this.message.classList.toggle('problem', isProblem);
    }

    clear() {
      this.map.clear();
      this.inspector.replaceChildren();
      [this.stage.style.width, this.stage.style.height] = ['', ''];
    }

    update() {
      if (this.context.panel !== this.shown) this.load();
      else this.draw();
    }

    // --- State

    settings() {
      const {state} = this.context, {rows, columns} = this.map.facts.grid;
      const isPlace = length => value => value === 'total' || (/^\d+$/.test(value) && Number(value) < length);
      const cell = state.get('cell', '', value => /^\d+\.\d+$/.test(value));
      const [r, c] = cell.split('.').map(Number);
      return {
        cell: cell !== '' && r < rows && c < columns ? {r, c} : null,
        log: state.get('scale', 'linear', ['linear', 'log']) === 'log',
        relative: state.get('full', columns > fewColumns ? 'largest' : 'one', ['one', 'largest']) === 'largest',
        threshold: state.get('threshold', 0, value => value >= 0 && value <= 1),
        rowsBy: state.get('rows', '', isPlace(columns)),
        columnsBy: state.get('columns', '', isPlace(rows)),
      };
    }

    sortBy(what, how) {
      if (!this.map.facts) return;
      const {cell} = this.settings();
      if (how !== 'cell') this.context.state.set({[what]: how});
      else if (cell) this.context.state.set({[what]: what === 'rows' ? cell.c : cell.r});
      else {
        this.context.announce('Choose a cell first: click one, or move there with the arrow keys.');
        this.draw();
      }
    }

    toggleSort(what, place) {
      const now = this.context.state.get(what, '');
      this.context.state.set({[what]: now === String(place) ? null : place});
    }

    // The room for the map, of which it takes what it needs.
    room() {
      const beside = getComputedStyle(this.frame).flexDirection === 'row' ? this.inspector.offsetWidth + 16 : 0;
      const width = this.frame.clientWidth - beside;
      return {width, height: beside ? this.frame.clientHeight : Math.max(leastHeight, Math.min(window.innerHeight * 0.72, width * 1.2))};
    }

    layout() {
      const {state} = this.context, isPlace = value => value >= 0 && value <= 1e9;
      return this.map.layout(this.room(), {zoom: state.get('zoom', 1, value => value >= 1 && value <= 1e6), left: state.get('left', 0, isPlace), top: state.get('top', 0, isPlace)});
    }

    // --- Drawing

    draw() {
      const {facts} = this.map;
      if (!facts || this.closed || this.frame.clientWidth === 0) return;
      const settings = this.current = this.settings();
      this.scale = heatMap.scale({full: settings.relative ? facts.panel.largest() : 1, log: settings.log, threshold: settings.threshold});
      this.map.sort(settings.rowsBy, settings.columnsBy);
      const geometry = this.layout();
      [this.stage.style.width, this.stage.style.height] = [`${geometry.width}px`, `${geometry.height}px`];
      this.map.draw(geometry, this.scale);
      this.showControls(settings);
      this.drawOver();
      this.showLegend();
    }

    drawOver() {
      if (!this.map.geometry) return;
      this.map.drawOver(this.hover, this.current.cell);
      this.inspect(this.hover || this.current.cell);
    }

    showControls({log, relative, threshold, rowsBy, columnsBy}) {
      const {rowNames, columnNames, geometry, facts} = this.map, {item} = this.context;
      this.scaleChoice.set(log ? 'log' : 'linear');
      this.fullChoice.set(relative ? 'largest' : 'one');
      this.threshold.set(threshold);
      showSort(this.rowsList, rowsBy, 'column', columnNames);
      showSort(this.columnsList, columnsBy, 'row', rowNames);
      this.canvas.classList.toggle('zoomed', geometry.zoom > whole);
      const {rows, columns} = facts.panel;
      this.canvas.setAttribute('aria-label', `${rows} rows${item.row_axis ? ` (${item.row_axis})` : ''} by ${columns} columns (${item.column_axis}). Arrow keys move the cross-hair.`);
    }

    showLegend() {
      const {scale} = this, {facts, cached} = this.map, {panel} = facts, keys = [], css = colours.css;
      if (panel.missing() > 0) keys.push([`not a number (${panel.missing()})`, css(colours.missing())]);
      if (panel.form === 'top-k' && panel.note) keys.push(['not kept', css(colours.paper())]);
      if (scale.threshold > 0) keys.push([`below ${labels.number(scale.threshold)}: hidden`, css(colours.paper())]);
      this.legend.update({
        dark: colours.isDark(), low: scale.log ? labels.number(scale.full / 10 ** heatMap.decades) : '0', high: labels.number(scale.full), log: scale.log, keys,
        note: cached.rows.isReduced || cached.columns.isReduced ? `A pixel covers ${reduction(cached)} weights and shows the largest. Zoom in to see each.` : '',
      });
    }

    // --- The weight under the cross-hair

    describe({r, c}) {
      const {facts} = this.map, weight = facts.weight(r, c);
      if (!facts.isKnown(r, c)) return {weight: 'not kept', rank: `below the ${facts.grid.entries(r).count} that were`};
      return {weight: labels.number(weight), rank: Number.isNaN(weight) ? '–' : `${facts.ranks(r).rank[c]} of ${facts.grid.columns}`};
    }

    inspect(cell) {
      const key = cell ? `${cell.r} ${cell.c} ${this.scale.full}` : '';
      if (key === this.inspected) return;
      this.inspected = key;
      if (cell) inspector.tell(this.inspector, this.termsOf(cell));
      else inspector.hint(this.inspector, 'Point at a cell, or focus the map and press the arrow keys, to read its weight. Click a row’s or column’s label to sort by it.');
    }

    termsOf(cell) {
      const {item} = this.context, {facts, rowNames, columnNames} = this.map, {grid, panel} = facts, terms = [];
      if (cell.r >= 0 && cell.c >= 0) {
        const {weight, rank} = this.describe(cell);
        terms.push([grid.block[0] * grid.block[1] > 1 ? 'Mean weight of the block' : 'Weight', element('span', {class: 'weight', text: weight})], ['Rank in its row', rank]);
      }
      if (cell.r >= 0 && item.row_axis) terms.push([`Row ${placeText(cell.r, grid.block[0], panel.rows)} (${item.row_axis})`, inspector.token(rowNames[cell.r])]);
      if (cell.c >= 0) terms.push([`Column ${placeText(cell.c, grid.block[1], panel.columns)} (${item.column_axis})`, inspector.token(columnNames[cell.c])]);
      if (cell.r >= 0) terms.push(['Largest in this row', this.strongest(cell.r)]);
      return terms;
    }

    strongest(r) {
      const {facts, columnNames} = this.map;
      const weights = [...facts.ranks(r).order.subarray(0, listed)].map(c => [columnNames[c], facts.weight(r, c)]).filter(([, weight]) => weight > 0);
      return weights.length ? inspector.bars(weights, this.scale) : 'none';
    }

    showTip(cell, x, y) {
      this.tip.hidden = !cell;
      if (!cell) return;
      const line = (...parts) => element('div', {}, ...parts), token = name => element('bdi', {text: labels.shorten(name, wholeTip)});
      const {rowNames, columnNames} = this.map, hasRow = cell.r >= 0 && this.context.item.row_axis !== '', lines = [];
      if (cell.r >= 0 && cell.c >= 0) {
        const {weight, rank} = this.describe(cell);
        lines.push(line(element('b', {text: weight}), element('span', {class: 'quiet', text: `  rank ${rank}`})));
      }
      if (hasRow) lines.push(line(token(rowNames[cell.r])));
      if (cell.c >= 0) lines.push(line(hasRow ? '→ ' : '', token(columnNames[cell.c])));
      this.tip.replaceChildren(...lines);
      attend.placeTip(this.tip, x, y, this.frame.clientWidth, this.frame.clientHeight);
    }

    // --- Pointer

    placeOf(event) {
      const box = this.canvas.getBoundingClientRect();
      return {x: event.clientX - box.left, y: event.clientY - box.top};
    }

    press(event) {
      if (!this.map.geometry || event.button !== 0) return;
      const place = this.placeOf(event);
      this.canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, place);
      this.pressed = this.pointers.size === 1 ? place : null;  // of two fingers none clicks
    }

    move(event) {
      if (!this.map.geometry) return;
      const place = this.placeOf(event), before = this.pointers.get(event.pointerId);
      if (before && this.pointers.size === 2) {
        this.pinch(event.pointerId, before, place);
      } else if (before && (!this.pressed || Math.hypot(place.x - this.pressed.x, place.y - this.pressed.y) > dragStart)) {
        this.pressed = null;
        this.canvas.classList.add('dragged');
        this.panBy(before.x - place.x, before.y - place.y);
        this.pointers.set(event.pointerId, place);
      } else if (!before) {
        this.pointAt(place);
      }
    }

    pointAt({x, y}) {
      const start = performance.now();
      this.hover = this.map.at(x, y);
      this.drawOver();
      this.showTip(this.hover, x, y);
      performance.clearMeasures('attend-hover');
      performance.measure('attend-hover', {start});
    }

    release(event) {
      if (!this.pointers.delete(event.pointerId)) return;
      this.canvas.classList.remove('dragged');
      if (!this.pressed || event.type === 'pointercancel' || !this.map.geometry) return;
      const cell = this.map.at(this.pressed.x, this.pressed.y);
      this.pressed = null;
      if (!cell) return;
      if (cell.r < 0) this.toggleSort('rows', cell.c);
      else if (cell.c < 0) this.toggleSort('columns', cell.r);
      else this.choose(cell);
    }

    leave() {
      this.hover = null;
      this.tip.hidden = true;
      this.drawOver();
    }

    pinch(id, before, place) {
      const [other] = [...this.pointers].filter(([number]) => number !== id).map(([, where]) => where);
      const apart = (a, b) => Math.max(10, Math.hypot(a.x - b.x, a.y - b.y));
      this.pointers.set(id, place);
      this.zoomBy(apart(place, other) / apart(before, other), {x: (place.x + other.x) / 2, y: (place.y + other.y) / 2});
    }

    wheel(event) {
      if (!this.map.geometry) return;
      const lines = event.deltaMode === 1 ? 16 : 1, {zoom, most} = this.map.geometry;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        if (zoom <= whole) return;
        event.preventDefault();
        this.panBy((event.deltaX || event.deltaY) * lines, 0);
        return;
      }
      const factor = Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0016));
      if ((factor < 1 && zoom <= whole) || (factor > 1 && zoom >= most * 0.999)) return;  // the page may scroll
      event.preventDefault();
      this.zoomBy(factor, this.placeOf(event));
    }

    zoomBy(factor, around) {
      if (!this.map.geometry) return;
      const {plot, cell, zoom, most, left, top} = this.layout();
      const next = clamp(zoom * factor, 1, most), centre = around || {x: plot.x + plot.width / 2, y: plot.y + plot.height / 2};
      const x = Math.max(0, centre.x - plot.x) / cell.width, y = Math.max(0, centre.y - plot.y) / cell.height;
      this.moveTo(next, left + x - x * zoom / next, top + y - y * zoom / next);
    }

    panBy(x, y) {
      const {cell, zoom, left, top} = this.layout();
      this.moveTo(zoom, left + x / cell.width, top + y / cell.height);
    }

    moveTo(zoom, left, top) {
      const isWhole = zoom <= whole, round = value => Number(Math.max(0, value).toFixed(3)) || null;
      this.context.state.set({zoom: isWhole ? null : Number(zoom.toFixed(4)), left: isWhole ? null : round(left), top: isWhole ? null : round(top)});
    }

    showAll() {
      this.moveTo(1, 0, 0);
    }

    // --- Keys

    key(event) {
      if (!this.map.geometry || event.ctrlKey || event.metaKey || event.altKey) return;
      const action = this.actionOf(event);
      if (!action) return;
      event.preventDefault();
      this.hover = null;
      this.tip.hidden = true;
      action();
    }

    actionOf({key, shiftKey}) {
      const {plot} = this.map.geometry, {columns} = this.map.facts.grid, {cell} = this.settings();  // keys may be faster than frames
      const pan = (x, y) => () => this.panBy(x * plot.width / 5, y * plot.height / 5), go = (down, across) => () => this.step(down, across);
      const arrows = shiftKey ? {ArrowUp: pan(0, -1), ArrowDown: pan(0, 1), ArrowLeft: pan(-1, 0), ArrowRight: pan(1, 0)}
                              : {ArrowUp: go(-1, 0), ArrowDown: go(1, 0), ArrowLeft: go(0, -1), ArrowRight: go(0, 1)};
      const ofCell = cell ? {r: () => this.toggleSort('columns', cell.r), c: () => this.toggleSort('rows', cell.c), Escape: () => this.context.state.set({cell: null})} : {};
      const zoom = {'+': () => this.zoomBy(1.5), '=': () => this.zoomBy(1.5), '-': () => this.zoomBy(1 / 1.5), 0: () => this.showAll()};
      return {...arrows, ...ofCell, ...zoom, PageUp: go(-10, 0), PageDown: go(10, 0), Home: go(0, -columns), End: go(0, columns)}[key];
    }

    step(down, across) {
      const {map} = this, {cell} = this.settings(), {rows, columns} = map.facts.grid, {firstRow, firstColumn} = map.seen();
      const row = cell ? clamp(map.placeOfRow(cell.r) + down, 0, rows - 1) : firstRow, column = cell ? clamp(map.placeOfColumn(cell.c) + across, 0, columns - 1) : firstColumn;
      const next = {r: map.rowAt(row), c: map.columnAt(column)};
      this.choose(next, this.bringIntoView(row, column));
      const {weight, rank} = this.describe(next), tokens = [map.rowNames[next.r], map.columnNames[next.c]].filter(Boolean).map(name => labels.shorten(name, 60));
      this.context.announce(`${tokens.join(', ')}: ${weight}, rank ${rank}`);
    }

    choose({r, c}, more = {}) {
      this.context.state.set({cell: `${r}.${c}`, ...more});
    }

    bringIntoView(row, column) {
      const {plot, cell, left, top, zoom} = this.layout();
      if (zoom <= whole) return {};
      const inside = (start, place, length) => Number(Math.min(place, Math.max(start, place + 1 - length)).toFixed(3));
      return {left: inside(left, column, plot.width / cell.width), top: inside(top, row, plot.height / cell.height)};
    }
  }

  // The third way to sort says by what, once that is chosen.
  function showSort(list, by, what, names) {
    const isCell = by !== '' && by !== 'total';
    list.rename('cell', isCell ? `by ${what} ${Number(by) + 1}: \u2068${labels.shorten(names[by], 16)}\u2069` : 'by the chosen cell');
    list.set(isCell ? 'cell' : by);
  }

  function placeText(place, block, count) {
    return block === 1 ? `${place + 1} of ${count}` : `${place * block + 1} to ${Math.min(count, (place + 1) * block)} of ${count}`;
  }

  function reduction({rows, columns}) {
    const number = axis => (axis.isReduced ? (1 / axis.size).toFixed(1).replace(/\.0$/, '') : '1');
    return `${number(rows)} × ${number(columns)}`;
  }

  attend.views = attend.views || [];
  attend.views.push({
    name: 'matrix',
    title: 'Matrix',
    positions: ['cell', 'zoom', 'left', 'top', 'rows', 'columns'],
    keys: [['↑  ↓  ←  →', 'move the cross-hair'], ['Shift + arrows', 'scroll'], ['+  -  0', 'zoom in, out, see all'], ['r  c', 'sort the columns by this row, the rows by this column'],
           ['Home  End', 'first, last column'], ['Esc', 'let go of the cell']],
    accepts: (record, example, item) => item !== null,
    open: (container, context) => new Matrix(container, context),
  });
})(window.attend = window.attend || {});
