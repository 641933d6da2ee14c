// Tokens and names as they may be shown. Tokens are texts by strangers, in any script and of any length.
//
// attend.labels.printable(token)           controls and marks that turn the direction made visible, spaces alone as ␣; '' becomes ∅
// attend.labels.direction(text)            'rtl' or 'ltr', by the first letter that has a direction
// attend.labels.shorten(text, n)           at most n characters as people count them, with … where something is missing
// attend.labels.along(example, axis, n)    n labels: the tokens of `source` or `target`, else '1', '2', …
// attend.labels.rows(example, item), columns(example, item)
// attend.labels.blocks(names, size)        'first … last' of each `size` of them
// attend.labels.panel(example, item, p)    'head 2 of 8', 'target 3 of 9: chat, head 1 of 2'; '' where there is one panel
// attend.labels.shortPanel(example, item, p)  'head 2', 'chat, head 1'
// attend.labels.item(item)                 'decoder.attention', 'encoder.self_attention, layer 2'
// attend.labels.number(value)              a weight with as many digits as can be read
// attend.labels.count(value)               '12,345'
// attend.labels.draw(c, text, x, y, width, align)   writes on a canvas, elided to `width`, in the text's own direction
(function (attend) {
  'use strict';

  const controls = /[\u0000-\u001F\u007F]/g;
  const unsafe = /[\u0080-\u009F\u2028\u2029\u202A-\u202E\u2066-\u2069\uFFF9-\uFFFB]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;
  const rightToLeft = /^[^\p{L}]*[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}\p{Script=Samaritan}\p{Script=Mandaic}]/u;
  const segmenter = new Intl.Segmenter(undefined, {granularity: 'grapheme'});

  function printable(token) {
    if (token === '') return '∅';
    if (/^ +$/.test(token)) return '␣'.repeat(token.length);
    const safe = token.replace(controls, c => String.fromCharCode(c === '\u007F' ? 0x2421 : 0x2400 + c.charCodeAt(0))).replace(unsafe, '\uFFFD');
    return /^\p{M}/u.test(safe) ? '◌' + safe : safe;
  }

  const direction = text => rightToLeft.test(text.slice(0, 200)) ? 'rtl' : 'ltr';

  function shorten(text, limit) {
    if (text.length <= limit) return text;
    let kept = '', count = 0;
    // A grapheme can be arbitrarily long in theory; a slice bounds the work.
    for (const {segment} of segmenter.segment(text.slice(0, limit * 16))) {
      if (++count > limit) return kept + '…';
      kept += segment;
    }
    return kept.length < text.length ? kept + '…' : kept;
  }

  function tokensAlong(example, axis) {
    if (axis === 'source') return example.source;
    if (axis === 'target') return example.target;
    return null;
  }

  function along(example, axis, length) {
    const tokens = tokensAlong(example, axis);
    if (tokens && tokens.length === length) return tokens.map(printable);
    return Array.from({length}, (_, i) => String(i + 1));
  }

  const rows = (example, item) => item.row_axis === '' ? [''] : along(example, item.row_axis, item.rows);
  const columns = (example, item) => along(example, item.column_axis, item.columns);

  // Places of the panel on the axes before the last two, as [axis, place, length].
  function placesOf(item, panel) {
    const places = [];
    for (let axis = item.axes.length - 3, rest = panel; axis >= 0; --axis) {
      const length = item.shape[axis];
      places.unshift([item.axes[axis], rest % length, length]);
      rest = Math.floor(rest / length);
    }
    return places;
  }

  function panelLabel(example, item, panel) {
    return placesOf(item, panel).filter(([, , length]) => length > 1).map(([axis, place, length]) => {
      const tokens = tokensAlong(example, axis);
      return `${axis} ${place + 1} of ${length}` + (tokens ? `: ${shorten(printable(tokens[place]), 40)}` : '');
    }).join(', ');
  }

  // The same in few characters: 'head 2', 'chat, head 1'.
  function shortPanelLabel(example, item, panel) {
    return placesOf(item, panel).filter(([, , length]) => length > 1).map(([axis, place]) => {
      const tokens = tokensAlong(example, axis);
      return tokens ? shorten(printable(tokens[place]), 12) : `${axis} ${place + 1}`;
    }).join(', ');
  }

  // Of blocks of `size` labels each: the first and the last of them.
  function blocks(names, size) {
    if (size === 1) return names;
    const made = [];
    for (let first = 0; first < names.length; first += size) {
      const last = Math.min(names.length, first + size) - 1;
      made.push(first === last ? names[first] : `${shorten(names[first], 40)} … ${shorten(names[last], 40)}`);
    }
    return made;
  }

  const itemLabel = item => shorten(printable(item.module), 60) + (item.layer > 0 ? `, layer ${item.layer}` : '');

  function number(value) {
    if (Number.isNaN(value)) return 'not a number';
    if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
    const size = Math.abs(value);
    const text = size === 0 ? '0' : size < 0.0001 || size >= 10000 ? Number(value.toPrecision(3)).toExponential().replace('e+', 'e') : String(Number(value.toPrecision(4)));
    return text.replace('-', '−');
  }

  // 12,345
  const count = value => value.toLocaleString('en');

  // Widths are the same as long as the font is; measuring is what costs.
  const elided = new Map();

  function elide(c, text, width) {
    const key = `${c.font}|${Math.floor(width)}|${text.length > 100 ? text.length + text.slice(0, 100) : text}`;
    if (elided.has(key)) return elided.get(key);
    const result = fit(c, text, width);
    if (elided.size > 20000) elided.clear();
    elided.set(key, result);
    return result;
  }

  function fit(c, text, width) {
    const start = shorten(text, 120);
    if (c.measureText(start).width <= width) return start;
    const pieces = Array.from(segmenter.segment(start.slice(0, 1000)), part => part.segment);
    let low = 0, high = pieces.length;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (c.measureText(pieces.slice(0, middle).join('') + '…').width <= width) low = middle;
      else high = middle - 1;
    }
    return low === 0 ? '…' : pieces.slice(0, low).join('') + '…';
  }

  function draw(c, text, x, y, width, align) {
    const shown = elide(c, text, width);
    c.direction = direction(shown);
    c.textAlign = align;
    c.fillText(shown, x, y);
    return shown;
  }

  attend.labels = {printable, direction, shorten, along, rows, columns, blocks, panel: panelLabel, shortPanel: shortPanelLabel, item: itemLabel, number, count, draw};
})(window.attend = window.attend || {});
