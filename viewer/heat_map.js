// Heat maps as images: which weights fall on which pixel, and what colour that has. A pixel that covers several weights shows the largest, so
// that a lone peak is seen at any size; NaN counts as larger than all.
//
// attend.heatMap.scale({full, log, threshold})   how weights become colours: {full, log, threshold, fraction(weight)}
// attend.heatMap.decades                         a logarithmic scale spans so many powers of ten below `full`
// attend.heatMap.axis(first, last, size, order)  places first … last − 1 along one axis, each `size` device pixels long; order: which row or
//                                                column stands at each place, null for as they are
// attend.heatMap.values(grid, rows, columns)     Float32Array of rows.length × columns.length largest weights; −Infinity where nothing is known
// attend.heatMap.image(values, width, height, scale, dark)   a canvas of that size
(function (attend) {
  'use strict';

  const decades = 4;

  function scale({full = 1, log = false, threshold = 0}) {
    const top = full > 0 ? full : 1;
    const fraction = log ? weight => (weight > 0 ? Math.max(0, 1 + Math.log10(weight / top) / decades) : weight === weight ? 0 : NaN)
                         : weight => weight / top;
    return {full: top, log, threshold, fraction};
  }

  function axis(first, last, size, order) {
    const isReduced = size < 1;
    const count = Math.max(0, last - first), length = isReduced ? Math.max(1, Math.ceil(count * size)) : count;
    const pixelOf = new Int32Array(count);
    for (let i = 0; i < count; ++i) pixelOf[i] = isReduced ? Math.min(length - 1, Math.floor(i * size)) : i;
    return {first, last, size, order, isReduced, length, pixelOf, placeOf: order ? placesOf(order) : null};
  }

  function placesOf(order) {
    const places = new Int32Array(order.length);
    for (let place = 0; place < order.length; ++place) places[order[place]] = place;
    return places;
  }

  // NaN, once there, stays: comparing with it is false.
  function raise(values, at, weight) {
    if (weight > values[at] || weight !== weight) values[at] = weight;
  }

  function addDenseRow(values, offset, row, columns) {
    const {first, last, order, pixelOf} = columns;
    for (let place = first; place < last; ++place) raise(values, offset + pixelOf[place - first], row[order ? order[place] : place]);
  }

  function addKeptRow(values, offset, kept, columns) {
    if (kept.isWhole) {
      for (let x = 0; x < columns.length; ++x) raise(values, offset + x, 0);
    }
    for (let i = 0; i < kept.count; ++i) {
      const column = kept.columns[i], place = (columns.placeOf ? columns.placeOf[column] : column) - columns.first;
      if (place >= 0 && place < columns.pixelOf.length) raise(values, offset + columns.pixelOf[place], kept.weights[i]);
    }
  }

  function values(grid, rows, columns) {
    const largest = new Float32Array(rows.length * columns.length).fill(-Infinity);
    for (let place = rows.first; place < rows.last; ++place) {
      const r = rows.order ? rows.order[place] : place, offset = rows.pixelOf[place - rows.first] * columns.length;
      const kept = grid.entries(r);
      if (kept) addKeptRow(largest, offset, kept, columns);
      else addDenseRow(largest, offset, grid.row(r), columns);
    }
    return largest;
  }

  function image(weights, width, height, {fraction, threshold}, dark) {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [Math.max(1, width), Math.max(1, height)];
    const c = canvas.getContext('2d'), data = c.createImageData(canvas.width, canvas.height);
    const pixels = new Uint32Array(data.data.buffer), ramp = attend.colours.pixels(dark), steps = attend.colours.steps;
    const missing = attend.colours.pixel(attend.colours.missing(dark));
    for (let i = 0; i < weights.length; ++i) {
      const weight = weights[i];
      if (weight !== weight) pixels[i] = missing;
      else if (weight > -Infinity && (weight >= threshold || threshold <= 0)) pixels[i] = ramp[Math.round(Math.min(1, Math.max(0, fraction(weight))) * steps)];
    }
    c.putImageData(data, 0, 0);
    return canvas;
  }

  attend.heatMap = {decades, scale, axis, values, image};
})(window.attend = window.attend || {});
