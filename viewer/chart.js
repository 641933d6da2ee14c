// What the views that draw curves, bars and pictures share: canvases that stay sharp, round numbers for axes, and a cursor over places in a
// row that can be moved and enlarged with pointer and keys.
//
// attend.chart.palette()               colours as CSS texts: ink, quiet, line, paper, accent, second, accentSoft, missing
// attend.chart.mix(a, b, part)         a colour between two
// attend.chart.clamp(value, low, high)
// attend.chart.surface({height, draw, class, seen})   see makeSurface()
// attend.chart.ticks(low, high, most)  round numbers from low to high, at most about `most`
// attend.chart.roundUp(high, most)      a round number above `high`, to end an axis there; `high` where that would be far
// attend.chart.logTicks(low, high)     powers of ten, with others between where there are few
// attend.chart.tickText(value, step)   a tick with as many digits as its distance to the next one needs
// attend.chart.levels(c, plot, low, high, y, colours)   lines across a plot, with their numbers
// attend.chart.logLevels(…)            the same at logTicks()
// attend.chart.fail(view, error)       a view's surfaces and rows give way to the message of what went wrong
// attend.chart.facts(values)           {low, high, mean, count} of the finite ones; at: where the largest lies, −1 where there is none
// attend.chart.remark(panel, r, c)     what is to be said of a weight that wasn't kept; '' where it was
// attend.chart.missing(c, x, y, width, height)   marks what is not a number
// attend.chart.span(count, least)      see makeSpan()
// attend.chart.steer(element, {…})     see steer()
// attend.chart.spanControls({…})       buttons that enlarge, see spanControls()
(function (attend) {
  'use strict';

  const {element, colours} = attend;

  function mix(a, b, part) {
    return a.map((channel, place) => Math.round(channel + (b[place] - channel) * part));
  }

  function palette() {
    const dark = colours.isDark(), ink = colours.ink(), paper = colours.paper(), accent = colours.accent();
    return {
      ink: colours.css(ink), paper: colours.css(paper), quiet: colours.css(mix(ink, paper, 0.35)), line: colours.css(mix(ink, paper, 0.86)),
      accent: colours.css(accent), accentSoft: colours.css(mix(accent, paper, 0.72)), second: dark ? 'rgb(240, 168, 96)' : 'rgb(176, 84, 8)',
      missing: colours.css(colours.missing()),
    };
  }

  // --- Canvases

  const surfaces = new Set();

  function drawAll() {
    for (const surface of surfaces) surface.drawNow();
  }
  window.addEventListener('beforeprint', drawAll);

  // A canvas as wide as its place, `height` pixels high (a number, or a function of the width), drawn by draw(c, width, height) in CSS pixels.
  // It is drawn anew after redraw() and when its place changes, at most once a frame, and only while it is near what is seen: hundreds of
  // them cost no more than those on the screen. `seen`: false where it surely lies below what is seen at first. `element` is to be put into
  // the page; close() ends it.
  function makeSurface({height, draw, class: name = '', seen = true}) {
    const canvas = element('canvas', {'aria-hidden': 'true'});
    const made = element('div', {class: `surface ${name}`.trim()}, canvas);
    let frame = 0, isNear = seen, isClosed = false, drawnWidth = 0;

    function drawNow() {
      cancelAnimationFrame(frame);
      frame = 0;
      const width = made.clientWidth;
      if (isClosed || width === 0) return;
      const tall = Math.max(1, Math.round(typeof height === 'function' ? height(width) : height));
      drawnWidth = width;
      const c = attend.fitCanvas(canvas, width, tall);
      c.font = attend.font(11);
      draw(c, width, tall);
    }

    function redraw() {
      if (frame === 0 && isNear && !isClosed) frame = requestAnimationFrame(drawNow);
    }

    function reserve() {
      if (typeof height === 'number') canvas.style.height = `${height}px`;
    }

    const sizes = new ResizeObserver(() => { if (made.clientWidth !== drawnWidth) redraw(); });
    const places = new IntersectionObserver(entries => {
      isNear = entries.at(-1).isIntersecting;
      if (isNear) redraw();
      else canvas.width = canvas.height = 1;  // gives its memory back
    }, {rootMargin: '400px'});
    const surface = {
      element: made, canvas, redraw, drawNow,
      close() {
        isClosed = true;
        cancelAnimationFrame(frame);
        sizes.disconnect();
        places.disconnect();
        surfaces.delete(surface);
      },
    };
    reserve();
    surfaces.add(surface);
    sizes.observe(made);
    places.observe(made);
    return surface;
  }

  // --- Axes

  function roundStep(span, most) {
    const rough = span / Math.max(1, most), power = 10 ** Math.floor(Math.log10(rough));
    const factor = [1, 2, 5, 10].find(one => one * power >= rough * (1 - 1e-9));
    return factor * power;
  }

  function ticks(low, high, most) {
    if (!Number.isFinite(low) || !Number.isFinite(high) || high < low) return [];
    if (high === low) return [low];
    const step = roundStep(high - low, most), found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) found.push(Number((i * step).toPrecision(12)));
    return found;
  }

  // The next round number above, where that leaves little room empty.
  function roundUp(high, most) {
    const step = roundStep(high, most), round = Math.ceil(high / step - 1e-9) * step;
    return round <= high * 1.2 ? round : high;
  }

  function logTicks(low, high) {
    const found = [], decades = Math.log10(high / low);
    const factors = decades > 3 ? [1] : decades > 0.7 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 7];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
      for (const factor of factors) {
        const tick = Number((factor * 10 ** power).toPrecision(12));
        if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) found.push(tick);
      }
    }
    return found;
  }

  function tickText(value, step) {
    if (value === 0) return '0';
    const size = Math.abs(value);
    let text;
    if (size >= 1e6 || size < 1e-4) text = value.toExponential(1).replace('.0e', 'e').replace('e+', 'e');
    else if (size >= 10000 && value % 100 === 0) text = `${value / 1000}k`;
    else text = value.toFixed(step ? Math.max(0, Math.min(6, Math.ceil(-Math.log10(step) - 1e-9))) : 0);
    return text.replaceAll('-', '−');
  }

  // Lines across a plot {left, top, width, height} at round numbers, which y() puts in their places.
  function levels(c, plot, low, high, y, colours) {
    const marks = ticks(low, high, plot.height / 34), step = marks.length > 1 ? marks[1] - marks[0] : 0;
    drawLevels(c, plot, marks, () => step, y, colours);
  }

  function logLevels(c, plot, low, high, y, colours) {
    drawLevels(c, plot, logTicks(low, high), mark => Math.min(mark, 1), y, colours);
  }

  function drawLevels(c, plot, marks, stepOf, y, colours) {
    c.textAlign = 'right';
    c.textBaseline = 'middle';
    c.direction = 'ltr';
    for (const mark of marks) {
      const line = Math.round(y(mark)) + 0.5;
      c.strokeStyle = colours.line;
      c.beginPath();
      c.moveTo(plot.left, line);
      c.lineTo(plot.left + plot.width, line);
      c.stroke();
      c.fillStyle = colours.quiet;
      c.fillText(tickText(mark, stepOf(mark)), plot.left - 6, line);
    }
  }

  function facts(values) {
    let low = Infinity, high = -Infinity, sum = 0, count = 0, at = -1;
    for (let i = 0; i < values.length; ++i) {
      const value = values[i];
      if (!Number.isFinite(value)) continue;
      if (value > high) [high, at] = [value, i];
      if (value < low) low = value;
      sum += value;
      ++count;
    }
    return count ? {low, high, mean: sum / count, count, at} : {low: 0, high: 0, mean: NaN, count, at};
  }

  function remark(panel, r, c) {
    if (panel.known(r, c)) return '';
    return panel.form === 'top-k' ? ' (not kept: smaller than the kept ones)' : ' (mean of its block)';
  }

  // Stripes on a colour off the ramp: seen without colours too.
  function missing(c, x, y, width, height) {
    c.save();
    c.fillStyle = colours.css(colours.missing());
    c.fillRect(x, y, Math.max(1, width), height);
    if (width >= 3) {
      c.beginPath();
      c.rect(x, y, width, height);
      c.clip();
      c.strokeStyle = colours.css(mix(colours.missing(), colours.ink(), 0.35));
      c.beginPath();
      // one phase for the whole canvas, so that neighbours join
      for (let line = Math.floor((x + y) / 6) * 6; line < x + width + y + height; line += 6) {
        c.moveTo(line - y, y);
        c.lineTo(line - y - height, y + height);
      }
      c.stroke();
    }
    c.restore();
  }

  // --- A cursor over places in a row

  const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

  // `count` places, of which those from `from` to `to` are seen, never fewer than `least`, and one under the cursor (null: none).
  function makeSpan(count, least = 8) {
    const smallest = Math.min(count, least);
    let from = 0, to = count, cursor = null;

    function show(start, size) {
      const width = clamp(size, smallest, count);
      from = clamp(start, 0, count - width);
      to = from + width;
    }

    function keepCursor() {
      if (cursor === null || to - from >= count) return;
      if (cursor < from) show(cursor, to - from);
      if (cursor + 1 > to) show(cursor + 1 - (to - from), to - from);
    }

    return {
      count,
      get from() { return from; },
      get to() { return to; },
      get size() { return to - from; },
      get cursor() { return cursor; },
      get isWhole() { return to - from >= count; },
      show,
      showAll: () => show(0, count),
      pan: places => show(from + places, to - from),
      // Keeps `around`, a place that may lie between two, where it is.
      zoom(factor, around = cursor === null ? (from + to) / 2 : cursor + 0.5) {
        const size = clamp((to - from) * factor, smallest, count);
        show(around - (around - from) / (to - from) * size, size);
        if (cursor !== null && around >= cursor && around <= cursor + 1) keepCursor();
      },
      moveTo(place) {
        cursor = place === null || count === 0 ? null : clamp(Math.round(place), 0, count - 1);
        keepCursor();
      },
    };
  }

  function keyMoves(span, event) {
    const page = Math.max(1, Math.floor(span.size / 2)), step = event.shiftKey ? 10 : 1;
    const here = span.cursor === null ? Math.floor(span.from) : span.cursor, first = span.cursor === null;
    switch (event.key) {
      case 'ArrowLeft': return () => span.moveTo(first ? here : here - step);
      case 'ArrowRight': return () => span.moveTo(first ? here : here + step);
      case 'PageUp': return () => span.moveTo(here - page);
      case 'PageDown': return () => span.moveTo(here + page);
      case 'Home': return () => span.moveTo(0);
      case 'End': return () => span.moveTo(span.count - 1);
      case '+': case '=': return () => span.zoom(0.5);
      case '-': case '_': return () => span.zoom(2);
      case 'Escape': return span.cursor === null ? null : () => span.moveTo(null);
      default: return null;
    }
  }

  // Pointer, wheel and keys on `host` (focusable) move the cursor and what is seen of span(), over rows: elements with data-row.
  //   span()              what is steered now
  //   plot(row element)   {left, width} of the drawn places, in pixels from the left edge of the row's canvas
  //   rows()              number of rows. data-row may be empty: what lies there belongs to whichever row the cursor is in
  //   row(), setRow(r)    the row of the cursor
  //   moved(how)          after any change; how: 'pointer' or 'key'
  function steer(host, {span, plot, rows, row, setRow, moved}) {
    let drag = null;

    function placeUnder(event, target) {
      const {left, width} = plot(target), x = event.clientX - target.querySelector('canvas').getBoundingClientRect().left - left;
      return span().from + x / width * span().size;
    }
    const rowUnder = event => event.target.closest('[data-row]');

    host.addEventListener('pointerdown', event => {
      const target = rowUnder(event);
      if (!target || event.button !== 0) return;
      drag = {x: event.clientX, from: span().from, width: plot(target).width, moved: false};
    });
    host.addEventListener('pointermove', event => {
      if (drag && event.buttons === 1 && !span().isWhole) {
        if (!drag.moved && Math.abs(event.clientX - drag.x) > 3) {
          drag.moved = true;
          host.setPointerCapture(event.pointerId);
        }
        if (drag.moved) {
          span().show(drag.from - (event.clientX - drag.x) / drag.width * span().size, span().size);
          moved('pointer');
          return;
        }
      }
      const target = rowUnder(event);
      if (!target || span().count === 0) return;
      const place = Math.floor(placeUnder(event, target));
      if (place < Math.floor(span().from) || place >= Math.ceil(span().to)) return;
      const number = target.dataset.row === '' ? row() : Number(target.dataset.row);
      if (place === span().cursor && number === row()) return;
      setRow(number);
      span().moveTo(place);
      moved('pointer');
    });
    const endDrag = () => { drag = null; };
    host.addEventListener('pointerup', endDrag);
    host.addEventListener('pointercancel', endDrag);
    host.addEventListener('pointerleave', event => {
      if (event.pointerType !== 'mouse' || drag || host.matches(':focus-visible') || span().cursor === null) return;
      span().moveTo(null);
      moved('pointer');
    });
    host.addEventListener('wheel', event => {
      const target = rowUnder(event), sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : event.shiftKey ? event.deltaY : 0;
      if (!target || span().count === 0) return;
      if (event.ctrlKey) span().zoom(2 ** clamp(event.deltaY / 200, -1, 1), placeUnder(event, target));
      else if (sideways !== 0 && !span().isWhole) span().pan(sideways / plot(target).width * span().size);
      else return;
      event.preventDefault();
      moved('pointer');
    }, {passive: false});
    host.addEventListener('keydown', event => {
      if (event.target !== host || event.ctrlKey || event.metaKey || event.altKey || span().count === 0) return;
      const up = {ArrowUp: -1, ArrowDown: 1}[event.key];
      const move = up === undefined ? keyMoves(span(), event) : rows() > 1 ? () => {
        setRow(clamp(row() + (span().cursor === null ? 0 : up), 0, rows() - 1));
        span().moveTo(span().cursor === null ? Math.floor(span().from) : span().cursor);
      } : null;
      if (!move) return;
      event.preventDefault();
      move();
      moved('key');
    });
  }

  // Buttons for what the wheel does with the control key. text(from, to) names what is seen, from 1. update() after any change.
  function spanControls({span, changed, text}) {
    const button = (text, label, action, key = '') => element('button', {
      type: 'button', class: 'control', text, 'aria-label': label, title: label + key,
      on: {
        click() {
          action(span());
          changed();
        },
      },
    });
    const smaller = button('−', 'Show more at once', one => one.zoom(2), ' (−)');
    const larger = button('+', 'Enlarge', one => one.zoom(0.5), ' (+, or control and wheel)');
    const left = button('‹', 'Further to the left', one => one.pan(-one.size / 2)), right = button('›', 'Further to the right', one => one.pan(one.size / 2));
    const shown = element('output', {class: 'span-shown'});
    const made = element('div', {class: 'control span-controls', role: 'group', 'aria-label': 'Part that is seen'}, smaller, larger, left, right, shown);
    const update = () => {
      const one = span();
      made.hidden = one.count <= 8;
      smaller.disabled = one.isWhole;
      larger.disabled = one.size <= Math.min(one.count, 8);
      left.disabled = one.from <= 0;
      right.disabled = one.to >= one.count;
      shown.textContent = one.isWhole ? `all ${one.count}` : text(Math.floor(one.from), Math.ceil(one.to) - 1);
    };
    return {element: made, update};
  }

  function fail(view, error) {
    if (view.isClosed) return;
    for (const surface of view.surfaces) surface.close();
    Object.assign(view, {surfaces: [], rows: [], panel: null, shown: null});
    view.host.replaceChildren(element('p', {class: 'empty problem', role: 'alert', text: error.message}));
    view.readOut.textContent = '';
  }

  attend.chart = {
    palette, mix, surface: makeSurface, ticks, roundUp, logTicks, tickText, levels, logLevels, fail, facts, remark, missing, span: makeSpan, steer, spanControls, clamp,
  };
})(window.attend = window.attend || {});
