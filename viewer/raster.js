// Pictures and maps as pixels.
//
// attend.raster.load(context)          promise of a canvas with the example's picture; null where it has none
// attend.raster.scaled(canvas, width, height)   its pixels at another size, as ImageData
// attend.raster.resample({values, rows, columns, width, height, smooth})   Float32Array [height, width]: each pixel's weight. smooth: a cubic
//                                      through the cells' middles, never beyond the smallest and largest cell; else the cell's own. NaN where
//                                      the cell is.
// attend.raster.overlay({base, weights, width, height, full, opacity, light, dark})   canvas: weights over a picture. `base`: ImageData or null
(function (attend) {
  'use strict';

  const {colours} = attend;
  const leastCell = 3;  // pixels; smaller cells are not smoothed, as their middles may fall between pixels

  async function load(context) {
    const {picture} = context.example;
    if (!picture || picture.width === 0 || picture.height === 0) return null;
    const {width, height, channels} = picture, needed = width * height * channels;
    const pixels = new Uint8Array(await context.source.bytes(`picture?example=${context.exampleNumber}`));
    if (pixels.length < needed) throw new Error(`Expected a picture of ${needed} bytes, got ${pixels.length}. Page and server may be of different versions.`);
    const image = new ImageData(width, height);
    for (let from = 0, to = 0; to < image.data.length; from += channels, to += 4) {
      image.data[to] = pixels[from];
      image.data[to + 1] = pixels[channels === 3 ? from + 1 : from];
      image.data[to + 2] = pixels[channels === 3 ? from + 2 : from];
      image.data[to + 3] = 255;
    }
    const canvas = blank(width, height);
    canvas.getContext('2d').putImageData(image, 0, 0);
    return canvas;
  }

  function blank(width, height) {
    const canvas = document.createElement('canvas');
    canvas.width = width;
    canvas.height = height;
    return canvas;
  }

  // Few pixels are shown as what they are; more are smoothed.
  const areLarge = (canvas, width) => width / canvas.width >= 3;

  function scaled(canvas, width, height) {
    const copy = blank(width, height), c = copy.getContext('2d', {willReadFrequently: true});
    c.imageSmoothingEnabled = !areLarge(canvas, width);
    c.imageSmoothingQuality = 'high';
    c.drawImage(canvas, 0, 0, width, height);
    return c.getImageData(0, 0, width, height);
  }

  // --- From cells to pixels

  // Where there are more cells than pixels, the largest of those that share one: a small peak must not fall between two pixels.
  function reduced(map, width, height) {
    const down = Math.ceil(map.rows / height), across = Math.ceil(map.columns / width);
    if (down <= 1 && across <= 1) return map;
    const rows = Math.ceil(map.rows / down), columns = Math.ceil(map.columns / across), values = new Float32Array(rows * columns).fill(-Infinity);
    for (let r = 0; r < map.rows; ++r) {
      for (let c = 0; c < map.columns; ++c) {
        const value = map.values[r * map.columns + c], place = Math.floor(r / down) * columns + Math.floor(c / across);
        if (!(value <= values[place])) values[place] = value;  // NaN stays NaN
      }
    }
    return {values, rows, columns};
  }

  // The four cells around each pixel and their shares, of a cubic through the middles of the cells.
  function taps(cells, pixels) {
    const places = new Int32Array(pixels * 4), shares = new Float32Array(pixels * 4);
    for (let pixel = 0; pixel < pixels; ++pixel) {
      const at = (pixel + 0.5) / pixels * cells - 0.5, left = Math.floor(at), t = at - left;
      const parts = [-0.5 * t + t * t - 0.5 * t ** 3, 1 - 2.5 * t * t + 1.5 * t ** 3, 0.5 * t + 2 * t * t - 1.5 * t ** 3, -0.5 * t * t + 0.5 * t ** 3];
      for (let tap = 0; tap < 4; ++tap) {
        places[pixel * 4 + tap] = Math.min(cells - 1, Math.max(0, left + tap - 1));
        shares[pixel * 4 + tap] = parts[tap];
      }
    }
    return {places, shares};
  }

  function smoothed({values, rows, columns}, width, height) {
    const across = taps(columns, width), down = taps(rows, height), wide = new Float32Array(rows * width), result = new Float32Array(width * height);
    let low = Infinity, high = -Infinity;
    for (const value of values) {
      if (value < low) low = value;
      if (value > high && value < Infinity) high = value;
    }
    if (low > high) low = high = 0;
    const finite = value => Number.isFinite(value) ? value : value === Infinity ? high : 0;
    for (let r = 0; r < rows; ++r) {
      for (let x = 0; x < width; ++x) {
        let sum = 0;
        for (let tap = x * 4; tap < x * 4 + 4; ++tap) sum += across.shares[tap] * finite(values[r * columns + across.places[tap]]);
        wide[r * width + x] = sum;
      }
    }
    for (let y = 0; y < height; ++y) {
      const [a, b, c, d] = down.places.subarray(y * 4, y * 4 + 4), [p, q, s, t] = down.shares.subarray(y * 4, y * 4 + 4);
      for (let x = 0; x < width; ++x) {
        const sum = p * wide[a * width + x] + q * wide[b * width + x] + s * wide[c * width + x] + t * wide[d * width + x];
        result[y * width + x] = Math.min(high, Math.max(low, sum));
      }
    }
    return result;
  }

  function resample({values, rows, columns, width, height, smooth}) {
    const map = reduced({values, rows, columns}, width, height), hasMissing = map.values.some(Number.isNaN);
    const isSmooth = smooth && map.rows * leastCell <= height && map.columns * leastCell <= width;
    const result = isSmooth ? smoothed(map, width, height) : new Float32Array(width * height);
    if (isSmooth && !hasMissing) return result;
    for (let y = 0; y < height; ++y) {
      const row = Math.floor((y + 0.5) / height * map.rows) * map.columns;
      for (let x = 0; x < width; ++x) {
        const value = map.values[row + Math.floor((x + 0.5) / width * map.columns)];
        if (!isSmooth || Number.isNaN(value)) result[y * width + x] = value;
      }
    }
    return result;
  }

  // --- Weights over a picture

  // The ramp over a picture that turns grey below it, as its own colours would be taken for weights. Strong weights cover more than weak ones:
  // the picture stays visible where little is to be said.
  function paintRamp(out, base, weights, full, opacity, ramp, missing) {
    const grey = Math.min(1, opacity * 1.5);
    for (let i = 0, at = 0; i < weights.length; ++i, at += 4) {
      const weight = weights[i], isMissing = weight !== weight, part = isMissing ? 1 : Math.min(1, Math.max(0, weight / full));
      const colour = isMissing ? missing : ramp[Math.round(part * colours.steps)];
      const cover = isMissing ? Math.min(1, opacity * 1.4) : opacity * (opacity ** 2 + (1 - opacity ** 2) * Math.sqrt(part));
      const r = base[at], g = base[at + 1], b = base[at + 2], shade = (0.299 * r + 0.587 * g + 0.114 * b) * grey;
      out[at] = (r * (1 - grey) + shade) * (1 - cover) + (colour & 255) * cover;
      out[at + 1] = (g * (1 - grey) + shade) * (1 - cover) + (colour >> 8 & 255) * cover;
      out[at + 2] = (b * (1 - grey) + shade) * (1 - cover) + (colour >> 16 & 255) * cover;
      out[at + 3] = 255;
    }
  }

  // The picture itself, lit where the weight is.
  function paintLight(out, base, weights, full, opacity, missing) {
    for (let i = 0, at = 0; i < weights.length; ++i, at += 4) {
      const weight = weights[i];
      if (weight !== weight) {
        for (let channel = 0; channel < 3; ++channel) out[at + channel] = missing >> 8 * channel & 255;
      } else {
        const lit = 1 - opacity * (1 - Math.min(1, Math.max(0, weight / full)));
        for (let channel = 0; channel < 3; ++channel) out[at + channel] = base[at + channel] * lit;
      }
      out[at + 3] = 255;
    }
  }

  function overlay({base, weights, width, height, full, opacity, light, dark}) {
    const canvas = blank(width, height), image = new ImageData(width, height), scale = full > 0 ? full : 1;
    const under = base ? base.data : image.data, missing = colours.pixel(colours.missing(dark));
    if (base && light) paintLight(image.data, under, weights, scale, opacity, missing);
    else paintRamp(image.data, under, weights, scale, base ? opacity : 1, colours.pixels(dark), missing);
    canvas.getContext('2d').putImageData(image, 0, 0);
    return canvas;
  }

  attend.raster = {load, scaled, resample, overlay, areLarge};
})(window.attend = window.attend || {});
