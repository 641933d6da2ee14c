// The colours of heat maps: the ramps of attend's pictures and terminal maps (src/view/colour_map.cpp), computed in the same way, a curve
// through OKLCh (B. Ottosson, "A perceptual color space for image processing", 2020) walked at even perceived distances.
//
// A colour is [red, green, blue], 0 to 255. `dark`, where it is left out, is what the page shows at the moment.
//
// attend.colours.isDark()             whether the page is dark
// attend.colours.of(weight, dark)     0 nearly the background, 1 the strongest, beyond that the nearest end; NaN: missing(dark)
// attend.colours.css(colour)          'rgb(…)'
// attend.colours.pixel(colour)        as a number of a Uint32Array over an ImageData
// attend.colours.pixels(dark)         Uint32Array of the ramp's `steps` + 1 colours, for ImageData
// attend.colours.steps                1024
// attend.colours.missing(dark), paper(dark), ink(dark), accent(dark)
// attend.colours.textOn(colour)       black or white, whichever is easier to read there
(function (attend) {
  'use strict';

  const steps = 1024;

  function linearOf(lab) {
    const [lightness, a, b] = lab;
    const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const s = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3;
    return [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
            -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s];
  }

  function toSrgb(linear) {
    const clamped = Math.min(1, Math.max(0, linear));
    return Math.round((clamped <= 0.0031308 ? clamped * 12.92 : 1.055 * clamped ** (1 / 2.4) - 0.055) * 255);
  }

  function toLinear(channel) {
    const value = channel / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  }

  function labOfPolar(lightness, chroma, degrees) {
    const angle = degrees * Math.PI / 180;
    return [lightness, chroma * Math.cos(angle), chroma * Math.sin(angle)];
  }

  function isDisplayable(lab) {
    const slack = 1e-4;
    return linearOf(lab).every(channel => channel >= -slack && channel <= 1 + slack);
  }

  // Where a screen can't show so much colour, less of it at the same lightness and hue.
  function nearestDisplayable(lightness, chroma, degrees) {
    if (isDisplayable(labOfPolar(lightness, chroma, degrees))) return labOfPolar(lightness, chroma, degrees);
    let low = 0, high = chroma;
    for (let i = 0; i < 30; ++i) {
      const middle = (low + high) / 2;
      if (isDisplayable(labOfPolar(lightness, middle, degrees))) low = middle;
      else high = middle;
    }
    return labOfPolar(lightness, low, degrees);
  }

  // t from 0 to 1. Light: from nearly white through sky blue to a deep indigo. Dark: from nearly black through violet and rose to a pale yellow.
  function curvePoint(t, dark) {
    const rise = Math.sin(Math.PI * Math.min(1, t * 1.15) / 2);
    if (!dark) return nearestDisplayable(0.985 - 0.715 * t, 0.008 + 0.135 * rise, 225 + 50 * t);
    return nearestDisplayable(0.215 + 0.755 * t, 0.02 + 0.15 * Math.sin(Math.PI * Math.min(1, 0.12 + t * 0.80)), 285 + 180 * t);
  }

  // Walks the curve in steps of equal perceived length.
  function makeRamp(dark) {
    const pieces = 4 * steps, walked = new Float64Array(pieces + 1);
    let previous = curvePoint(0, dark);
    for (let i = 1; i <= pieces; ++i) {
      const point = curvePoint(i / pieces, dark);
      walked[i] = walked[i - 1] + Math.hypot(previous[0] - point[0], previous[1] - point[1], previous[2] - point[2]);
      previous = point;
    }
    const ramp = [];
    for (let i = 0, piece = 0; i <= steps; ++i) {
      const goal = walked[pieces] * i / steps;
      while (piece < pieces - 1 && walked[piece + 1] < goal) ++piece;
      const part = (goal - walked[piece]) / (walked[piece + 1] - walked[piece]);
      ramp.push(linearOf(curvePoint((piece + part) / pieces, dark)).map(toSrgb));
    }
    return ramp;
  }

  const made = new Map();

  function rampFor(dark) {
    if (!made.has(dark)) {
      const colours = makeRamp(dark);
      made.set(dark, {colours, pixels: Uint32Array.from(colours, pixel)});
    }
    return made.get(dark);
  }

  const isDark = () => document.documentElement.dataset.theme === 'dark';
  const missing = (dark = isDark()) => dark ? [92, 70, 52] : [226, 190, 160];
  const paper = (dark = isDark()) => dark ? [18, 18, 22] : [255, 255, 255];
  const ink = (dark = isDark()) => dark ? [226, 227, 231] : [32, 33, 36];
  const accent = (dark = isDark()) => dark ? [160, 170, 255] : [64, 72, 190];
  const css = colour => `rgb(${colour[0]}, ${colour[1]}, ${colour[2]})`;

  // Every machine that runs a browser of today keeps the lowest byte first.
  function pixel(colour) {
    return (0xFF000000 | colour[2] << 16 | colour[1] << 8 | colour[0]) >>> 0;
  }

  function of(weight, dark = isDark()) {
    if (Number.isNaN(weight)) return missing(dark);
    return rampFor(dark).colours[Math.round(Math.min(1, Math.max(0, weight)) * steps)];
  }

  // WCAG 2.1: the ratio of relative luminances, each raised by 0.05; black and white tie at 0.179.
  function textOn(colour) {
    const [r, g, b] = colour.map(toLinear);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? [0, 0, 0] : [255, 255, 255];
  }

  attend.colours = {steps, isDark, of, css, pixel, pixels: (dark = isDark()) => rampFor(dark).pixels, missing, paper, ink, accent, textOn};
})(window.attend = window.attend || {});
