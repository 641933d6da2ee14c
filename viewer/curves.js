// Curves: loss, learning rate, speed and scores of a run, a chart for each quantity, from the lines of its metrics.jsonl. While a run trains
// and the page is served, new lines are asked for.
(function (attend) {
  'use strict';

  const {element, controls, labels, chart} = attend;
  const gutter = {left: 52, right: 12, top: 10, bottom: 22};
  const mostCharts = 100;
  const pause = 2000, longestPause = 15000;  // milliseconds between two questions; longer after failures
  const part = 64 * 1024;                    // bytes; a run that wrote more since the last question may have more to be read at once
  const notQuantities = new Set(['step', 'epoch', 'seconds']);
  const names = {learning_rate: 'learning rate', items_per_second: 'items per second', valid: 'validation', train: 'training'};
  const spell = key => Object.hasOwn(names, key) ? names[key] : labels.shorten(labels.printable(key), 40);

  // --- Lines become curves

  // All lines that were read, kept while one looks at other views.
  const log = {next: 0, lines: 0, unreadable: 0, finished: false, quantities: new Map()};

  function forget() {
    Object.assign(log, {next: 0, lines: 0, unreadable: 0, finished: false, quantities: new Map()});
  }

  const isNumber = value => typeof value === 'number' && Number.isFinite(value);

  // A run that was resumed may write steps again; what it wrote before doesn't hold any more.
  function addPoint(quantity, source, point) {
    if (!log.quantities.has(quantity)) log.quantities.set(quantity, new Map());
    const curves = log.quantities.get(quantity);
    if (!curves.has(source)) curves.set(source, []);
    const points = curves.get(source);
    while (points.length > 0 && point.step !== null && points.at(-1).step !== null && points.at(-1).step >= point.step) points.pop();
    points.push(point);
  }

  function addLine(line) {
    ++log.lines;
    if (line === null || typeof line !== 'object' || Array.isArray(line) || (!isNumber(line.step) && !isNumber(line.seconds))) {
      ++log.unreadable;
      return;
    }
    const number = value => isNumber(value) ? value : null;
    const at = {step: number(line.step), minutes: isNumber(line.seconds) ? line.seconds / 60 : null, epoch: number(line.epoch)};
    for (const [key, value] of Object.entries(line)) {
      if (isNumber(value) && !notQuantities.has(key)) addPoint(key, 'train', {...at, value});
      if (value === null || typeof value !== 'object' || Array.isArray(value)) continue;
      for (const [name, score] of Object.entries(value)) if (isNumber(score)) addPoint(name, key, {...at, value: score});
    }
  }

  // Loss first, how fast it went last.
  function inOrder(quantities) {
    const places = new Map([['loss', -1], ['perplexity', 1], ['learning_rate', 2], ['items_per_second', 3]]), place = name => places.get(name) || 0;
    return [...quantities.keys()].sort((a, b) => place(a) - place(b));
  }

  // The mean of what came before, recent points weighing most; corrected for the start, where little came before.
  function smoothed(points, share) {
    let mean = 0, weight = 0;
    return points.map(point => {
      mean = share * mean + (1 - share) * point.value;
      weight = share * weight + (1 - share);
      return {x: point.x, value: mean / weight};
    });
  }

  // --- The view

  class CurvesView {
    constructor(container, context) {
      Object.assign(this, {context, container, charts: new Map(), cursor: null, timer: null, failures: 0, isClosed: false, places: []});
      this.build();
      this.onVisibility = () => { if (!document.hidden) this.ask(); };
      document.addEventListener('visibilitychange', this.onVisibility);
      this.drawn = this.ask();
    }

    build() {
      const set = name => value => this.context.state.set({[name]: value}), showShare = share => share === 0 ? 'none' : share.toFixed(2);
      this.axis = controls.choice({label: 'Along', options: [['steps', 'steps'], ['minutes', 'minutes']], value: 'steps', change: set('along')});
      this.scale = controls.choice({label: 'Loss', options: [['linear', 'linear'], ['log', 'logarithmic']], value: 'linear', change: set('loss')});
      this.smoothing = controls.slider({label: 'Smoothing', min: 0, max: 0.98, step: 0.02, value: 0, show: showShare, change: set('smoothing')});
      this.status = element('p', {class: 'curves-status quiet', role: 'status'});
      this.readOut = element('p', {class: 'read-out', dataset: {role: 'read-out'}});
      this.host = element('div', {class: 'curves', tabindex: 0, role: 'group', 'aria-label': 'Curves of the run. Left and right arrow keys move along them.'});
      this.empty = element('p', {class: 'empty', hidden: true});
      this.table = element('table', {class: 'last-values'});
      this.container.append(controls.bar(this.axis, this.scale, this.smoothing), this.status, this.readOut, this.empty, this.host, this.table);
      this.host.addEventListener('pointermove', event => this.pointAt(event));
      this.host.addEventListener('pointerdown', event => this.pointAt(event));
      this.host.addEventListener('pointerleave', event => {
        if (event.pointerType === 'mouse' && !this.host.matches(':focus-visible')) this.setCursor(null);
      });
      this.host.addEventListener('keydown', event => this.pressed(event));
    }

    settings() {
      const {state} = this.context;
      return {
        along: state.get('along', 'steps', ['steps', 'minutes']), log: state.get('loss', 'linear', ['linear', 'log']) === 'log',
        smoothing: state.get('smoothing', 0, value => value >= 0 && value <= 0.98),
      };
    }

    // --- Asking

    async ask() {
      clearTimeout(this.timer);
      const {context} = this;
      if (this.isClosed || this.isAsking) return;
      if (log.lines > 0 && (log.finished || !context.record.served)) {
        this.refill();
        return;
      }
      this.isAsking = true;
      const from = log.next;
      try {
        this.take(await context.source.json(`metrics?from=${from}`));
        this.failures = 0;
        this.problem = '';
      } catch (error) {
        ++this.failures;
        this.problem = error.message;
      }
      this.isAsking = false;
      if (this.isClosed) return;
      this.refill();
      if (context.record.served && !log.finished && !document.hidden) {
        this.timer = setTimeout(() => this.ask(), log.next - from >= part ? 0 : Math.min(longestPause, pause * 2 ** this.failures));
      }
    }

    take(answer) {
      if (answer === null || typeof answer !== 'object' || !Array.isArray(answer.lines)) {
        throw new Error('Expected the lines of metrics.jsonl, got something else. Page and server are of different versions: reload.');
      }
      if (isNumber(answer.next) && answer.next < log.next) {
        forget();  // the file was begun anew
        return;
      }
      answer.lines.forEach(addLine);
      if (isNumber(answer.next)) log.next = answer.next;
      const wasRunning = !log.finished && this.context.record.served && log.lines > 0;
      log.finished = answer.finished === true;
      if (log.finished && wasRunning && this.charts.size > 0) this.context.announce('The training has finished.');
    }

    // --- What is shown

    update() {
      if (!this.axis) return;
      const {along, log: isLog, smoothing} = this.settings();
      this.axis.set(along);
      this.scale.set(isLog ? 'log' : 'linear');
      this.smoothing.set(smoothing);
      this.scale.hidden = !log.quantities.has('loss');
      this.prepare();
      for (const one of this.charts.values()) one.surface.redraw();
      this.fillReadOut();
    }

    refill() {
      const wanted = inOrder(log.quantities).slice(0, mostCharts);
      if (wanted.join('\n') !== [...this.charts.keys()].join('\n')) this.makeCharts(wanted);
      this.fillStatus();
      this.fillTable();
      this.update();
    }

    makeCharts(wanted) {
      for (const one of this.charts.values()) one.surface.close();
      this.charts.clear();
      for (const name of wanted) {
        const values = element('span', {class: 'curve-values'}), caption = element('figcaption', {}, element('h3', {text: spell(name)}), values);
        const surface = chart.surface({height: 190, draw: (c, width, height) => this.draw(c, width, height, name)});
        this.charts.set(name, {surface, values, element: element('figure', {class: 'curve', dataset: {quantity: name}}, caption, surface.element)});
      }
      this.host.replaceChildren(...[...this.charts.values()].map(one => one.element));
    }

    // Smoothed curves and the places of all points, once for each change of lines or settings.
    prepare() {
      const {along, smoothing} = this.settings(), key = along === 'steps' ? 'step' : 'minutes';
      const places = new Map();
      this.curves = new Map();
      for (const [name, sources] of log.quantities) {
        const curves = [];
        for (const [source, all] of sources) {
          const raw = all.filter(point => point[key] !== null);
          for (const point of raw) point.x = point[key];
          raw.sort((a, b) => a.x - b.x);
          for (const point of raw) places.set(point.x, point);
          const isSmoothed = smoothing > 0 && source === 'train' && name !== 'learning_rate' && raw.length > 2;
          curves.push({source, raw, shown: isSmoothed ? smoothed(raw, smoothing) : raw, isSmoothed});
        }
        this.curves.set(name, curves);
      }
      this.places = [...places.values()].sort((a, b) => a.x - b.x);
      this.limits = this.places.length > 0 ? {low: Math.min(0, this.places[0].x), high: this.places.at(-1).x} : {low: 0, high: 1};
      if (this.limits.high <= this.limits.low) this.limits.high = this.limits.low + 1;
    }

    fillStatus() {
      this.host.hidden = this.table.hidden = log.quantities.size === 0;
      this.empty.hidden = log.quantities.size > 0;
      const isOver = log.finished || !this.context.record.served;
      this.empty.textContent = this.problem ? '' : `This run has written no metrics${isOver ? '' : ' yet. They appear here as soon as it does'}.`;
      const bad = log.unreadable > 0 ? ` ${log.unreadable} of ${log.lines} lines could not be read and are left out.` : '';
      const more = log.quantities.size > mostCharts ? ` ${mostCharts} of ${log.quantities.size} quantities are shown.` : '';
      let text = 'The run has finished.';
      if (!this.context.record.served) text = '';
      else if (!log.finished) text = log.quantities.size > 0 ? 'Training: new lines appear as they are written.' : '';
      if (this.problem) text = `${this.problem} Asking again.`;
      const shown = (text + bad + more).trim();
      if (this.status.textContent !== shown) this.status.textContent = shown;
      this.status.hidden = shown === '';
      this.status.classList.toggle('live', this.context.record.served && !log.finished && !this.problem && log.quantities.size > 0);
      this.status.classList.toggle('problem', Boolean(this.problem));
    }

    fillTable() {
      const rows = inOrder(log.quantities).slice(0, mostCharts).map(name => {
        const sources = log.quantities.get(name), last = source => (sources.get(source) || []).at(-1);
        // Where a run was validated, that is what its best is judged by.
        const [, points] = [...sources].find(([source]) => source !== 'train') || [...sources][0];
        const best = isBetter => points.reduce((found, point) => isBetter(point.value, found.value) ? point : found, points[0]);
        return element('tr', {dataset: {quantity: name}}, element('th', {scope: 'row', text: spell(name)}), valueCell(last('train')), valueCell(last('valid')),
          valueCell(best((a, b) => a < b), true), valueCell(best((a, b) => a > b), true));
      });
      const headings = ['training', 'validation', 'lowest', 'highest'].map(text => element('th', {scope: 'col', text}));
      this.table.replaceChildren(element('caption', {text: 'Last values'}),
        element('thead', {}, element('tr', {}, element('td'), ...headings)), element('tbody', {}, ...rows));
    }

    // The point of a curve that is nearest to the cursor; the last one where there is none.
    pointOf(points) {
      if (points.length === 0) return null;
      if (this.cursor === null) return points.at(-1);
      let low = 0, high = points.length - 1;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (points[middle].x < this.cursor) low = middle + 1;
        else high = middle;
      }
      return low > 0 && this.cursor - points[low - 1].x < points[low].x - this.cursor ? points[low - 1] : points[low];
    }

    fillReadOut() {
      for (const [name, one] of this.charts) {
        const colours = chart.palette(), curves = this.curves.get(name) || [];
        one.values.replaceChildren(...curves.filter(curve => curve.raw.length > 0).map(curve => {
          const point = this.pointOf(curve.raw), key = element('span', {class: 'curve-key'});
          key.style.background = colourOf(curve.source, colours);
          const where = this.cursor !== null && point.x !== this.cursor && point.step !== null ? ` (step ${point.step})` : '';
          return element('span', {class: 'curve-value'}, key, `${spell(curve.source)} ${labels.number(point.value)}${where}`);
        }));
      }
      const place = this.cursor === null ? this.places.at(-1) : this.places.find(point => point.x === this.cursor);
      this.readOut.textContent = place ? (this.cursor === null ? 'Last: ' : '') + placeText(place) : '';
      this.readOut.hidden = !place;
    }

    // --- The cursor

    setCursor(x) {
      if (x === this.cursor) return;
      this.cursor = x;
      for (const one of this.charts.values()) one.surface.redraw();
      this.fillReadOut();
    }

    pointAt(event) {
      const canvas = event.target.closest('.curve')?.querySelector('canvas');
      if (!canvas || this.places.length === 0) return;
      const box = canvas.getBoundingClientRect(), width = box.width - gutter.left - gutter.right;
      const x = this.limits.low + (event.clientX - box.left - gutter.left) / width * (this.limits.high - this.limits.low);
      this.setCursor(this.places.reduce((best, place) => Math.abs(place.x - x) < Math.abs(best.x - x) ? place : best).x);
    }

    pressed(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || this.places.length === 0) return;
      const last = this.places.length - 1, by = event.shiftKey ? 10 : 1;
      const here = this.cursor === null ? last + 1 : this.places.findIndex(place => place.x === this.cursor);
      const to = {ArrowLeft: here - by, ArrowRight: this.cursor === null ? 0 : here + by, Home: 0, End: last}[event.key];
      if (event.key === 'Escape' && this.cursor !== null) this.setCursor(null);
      else if (to !== undefined) this.setCursor(this.places[chart.clamp(to, 0, last)].x);
      else return;
      event.preventDefault();
      const values = [...this.charts].map(([name, one]) => `${spell(name)}: ${[...one.values.children].map(value => value.textContent).join(', ')}`);
      if (this.cursor !== null) this.context.announce([this.readOut.textContent, ...values].join('; '));
    }

    // --- Drawing

    draw(c, width, height, name) {
      const curves = (this.curves.get(name) || []).filter(curve => curve.raw.length > 0);
      const plot = {left: gutter.left, width: width - gutter.left - gutter.right, top: gutter.top, height: height - gutter.top - gutter.bottom};
      if (plot.width < 10 || curves.length === 0) return;
      const isLog = name === 'loss' && this.settings().log, range = rangeOf(curves, isLog, name), colours = chart.palette();
      const toUnit = isLog ? value => Math.log(value / range.low) / Math.log(range.high / range.low) : value => (value - range.low) / (range.high - range.low);
      const y = value => plot.top + (1 - toUnit(value)) * plot.height;
      const x = value => plot.left + (value - this.limits.low) / (this.limits.high - this.limits.low) * plot.width;
      if (isLog) chart.logLevels(c, plot, range.low, range.high, y, colours);
      else chart.levels(c, plot, range.low, range.high, y, colours);
      this.drawAxis(c, plot, x, colours);
      c.save();
      c.beginPath();
      c.rect(plot.left - 4, 0, plot.width + 8, plot.top + plot.height + 4);
      c.clip();
      for (const curve of curves) drawCurve(c, curve, x, isLog ? value => value > 0 ? y(value) : NaN : y, colourOf(curve.source, colours));
      this.drawCursor(c, plot, curves, x, y, colours);
      c.restore();
    }

    drawAxis(c, plot, x, colours) {
      const {along} = this.settings(), marks = chart.ticks(this.limits.low, this.limits.high, plot.width / 70);
      const step = marks.length > 1 ? marks[1] - marks[0] : 1;
      c.direction = 'ltr';
      c.textAlign = 'center';
      c.textBaseline = 'top';
      c.fillStyle = colours.quiet;
      for (const mark of marks) {
        const text = chart.tickText(mark, step) + (along === 'minutes' && mark === marks.at(-1) ? ' min' : ''), half = c.measureText(text).width / 2;
        c.fillText(text, Math.min(x(mark), plot.left + plot.width + gutter.right - half), plot.top + plot.height + 6);
      }
    }

    drawCursor(c, plot, curves, x, y, colours) {
      if (this.cursor === null) return;
      c.fillStyle = colours.quiet;
      c.fillRect(Math.round(x(this.cursor)), plot.top, 1, plot.height);
      for (const curve of curves) {
        const point = this.pointOf(curve.shown);
        c.fillStyle = colourOf(curve.source, colours);
        c.strokeStyle = colours.paper;
        c.lineWidth = 1.5;
        c.beginPath();
        c.arc(x(point.x), y(point.value), 4, 0, Math.PI * 2);
        c.fill();
        c.stroke();
      }
      c.lineWidth = 1;
    }

    close() {
      this.isClosed = true;
      clearTimeout(this.timer);
      document.removeEventListener('visibilitychange', this.onVisibility);
      for (const one of this.charts.values()) one.surface.close();
    }
  }

  const colourOf = (source, colours) => source === 'train' ? colours.accent : colours.second;

  function placeText({step, minutes, epoch}) {
    const parts = [];
    if (step !== null) parts.push(`step ${step}`);
    if (minutes !== null) parts.push(minutes < 1 ? `${(minutes * 60).toFixed(0)} s` : `${minutes.toFixed(1)} min`);
    if (epoch !== null) parts.push(`epoch ${epoch}`);
    return parts.join(', ');
  }

  function valueCell(point, withStep = false) {
    if (!point) return element('td', {class: 'quiet', text: '–'});
    const cell = element('td', {text: labels.number(point.value)});
    if (withStep && point.step !== null) cell.append(element('span', {class: 'quiet', text: ` at ${point.step}`}));
    return cell;
  }

  // A little more than what is seen; from 0 where that is near.
  function rangeOf(curves, isLog, name) {
    let low = Infinity, high = -Infinity;
    for (const {raw} of curves) {
      for (const {value} of raw) {
        if (isLog && value <= 0) continue;
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
    }
    if (low > high) return isLog ? {low: 0.1, high: 1} : {low: 0, high: 1};
    if (isLog) return high > low ? {low: low / 1.08, high: high * 1.08} : {low: low / 2, high: high * 2};
    if (high === low) return {low: low - Math.abs(low || 1) * 0.5, high: high + Math.abs(high || 1) * 0.5};
    const edge = (high - low) * 0.06, isNearZero = low >= 0 && (low < (high - low) * 0.5 || name === 'learning_rate');
    return {low: isNearZero ? 0 : low - edge, high: high + edge};
  }

  function drawCurve(c, curve, x, y, colour) {
    c.strokeStyle = colour;
    c.lineJoin = 'round';
    if (curve.isSmoothed) {
      c.globalAlpha = 0.3;
      c.lineWidth = 1;
      drawLine(c, curve.raw, x, y);
      c.globalAlpha = 1;
    }
    c.lineWidth = 1.75;
    drawLine(c, curve.shown, x, y);
    c.lineWidth = 1;
    if (curve.shown.length > 40) return;
    c.fillStyle = colour;
    for (const point of curve.shown) {
      const at = y(point.value);
      if (Number.isNaN(at)) continue;
      c.beginPath();
      c.arc(x(point.x), at, 2.5, 0, Math.PI * 2);
      c.fill();
    }
  }

  // Of the points that share a pixel, the first, the lowest, the highest and the last are enough.
  function drawLine(c, points, x, y) {
    let isBroken = true, pixel = null, low = NaN, high = NaN, last = NaN;
    const leave = () => {
      if (pixel === null) return;
      c.lineTo(pixel, low);
      c.lineTo(pixel, high);
      c.lineTo(pixel, last);
    };
    c.beginPath();
    for (const point of points) {
      const at = y(point.value), place = Math.round(x(point.x) * 2) / 2;
      if (Number.isNaN(at)) {
        leave();
        [isBroken, pixel] = [true, null];
      } else if (place !== pixel) {
        leave();
        if (isBroken) c.moveTo(place, at);
        else c.lineTo(place, at);
        [isBroken, pixel, low, high, last] = [false, place, at, at, at];
      } else {
        [low, high, last] = [Math.max(low, at), Math.min(high, at), at];
      }
    }
    leave();
    c.stroke();
  }

  attend.views = attend.views || [];
  attend.views.push({
    name: 'curves', title: 'Curves',
    accepts: record => Boolean(record.has_metrics),
    open: (container, context) => new CurvesView(container, context),
    keys: [['←  →', 'point before, next (with shift: ten)'], ['Home  End', 'first, last point'], ['Escape', 'last values again']],
  });
})(window.attend = window.attend || {});
