// What is known of a panel beyond its weights, of the cells of its grid (source.js): new attend.PanelFacts(panel). And how a view of one panel
// gets it: attend.readPanel(view, take, fail).
(function (attend) {
  'use strict';

  const rememberedRows = 256;  // whose ranks are kept

  class PanelFacts {
    constructor(panel) {
      this.panel = panel;
      this.grid = panel.grid;
      this.ranked = new Map();
    }

    weight(r, c) {
      return this.panel.form === 'top-k' ? this.panel.at(r, c) : this.grid.row(r)[c];
    }

    isKnown(r, c) {
      return this.panel.form !== 'top-k' || this.panel.known(r, c);
    }

    // {order: columns by weight downwards, NaN last, rank: of each column, equal weights share the first}
    ranks(r) {
      if (this.ranked.has(r)) return this.ranked.get(r);
      const row = this.grid.row(r), order = Uint32Array.from(row, (_, c) => c), rank = new Uint32Array(row.length);
      const value = c => (row[c] === row[c] ? row[c] : -Infinity);
      order.sort((a, b) => value(b) - value(a) || a - b);
      order.forEach((c, place) => { rank[c] = place > 0 && row[order[place - 1]] === row[c] ? rank[order[place - 1]] : place + 1; });
      if (this.ranked.size >= rememberedRows) this.ranked.delete(this.ranked.keys().next().value);
      this.ranked.set(r, {order, rank});
      return this.ranked.get(r);
    }

    totals() {
      if (this.sums) return this.sums;
      const {rows, columns} = this.grid, ofRows = new Float64Array(rows), ofColumns = new Float64Array(columns);
      for (let r = 0; r < rows; ++r) {
        const row = this.grid.row(r);
        for (let c = 0; c < columns; ++c) {
          if (!Number.isFinite(row[c])) continue;
          ofRows[r] += row[c];
          ofColumns[c] += row[c];
        }
      }
      this.sums = {rows: ofRows, columns: ofColumns};
      return this.sums;
    }
  }

  // Reads the panel that view.context names, view.shown from now on, and calls take(panel, labels of its rows, of its columns), or fail(error) where
  // that can't be. Neither, and false, where the view was closed or went on to another panel meanwhile.
  async function readPanel(view, take, fail) {
    const {source, exampleNumber, itemNumber, panel, example, item} = view.context, {labels} = attend;
    view.shown = panel;
    const isCurrent = () => !view.closed && view.shown === panel;
    try {
      const loaded = await source.panel(exampleNumber, itemNumber, panel), {block} = loaded.grid;
      if (isCurrent()) take(loaded, labels.blocks(labels.rows(example, item), block[0]), labels.blocks(labels.columns(example, item), block[1]));
    } catch (error) {
      if (isCurrent()) fail(error);
    }
    return isCurrent();
  }

  attend.PanelFacts = PanelFacts;
  attend.readPanel = readPanel;
})(window.attend = window.attend || {});
