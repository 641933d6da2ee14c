// The heat map of a matrix on two canvases: the map with its labels, and the cross-hair over it. It knows where each cell lies; matrix.js knows what
// is chosen.
//
// Pixels are those of the page from the map's upper left corner. A cell is {r, c}, row and column of the grid (source.js); its place is where it
// stands after sorting.
(function (attend) {
  'use strict';

  const {colours, labels, heatMap} = attend;

  const largestBase = 48, smallestStrip = 24, largestCell = 72;  // pixels of a cell: unzoomed; of the short side of a long map; zoomed
  const labelSize = 12, labelPitch = 14;                         // pixels of text, and from one label to the next
  const cornerHeight = 44;                                       // pixels for the names of the two axes

  // Places by `value` downwards; what isn't a number comes last.
  function sorted(length, value) {
    const keys = Float64Array.from({length}, (_, i) => (Number.isNaN(value(i)) ? -Infinity : value(i)));
    return Int32Array.from(keys.keys()).sort((a, b) => keys[b] - keys[a] || a - b);
  }

  // The greatest of 1, 2, 5, 10, … labels that keeps them `pitch` apart.
  function labelStep(cell, pitch) {
    for (let step = 1; ; step *= 10) {
      for (const times of [1, 2, 5]) {
        if (cell * step * times >= pitch) return step * times;
      }
    }
  }

  const clamp = (value, low, high) => Math.min(Math.max(value, low), Math.max(low, high));

  class MatrixMap {
    // `map` and `over` are canvases, one over the other.
    constructor(map, over) {
      this.map = map;
      this.over = over;
      this.facts = null;
    }

    // facts: PanelFacts; item and names of rows and columns for the labels
    show(facts, item, rowNames, columnNames) {
      Object.assign(this, {facts, item, rowNames, columnNames, margins: null, orders: null, cached: null, geometry: null});
    }

    clear() {
      this.facts = this.geometry = null;
      attend.fitCanvas(this.map, 1, 1);
      attend.fitCanvas(this.over, 1, 1);
    }

    // '' as they are, 'total', or the number of the column (of rows) or row (of columns) whose weights decide.
    sort(rowsBy, columnsBy) {
      const key = `${rowsBy} ${columnsBy}`;
      if (this.orders && this.orders.key === key) return;
      const {facts} = this, {rows, columns} = facts.grid;
      const byRows = rowsBy === '' ? null : sorted(rows, rowsBy === 'total' ? r => facts.totals().rows[r] : r => facts.weight(r, Number(rowsBy)));
      const byColumns = columnsBy === '' ? null : sorted(columns, columnsBy === 'total' ? c => facts.totals().columns[c] : c => facts.weight(Number(columnsBy), c));
      this.orders = {key, rows: byRows, columns: byColumns, rowPlaces: inverse(byRows), columnPlaces: inverse(byColumns)};
    }

    // --- Where things lie

    // `place` is what is wanted: {zoom: 1 or more, left, top}, in cells; what doesn't fit is brought to the nearest that does.
    layout(room, place) {
      const {rows, columns} = this.facts.grid, margins = this.marginsFor(room.width, room.height);
      const free = {width: Math.max(20, room.width - margins.left - 1), height: Math.max(20, room.height - margins.top - 1)};
      const base = baseCell(free, rows, columns), most = Math.max(1, largestCell / Math.min(base.width, base.height));
      const zoom = Math.min(place.zoom, most), cell = {width: base.width * zoom, height: base.height * zoom};
      const plot = {x: margins.left, y: margins.top, width: Math.min(free.width, cell.width * columns), height: Math.min(free.height, cell.height * rows)};
      return {
        width: Math.ceil(plot.x + plot.width) + 1, height: Math.ceil(plot.y + plot.height) + 1, margins, plot, cell, zoom, most,
        left: clamp(place.left, 0, columns - plot.width / cell.width), top: clamp(place.top, 0, rows - plot.height / cell.height),
      };
    }

    // Room for labels: as much as they need, but no more than a part of the stage.
    marginsFor(width, height) {
      const key = `${width} ${height}`;
      if (this.margins && this.margins.key === key) return this.margins;
      const c = this.map.getContext('2d'), {rows, columns} = this.facts.grid;
      c.font = attend.font(labelSize);
      const widest = names => sample(names, 400).reduce((most, name) => Math.max(most, c.measureText(labels.shorten(name, 60)).width), 0);
      const {item} = this;
      const axes = Math.max(c.measureText(`${item.row_axis} ↓`).width, c.measureText(`${item.column_axis} →`).width);
      const least = axes + 18, left = Math.ceil(clamp(widest(this.rowNames) + 14, least, Math.max(least, Math.min(180, width * 0.32))));
      const columnWidth = widest(this.columnNames);
      const base = baseCell({width: width - left, height: height - cornerHeight}, rows, columns);
      const upright = columnWidth + 8 <= base.width;
      const top = upright ? cornerHeight : Math.ceil(clamp(columnWidth + 14, cornerHeight, Math.max(cornerHeight, Math.min(150, height * 0.3))));
      this.margins = {key, left, top, upright};
      return this.margins;
    }

    // The cell under a point; r or c is −1 in the labels of the other. Null elsewhere.
    at(x, y) {
      const {plot, cell, left, top} = this.geometry, {grid} = this.facts;
      const inColumns = x >= plot.x && x < plot.x + plot.width, inRows = y >= plot.y && y < plot.y + plot.height;
      const column = Math.min(grid.columns - 1, Math.floor(left + (x - plot.x) / cell.width)), row = Math.min(grid.rows - 1, Math.floor(top + (y - plot.y) / cell.height));
      if (inColumns && inRows) return this.largestUnder(x, y, row, column);
      if (inRows && x < plot.x && this.item.row_axis) return {r: this.rowAt(row), c: -1};
      if (inColumns && y < plot.y) return {r: -1, c: this.columnAt(column)};
      return null;
    }

    rowAt(place) { return this.orders.rows ? this.orders.rows[place] : place; }
    columnAt(place) { return this.orders.columns ? this.orders.columns[place] : place; }
    placeOfRow(r) { return this.orders.rows ? this.orders.rowPlaces[r] : r; }
    placeOfColumn(c) { return this.orders.columns ? this.orders.columnPlaces[c] : c; }

    // The places that can be seen.
    seen() {
      const {plot, cell, left, top} = this.geometry, {rows, columns} = this.facts.grid;
      const span = (start, length, size, count) => [Math.floor(start + 1e-6), Math.min(count, Math.ceil(start + length / size - 1e-6))];
      const [firstRow, lastRow] = span(top, plot.height, cell.height, rows), [firstColumn, lastColumn] = span(left, plot.width, cell.width, columns);
      return {firstRow, lastRow, firstColumn, lastColumn};
    }

    // Places of the cells that the pixel at `point` shows: [first, last + 1]. `place` is the one that lies there by its size.
    shownAt(axis, origin, point, place) {
      if (!axis.isReduced) return [place, place + 1];
      const pixel = Math.floor((point - origin) * (window.devicePixelRatio || 1));
      const first = axis.first + Math.ceil(pixel / axis.size - 1e-9), last = axis.first + Math.ceil((pixel + 1) / axis.size - 1e-9);
      return last > first && first >= axis.first && last <= axis.last ? [first, last] : [place, place + 1];
    }

    // Where a pixel covers several cells, it shows the largest of them: that is the one to speak of.
    largestUnder(x, y, row, column) {
      const {rows, columns, origin} = this.cached, down = this.shownAt(rows, origin.y, y, row), across = this.shownAt(columns, origin.x, x, column);
      let best = null, most = -Infinity;
      for (let i = down[0]; i < down[1]; ++i) {
        for (let j = across[0]; j < across[1]; ++j) {
          const r = this.rowAt(i), c = this.columnAt(j), weight = this.facts.weight(r, c);
          if (best && !(weight > most) && weight === weight) continue;
          [best, most] = [{r, c}, weight === weight ? weight : Infinity];
        }
      }
      return best;
    }

    // --- Drawing

    draw(geometry, scale) {
      this.geometry = geometry;
      this.scale = scale;
      const {width, height, plot, cell, left, top} = this.geometry;
      // where the map lies, for programs that drive the page
      Object.assign(this.map.dataset, {x: plot.x, y: plot.y, cellWidth: cell.width, cellHeight: cell.height, left, top});
      const c = attend.fitCanvas(this.map, width, height);
      c.save();
      c.beginPath();
      c.rect(plot.x, plot.y, plot.width, plot.height);
      c.clip();
      this.drawCells(c);
      c.restore();
      c.strokeStyle = colours.css(mixed(0.25));
      c.lineWidth = 1;
      c.strokeRect(Math.round(plot.x) - 0.5, Math.round(plot.y) - 0.5, Math.round(plot.width) + 1, Math.round(plot.height) + 1);
      this.drawLabels(c);
    }

    drawCells(c) {
      const {plot, cell, left, top} = this.geometry, ratio = window.devicePixelRatio || 1;
      const seen = this.seen();
      const key = JSON.stringify([seen, cell, ratio, this.orders.key]);
      if (!this.cached || this.cached.key !== key) {
        const rows = heatMap.axis(seen.firstRow, seen.lastRow, cell.height * ratio, this.orders.rows);
        const columns = heatMap.axis(seen.firstColumn, seen.lastColumn, cell.width * ratio, this.orders.columns);
        this.cached = {key, rows, columns, values: heatMap.values(this.facts.grid, rows, columns)};
      }
      const {rows, columns, values} = this.cached;
      const image = heatMap.image(values, columns.length, rows.length, this.scale, colours.isDark());
      const sharp = value => Math.round(value * ratio) / ratio;
      const x = sharp(plot.x - (left - seen.firstColumn) * cell.width), y = sharp(plot.y - (top - seen.firstRow) * cell.height);
      this.cached.origin = {x, y};
      const wide = columns.isReduced ? columns.length / ratio : columns.length * cell.width, high = rows.isReduced ? rows.length / ratio : rows.length * cell.height;
      c.imageSmoothingEnabled = false;
      c.drawImage(image, x, y, wide, high);
      if (Math.min(cell.width, cell.height) >= 10) this.drawGaps(c, seen);
      if (cell.width >= 34 && cell.height >= 16) this.drawNumbers(c, seen);
    }

    drawGaps(c, {firstRow, lastRow, firstColumn, lastColumn}) {
      const {plot, cell, left, top} = this.geometry;
      c.fillStyle = colours.css(colours.paper());
      for (let column = firstColumn + 1; column < lastColumn; ++column) c.fillRect(Math.round(plot.x + (column - left) * cell.width), plot.y, 1, plot.height);
      for (let row = firstRow + 1; row < lastRow; ++row) c.fillRect(plot.x, Math.round(plot.y + (row - top) * cell.height), plot.width, 1);
    }

    drawNumbers(c, {firstRow, lastRow, firstColumn, lastColumn}) {
      const {plot, cell, left, top} = this.geometry;
      c.font = attend.font(11);
      [c.textAlign, c.textBaseline, c.direction] = ['center', 'middle', 'ltr'];
      for (let row = firstRow; row < lastRow; ++row) {
        for (let column = firstColumn; column < lastColumn; ++column) {
          const weight = this.facts.weight(this.rowAt(row), this.columnAt(column));
          if (Math.abs(weight) < 0.005 || weight < this.scale.threshold) continue;
          c.fillStyle = colours.css(colours.textOn(colours.of(this.scale.fraction(weight))));
          c.fillText(Number.isNaN(weight) ? 'NaN' : shortNumber(weight), plot.x + (column - left + 0.5) * cell.width, plot.y + (row - top + 0.5) * cell.height + 0.5);
        }
      }
    }

    drawLabels(c) {
      const {cell, margins, plot} = this.geometry, seen = this.seen();
      c.font = attend.font(labelSize);
      c.textBaseline = 'middle';
      c.fillStyle = colours.css(colours.ink());
      const rowStep = labelStep(cell.height, labelPitch), columnStep = margins.upright ? 1 : labelStep(cell.width, labelPitch);
      for (let row = Math.ceil(seen.firstRow / rowStep) * rowStep; row < seen.lastRow; row += rowStep) this.drawRowLabel(c, row);
      for (let column = Math.ceil(seen.firstColumn / columnStep) * columnStep; column < seen.lastColumn; column += columnStep) this.drawColumnLabel(c, column);
      const {item} = this;
      c.fillStyle = colours.css(mixed(0.65));
      [c.textAlign, c.direction] = ['right', 'ltr'];
      c.fillText(`${item.column_axis} →`, plot.x - 14, plot.y - 31);
      if (item.row_axis) c.fillText(`${item.row_axis} ↓`, plot.x - 14, plot.y - 16);
    }

    drawRowLabel(c, place) {
      const {plot, cell, top, margins} = this.geometry, y = plot.y + (place - top + 0.5) * cell.height;
      if (y < plot.y || y > plot.y + plot.height) return;
      labels.draw(c, this.rowNames[this.rowAt(place)], plot.x - 7, y, margins.left - 10, 'right');
    }

    drawColumnLabel(c, place) {
      const {plot, cell, left, margins} = this.geometry, x = plot.x + (place - left + 0.5) * cell.width, name = this.columnNames[this.columnAt(place)];
      if (x < plot.x || x > plot.x + plot.width) return;
      if (margins.upright) {
        labels.draw(c, name, x, plot.y - 11, cell.width - 4, 'center');
        return;
      }
      c.save();
      c.translate(x, plot.y - 7);
      c.rotate(-Math.PI / 2);
      labels.draw(c, name, 0, 0, margins.top - 10, 'left');
      c.restore();
    }

    // Cross-hair over `pointed` and frame around `chosen`, cells or null. In `pointed` r or c may be −1.
    drawOver(pointed, chosen) {
      if (!this.geometry) return;
      const c = attend.fitCanvas(this.over, this.geometry.width, this.geometry.height);
      if (chosen) this.drawCross(c, chosen, !pointed);
      if (pointed) this.drawCross(c, pointed, true);
    }

    drawCross(c, {r, c: column}, withBands) {
      const {plot, cell, left, top} = this.geometry;
      const x = plot.x + (this.placeOfColumn(column) - left) * cell.width, y = plot.y + (this.placeOfRow(r) - top) * cell.height;
      c.save();
      c.beginPath();
      c.rect(0, 0, plot.x + plot.width + 1, plot.y + plot.height + 1);
      c.clip();
      c.strokeStyle = colours.css(colours.accent());
      c.fillStyle = colours.css(colours.accent());
      if (withBands) {
        c.globalAlpha = 0.75;
        if (r >= 0 && y + cell.height > plot.y) drawBand(c, plot.x, y, plot.width, cell.height, true);
        if (column >= 0 && x + cell.width > plot.x) drawBand(c, x, plot.y, cell.width, plot.height, false);
        c.globalAlpha = 1;
        this.drawMarkedLabels(c, r, column);
      }
      if (r >= 0 && column >= 0 && x + cell.width > plot.x && y + cell.height > plot.y) {
        c.lineWidth = 2;
        c.strokeRect(Math.round(x) - 0.5, Math.round(y) - 0.5, Math.max(3, Math.round(cell.width)) + 1, Math.max(3, Math.round(cell.height)) + 1);
      }
      c.restore();
    }

    // The labels of the cross-hair, also where most labels are left out.
    drawMarkedLabels(c, r, column) {
      const {plot, cell, margins, left, top} = this.geometry, background = colours.css(colours.paper());
      c.font = attend.font(labelSize, 'bold');
      c.textBaseline = 'middle';
      if (r >= 0) {
        const y = plot.y + (this.placeOfRow(r) - top + 0.5) * cell.height;
        if (y >= plot.y && y <= plot.y + plot.height) {
          c.fillStyle = background;
          c.fillRect(0, y - 9, plot.x - 2, 18);
          c.fillStyle = colours.css(colours.accent());
          this.drawRowLabel(c, this.placeOfRow(r));
        }
      }
      if (column >= 0) {
        const x = plot.x + (this.placeOfColumn(column) - left + 0.5) * cell.width, half = margins.upright ? cell.width / 2 : 9;
        if (x >= plot.x && x <= plot.x + plot.width) {
          c.fillStyle = background;
          c.fillRect(x - half, 0, 2 * half, plot.y - 2);
          c.fillStyle = colours.css(colours.accent());
          this.drawColumnLabel(c, this.placeOfColumn(column));
        }
      }
    }
  }

  // As large as fits, square unless a map is much longer than wide.
  function baseCell(room, rows, columns) {
    const across = Math.min(largestBase, room.width / columns), down = Math.min(largestBase, room.height / rows), side = Math.min(across, down);
    const isLong = Math.max(across, down) > 2 * side;
    return {width: isLong ? Math.max(side, Math.min(across, smallestStrip)) : side, height: isLong ? Math.max(side, Math.min(down, smallestStrip)) : side};
  }

  function inverse(order) {
    if (!order) return null;
    const places = new Int32Array(order.length);
    order.forEach((what, place) => { places[what] = place; });
    return places;
  }

  const sample = (names, most) => (names.length <= most ? names : Array.from({length: most}, (_, i) => names[Math.floor(i * names.length / most)]));

  const shortNumber = weight => (Math.abs(weight) < 9.995 ? weight.toFixed(2).replace(/^(-?)0\./, '$1.').replace('-', '−') : weight.toPrecision(2));

  // Ink at a part of its strength over the paper.
  const mixed = part => colours.ink().map((value, i) => Math.round(value * part + colours.paper()[i] * (1 - part)));

  function drawBand(c, x, y, width, height, isRow) {
    c.lineWidth = 1;
    c.beginPath();
    for (const edge of (isRow ? height : width) < 3 ? [0.5] : [0, 1]) {
      const at = Math.round((isRow ? y + edge * height : x + edge * width)) - 0.5 + (edge === 1 ? 1 : 0);
      if (isRow) [[x, at], [x + width, at]].forEach(([px, py], i) => (i ? c.lineTo(px, py) : c.moveTo(px, py)));
      else [[at, y], [at, y + height]].forEach(([px, py], i) => (i ? c.lineTo(px, py) : c.moveTo(px, py)));
    }
    c.stroke();
  }

  attend.MatrixMap = MatrixMap;
})(window.attend = window.attend || {});
