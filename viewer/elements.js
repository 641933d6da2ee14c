// Making elements, and the controls that all views share.
//
// attend.element(tag, properties, ...children)   properties: text, class, dataset: {}, attributes by name, on: {event: f}. Children: elements or
//                                                texts. Nothing is ever read as HTML.
// attend.controls.bar(...controls)               a row of controls above a view
// attend.controls.slider({label, min, max, step, value, show, change})        change(number) while it moves; show(number) is the text beside it
// attend.controls.threshold({change})            a slider over the weights below which nothing is shown; change(weight or null)
// attend.controls.choice({label, options: [[value, text], …], value, change}) a few alternatives, all visible
// attend.controls.list({label, options: [[value, text], …], value, change})   a drop-down list; rename(value, text)
// attend.controls.check({label, value, change})  on or off
// attend.controls.button({label, title, press})
// Each gives an element; sliders, choices, lists and checks have set(value), which changes what is shown without calling change.
//
// attend.fitCanvas(canvas, width, height)        sharp on every screen; gives its cleared 2d context, which counts in the page's pixels
// attend.font(size, weight)                      the page's font, for canvases
// attend.placeTip(tip, x, y, width, height)      beside (x, y) in an element of that size; tip has the class `tip`
//
// attend.controls.legend()                       {element, update({dark, low, high, log, keys: [[text, colour], …], note})}: a bar of the ramp
//                                                with its ends, what else has a colour, and a sentence
(function (attend) {
  'use strict';

  let numbered = 0;

  function element(tag, properties = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name === 'text') made.textContent = value;
      else if (name === 'class') made.className = value;
      else if (name === 'dataset') Object.assign(made.dataset, value);
      else if (name === 'on') Object.entries(value).forEach(([event, listener]) => made.addEventListener(event, listener));
      else if (value === true) made.setAttribute(name, '');
      else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  const bar = (...controls) => element('div', {class: 'bar', role: 'group', 'aria-label': 'Settings of this view'}, ...controls);

  function slider({label, min, max, step, value, show = String, change}) {
    const id = `control-${++numbered}`;
    const input = element('input', {id, type: 'range', min, max, step});
    const shown = element('output', {for: id});
    const name = element('label', {for: id, text: label});
    const made = element('div', {class: 'control slider'}, name, input, shown);
    const set = number => {
      input.value = number;
      shown.textContent = show(number);
      input.setAttribute('aria-valuetext', show(number));
    };
    input.addEventListener('input', () => {
      set(Number(input.value));
      change(Number(input.value));
    });
    set(value);
    made.set = set;
    return made;
  }

  // Weights span several powers of ten: so does the slider. 0 is its left end, then 0.0001 to 1.
  function threshold({change}) {
    const steps = 100, decades = 4;
    const weightAt = place => (place === 0 ? 0 : Number((10 ** (decades * (place / steps - 1))).toPrecision(2)));
    const placeAt = weight => (weight <= 0 ? 0 : Math.max(1, Math.min(steps, Math.round(steps * (1 + Math.log10(weight) / decades)))));
    let shown = 0;
    const show = place => (place === 0 ? 'off' : attend.labels.number(placeAt(shown) === place ? shown : weightAt(place)));
    const made = slider({label: 'Hide below', min: 0, max: steps, step: 1, value: 0, show, change: place => change(place === 0 ? null : weightAt(place))});
    const setPlace = made.set;
    made.set = weight => {
      shown = weight;
      setPlace(placeAt(weight));
    };
    return made;
  }

  function choice({label, options, value, change}) {
    const name = `control-${++numbered}`, inputs = new Map();
    const made = element('fieldset', {class: 'control choice'}, element('legend', {text: label}));
    for (const [key, text] of options) {
      const input = element('input', {type: 'radio', name, id: `${name}-${key}`, value: key, on: {change: () => change(key)}});
      inputs.set(key, input);
      made.append(input, element('label', {for: input.id, text}));
    }
    made.set = key => { if (inputs.has(key)) inputs.get(key).checked = true; };
    made.set(value);
    return made;
  }

  function list({label, options, value, change}) {
    const id = `control-${++numbered}`;
    const select = element('select', {id}, ...options.map(([key, text]) => element('option', {value: key, text})));
    select.addEventListener('change', () => change(select.value));
    const made = element('div', {class: 'control'}, element('label', {for: id, text: label}), select);
    made.set = key => { select.value = key; };
    made.rename = (key, text) => {
      const option = [...select.options].find(one => one.value === key);
      if (option.text !== text) option.text = text;
    };
    made.set(value);
    return made;
  }

  function check({label, value, change}) {
    const id = `control-${++numbered}`;
    const input = element('input', {id, type: 'checkbox', on: {change: () => change(input.checked)}});
    const made = element('div', {class: 'control check'}, input, element('label', {for: id, text: label}));
    made.set = on => { input.checked = on; };
    made.set(value);
    return made;
  }

  function button({label, title, press}) {
    return element('button', {type: 'button', class: 'control', title, text: label, 'aria-label': title, on: {click: press}});
  }

  function paintRamp(canvas, dark) {
    const c = canvas.getContext('2d'), image = c.createImageData(canvas.width, 1);
    const row = new Uint32Array(image.data.buffer), ramp = attend.colours.pixels(dark);
    for (let x = 0; x < canvas.width; ++x) row[x] = ramp[Math.round(x / (canvas.width - 1) * attend.colours.steps)];
    c.putImageData(image, 0, 0);
  }

  function legend() {
    const low = element('span'), high = element('span'), keys = element('span', {class: 'legend-keys'});
    const ramp = element('canvas', {width: 128, height: 1, 'aria-hidden': 'true'});
    const remark = element('span', {class: 'legend-note'});
    const made = element('div', {class: 'legend', role: 'group', 'aria-label': 'Colours'}, low, ramp, high, keys, remark);
    const update = ({dark, low: lowest, high: highest, log = false, keys: others = [], note = ''}) => {
      remark.textContent = note;
      paintRamp(ramp, dark);
      low.textContent = lowest;
      high.textContent = highest + (log ? ' (logarithmic)' : '');
      keys.replaceChildren(...others.map(([text, colour]) => {
        const swatch = element('span', {class: 'swatch'});
        swatch.style.background = colour;
        return element('span', {class: 'legend-key'}, swatch, text);
      }));
    };
    return {element: made, update};
  }

  // For lines and texts that are sharp on every screen: the canvas gets as many pixels as the screen has under width × height, and its context
  // counts in those of the page.
  function fitCanvas(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
    const c = canvas.getContext('2d');
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    return c;
  }

  // The font of the page at a size, for canvases.
  const font = (size, weight = 'normal') => `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;

  // Moves a tip to beside (x, y) of the element around it, to where there is room.
  function placeTip(tip, x, y, width, height) {
    const gap = 14, right = x + gap + tip.offsetWidth <= width, below = y + gap + tip.offsetHeight <= height;
    const left = right ? x + gap : Math.max(0, x - gap - tip.offsetWidth), top = below ? y + gap : Math.max(0, y - gap - tip.offsetHeight);
    tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  attend.element = element;
  attend.fitCanvas = fitCanvas;
  attend.font = font;
  attend.placeTip = placeTip;
  attend.controls = {bar, slider, threshold, choice, list, check, button, legend};
})(window.attend = window.attend || {});
