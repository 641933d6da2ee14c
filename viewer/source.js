// Where the page's data come from: the server that delivered it, or the page itself where it was exported. Both hold the same bytes under
// the same keys (docs/viewer.md).
//
// attend.source.load()           the index, once; then also attend.source.record
// attend.source.bytes(key)       ArrayBuffer of a key; don't write to it, it is cached
// attend.source.json(key)        the same, parsed
// attend.source.post(key, body)  sends JSON, gives the answer's JSON; served pages only
// attend.source.panel(e, i, p)   the weights of one panel, see make_panel() below
// attend.source.exported         whether the page holds its own data
//
// All give promises; they fail with an Error whose message can be shown as it is.
(function (attend) {
  'use strict';

  const cacheLimit = 256 * 1024 * 1024;  // bytes; a panel of 4096 × 4096 has 64 MiB
  const panelLimit = 8;                  // panels kept with what was computed from them
  const cache = new Map();               // key → ArrayBuffer, the least recently used first
  const onTheWay = new Map();            // key → promise
  const panels = new Map();              // key → panel, the least recently used first
  let cachedBytes = 0;
  let embedded = null;                   // key → element with base64 text

  function embeddedKeys() {
    if (embedded === null) {
      embedded = new Map();
      for (const element of document.querySelectorAll('script[data-key]')) embedded.set(element.dataset.key, element);
    }
    return embedded;
  }

  const isExported = () => embeddedKeys().has('record');

  function bytesOfBase64(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text).buffer;
    const binary = atob(text), bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
    return bytes.buffer;
  }

  function readEmbedded(key) {
    const element = embeddedKeys().get(key);
    if (!element) throw new Error(`This page was exported without “${key}”. Export it again, or open the recording with: attend view FILE`);
    try {
      return bytesOfBase64(element.textContent.trim());
    } catch (error) {
      throw new Error(`“${key}” in this page is damaged (${error.message}). Export the page again.`);
    }
  }

  async function request(key, options) {
    let answer;
    try {
      answer = await fetch('/api/' + key, options);
    } catch (error) {
      throw new Error(`The server of this page doesn't answer (${error.message}). Is “attend view” still running? Start it again and reload.`);
    }
    if (answer.ok) return answer;
    let reason = answer.statusText || 'no reason given';
    try {
      reason = (await answer.json()).error || reason;
    } catch {
      // the answer isn't JSON: the status text has to do
    }
    throw new Error(`The server refused “${key}” (${answer.status}): ${reason}`);
  }

  function remember(key, buffer) {
    if (buffer.byteLength > cacheLimit) return;
    cache.set(key, buffer);
    cachedBytes += buffer.byteLength;
    for (const [oldest, old] of cache) {
      if (cachedBytes <= cacheLimit) break;
      cache.delete(oldest);
      cachedBytes -= old.byteLength;
    }
  }

  // What a run writes while one looks; it must be asked for again.
  const changes = key => key.startsWith('metrics') && !isExported();

  function bytes(key) {
    if (cache.has(key)) {
      const buffer = cache.get(key);
      cache.delete(key);
      cache.set(key, buffer);
      return Promise.resolve(buffer);
    }
    if (onTheWay.has(key)) return onTheWay.get(key);
    const answer = isExported() ? Promise.resolve().then(() => readEmbedded(key))
                                : request(key).then(response => response.arrayBuffer());
    const promise = answer.then(buffer => {
      if (!changes(key)) remember(key, buffer);
      return buffer;
    }).finally(() => onTheWay.delete(key));
    onTheWay.set(key, promise);
    return promise;
  }

  async function json(key) {
    const text = new TextDecoder().decode(await bytes(key));
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new Error(`“${key}” isn't JSON (${error.message}). Page and server may be of different versions: reload, or export again.`);
    }
  }

  async function post(key, body) {
    if (isExported()) throw new Error('An exported page has no model to ask. Open the run itself: attend view RUN');
    const answer = await request(key, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)});
    return answer.json();
  }

  async function load() {
    const record = await json('record');
    if (record.format !== 1 || !Array.isArray(record.examples)) {
      throw new Error(`Expected an index of format 1 with a list of examples, got format ${record.format}. Page and server are of different versions.`);
    }
    attend.source.record = record;
    return record;
  }

  function view(buffer, Type, offset, length, key) {
    const needed = offset + length * Type.BYTES_PER_ELEMENT;
    if (buffer.byteLength < needed) throw new Error(`Expected at least ${needed} bytes for “${key}”, got ${buffer.byteLength}. Page and server may be of different versions.`);
    return new Type(buffer, offset, length);
  }

  function largestFinite(values) {
    let largest = 0;
    for (let i = 0; i < values.length; ++i) {
      if (values[i] > largest && values[i] < Infinity) largest = values[i];
    }
    return largest;
  }

  function countNaN(values) {
    let count = 0;
    for (let i = 0; i < values.length; ++i) {
      if (values[i] !== values[i]) ++count;
    }
    return count;
  }

  // Calculates once, when first asked.
  function lazily(compute) {
    let value, known = false;
    return () => {
      if (!known) [value, known] = [compute(), true];
      return value;
    };
  }

  // The three forms below share one shape:
  //   rows, columns       of the item
  //   form                'all', 'top-k' or 'thumbnail'
  //   at(r, c)            weight; NaN where the model gave NaN; top-k: 0 where it wasn't kept; thumbnail: the mean of its block
  //   known(r, c)         whether at() is the weight itself rather than 0 or a mean in its place
  //   row(r)              Float32Array of a row as at() would give it; don't write to it
  //   largest()           the largest finite weight, 0 where there is none
  //   missing()           number of NaN
  //   note                what was shortened, as a sentence; '' where nothing was
  //   grid                what can be drawn: {rows, columns, block: [r, c], row(r), entries(r)}. A cell is one weight, or a block of a thumbnail.
  //                       entries(r) is null, or for top-k {columns, weights, count, isWhole}: what was kept of the row, and whether the rest is 0.

  function wholePanel(buffer, rows, columns, key) {
    const weights = view(buffer, Float32Array, 0, rows * columns, key);
    const row = r => weights.subarray(r * columns, (r + 1) * columns);
    return {
      rows, columns, form: 'all', note: '', row,
      at: (r, c) => weights[r * columns + c],
      known: () => true,
      largest: lazily(() => largestFinite(weights)),
      missing: lazily(() => countNaN(weights)),
      grid: {rows, columns, block: [1, 1], row, entries: () => null},
    };
  }

  function topPanel(buffer, rows, columns, k, key) {
    const weights = view(buffer, Float32Array, 0, rows * k, key);
    const [Index, none] = columns <= 65535 ? [Uint16Array, 0xFFFF] : [Uint32Array, 0xFFFFFFFF];
    const keys = view(buffer, Index, rows * k * 4, rows * k, key);
    const place = (r, c) => {
      for (let slot = r * k; slot < (r + 1) * k; ++slot) {
        if (keys[slot] === c) return slot;
      }
      return -1;
    };
    // A slot without a key holds 0: what comes behind it in the order is 0 too, or negative and kept.
    const entries = r => {
      const columnsKept = [], weightsKept = [];
      for (let slot = r * k; slot < (r + 1) * k; ++slot) {
        if (keys[slot] === none) continue;
        columnsKept.push(keys[slot]);
        weightsKept.push(weights[slot]);
      }
      return {columns: columnsKept, weights: weightsKept, count: columnsKept.length, isWhole: k >= columns || columnsKept.length < k};
    };
    const row = r => {
      const dense = new Float32Array(columns), kept = entries(r);
      for (let i = 0; i < kept.count; ++i) dense[kept.columns[i]] = kept.weights[i];
      return dense;
    };
    return {
      rows, columns, form: 'top-k', row,
      note: k < columns ? `Only the ${k === 1 ? 'largest weight' : `${k} largest weights`} of each row of ${columns} were kept.` : '',
      at: (r, c) => {
        const slot = place(r, c);
        return slot < 0 ? 0 : weights[slot];
      },
      known: (r, c) => place(r, c) >= 0 || entries(r).isWhole,
      largest: lazily(() => largestFinite(weights)),
      missing: lazily(() => countNaN(weights)),
      grid: {rows, columns, block: [1, 1], row, entries},
    };
  }

  function thumbnailPanel(buffer, rows, columns, block, key) {
    const gridRows = Math.ceil(rows / block[0]), gridColumns = Math.ceil(columns / block[1]);
    const means = view(buffer, Float32Array, 0, gridRows * gridColumns, key);
    const at = (r, c) => means[Math.floor(r / block[0]) * gridColumns + Math.floor(c / block[1])];
    const isWhole = block[0] === 1 && block[1] === 1;
    return {
      rows, columns, form: 'thumbnail', at,
      note: isWhole ? '' : `Only means of blocks of ${block[0]} × ${block[1]} weights were kept of ${rows} × ${columns}.`,
      known: () => isWhole,
      row: r => Float32Array.from({length: columns}, (_, c) => at(r, c)),
      largest: lazily(() => largestFinite(means)),
      missing: lazily(() => countNaN(means)),
      grid: {rows: gridRows, columns: gridColumns, block, row: r => means.subarray(r * gridColumns, (r + 1) * gridColumns), entries: () => null},
    };
  }

  function makePanel(buffer, item, key) {
    const {rows, columns, kept} = item;
    if (kept.form === 'all') return wholePanel(buffer, rows, columns, key);
    if (kept.form === 'top-k') return topPanel(buffer, rows, columns, kept.k, key);
    if (kept.form === 'thumbnail') return thumbnailPanel(buffer, rows, columns, kept.block, key);
    throw new Error(`Expected weights kept whole, as top-k or as a thumbnail, got “${kept.form}”. Page and server are of different versions.`);
  }

  async function panel(e, i, p) {
    const key = `weights?example=${e}&item=${i}&panel=${p}`;
    let made = panels.get(key);
    if (!made) made = makePanel(await bytes(key), attend.source.record.examples[e].items[i], key);
    panels.delete(key);
    panels.set(key, made);
    if (panels.size > panelLimit) panels.delete(panels.keys().next().value);
    return made;
  }

  attend.source = {record: null, load, bytes, json, post, panel, get exported() { return isExported(); }};
})(window.attend = window.attend || {});
