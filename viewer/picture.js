// Picture: a spatial map over the picture that it belongs to, one for each word or step (kind `spatial`); boxes of glimpses are drawn by
// glimpses.js under the same tab. Either may lack the picture.
(function (attend) {
  'use strict';

  const {element, controls, labels, chart, raster, colours} = attend;
  const stripLimit = 600;                   // more steps than these have no thumbnails: the slider has to do
  const thumbnailBytes = 64 * 1024 * 1024;  // nor have maps larger than these in all
  const finest = 1000;                      // pixels of a map's longer side, however dense the screen

  // The axis that one walks along: words or steps rather than heads.
  function walkOf(item) {
    const leading = item.axes.slice(0, -2), count = axis => item.shape[axis];
    const inOrder = ['target', 'source', 'step', 'time'].map(name => leading.indexOf(name));
    const others = leading.map((name, axis) => name === 'head' ? -1 : axis).reverse(), heads = leading.map((_, axis) => axis).reverse();
    const axis = [...inOrder, ...others, ...heads].find(one => one >= 0 && count(one) > 1);
    if (axis === undefined) return null;
    const stride = item.shape.slice(axis + 1, -2).reduce((product, length) => product * length, 1), length = count(axis);
    return {
      name: labels.shorten(labels.printable(leading[axis]), 40), length,
      placeOf: panel => Math.floor(panel / stride) % length,
      panelAt: (panel, place) => panel + (place - Math.floor(panel / stride) % length) * stride,
    };
  }

  // So that a picture of 1 × 1000 pixels still shows something.
  const aspectOf = (height, width) => chart.clamp(width / height, 1 / 6, 12);

  class PictureView {
    constructor(container, context) {
      const {item, example} = context;
      Object.assign(this, {
        context, container, map: null, shown: null, cell: null, base: null, frameBase: null, picture: null, thumbnails: null, allLargest: 0, isClosed: false,
      });
      this.walk = item.panels > 0 ? walkOf(item) : null;
      this.tokens = this.walk && (this.walk.name === 'target' || this.walk.name === 'source') ? example[this.walk.name] : null;
      this.hasPicture = Boolean(example.picture && example.picture.width > 0 && example.picture.height > 0);
      this.isEmpty = item.rows === 0 || item.columns === 0 || item.panels === 0;
      if (this.isEmpty && !this.hasPicture) {
        container.append(element('p', {class: 'empty', text: 'This map has no cells: one of its axes has no places.'}));
        return;
      }
      this.aspect = this.hasPicture ? aspectOf(example.picture.height, example.picture.width) : aspectOf(item.rows, item.columns);
      this.build();
      this.drawn = this.load();
    }

    // --- Elements

    build() {
      const set = name => value => this.context.state.set({[name]: value});
      this.look = controls.choice({label: 'Map', options: [['smooth', 'smooth'], ['blocks', 'blocks']], value: 'smooth', change: set('map')});
      this.shade = controls.choice({label: 'As', options: [['colour', 'colour'], ['light', 'light']], value: 'colour', change: set('shade')});
      this.opacity = controls.slider({label: 'Opacity', min: 0, max: 100, step: 1, value: 65, show: value => `${value} %`, change: set('opacity')});
      this.full = controls.choice({label: 'Strongest', options: [['map', 'of this map'], ['all', 'of all']], value: 'map', change: set('strongest')});
      this.shade.hidden = this.opacity.hidden = !this.hasPicture;
      this.full.hidden = this.context.item.panels < 2;
      this.legend = controls.legend();
      this.stage = chart.surface({class: 'picture-stage', height: width => width / this.aspect, draw: (c, width, height) => this.draw(c, width, height)});
      Object.entries({tabindex: '0', role: 'application', 'aria-roledescription': 'map', 'aria-label': this.stageLabel()})
        .forEach(([name, value]) => this.stage.element.setAttribute(name, value));
      this.stage.element.style.maxWidth = `min(45rem, ${Math.max(20, 66 * this.aspect)}vh)`;
      this.title = element('p', {class: 'picture-title'});
      this.readOut = element('p', {class: 'read-out', dataset: {role: 'read-out'}});
      this.container.append(controls.bar(this.look, this.shade, this.opacity, this.full), element('div', {class: 'picture-figure'},
        this.stage.element, element('div', {class: 'picture-side'}, this.title, this.readOut, this.legend.element)));
      if (this.walk) this.buildWalk();
      this.listen();
    }

    stageLabel() {
      const {item} = this.context;
      return `Map of ${item.rows} × ${item.columns} cells${this.hasPicture ? ' over the picture' : ''}. Arrow keys move from cell to cell.`;
    }

    buildWalk() {
      const {walk, context} = this;
      this.player = attend.player({
        count: walk.length, state: context.state, name: place => this.placeName(place), place: () => walk.placeOf(context.panel),
        go: place => this.goTo(place),
      });
      this.container.append(this.player.element);
      if (walk.length > stripLimit) return;
      const name = `${walk.name}, ${walk.length} maps`;
      this.strip = element('div', {class: 'strip', role: 'listbox', tabindex: 0, 'aria-label': name, 'aria-orientation': 'horizontal'});
      this.strip.dir = this.tokens ? labels.direction(this.tokens.slice(0, 50).join(' ')) : 'ltr';
      this.frames = Array.from({length: walk.length}, (_, place) => this.makeFrame(place));
      this.strip.append(...this.frames.map(frame => frame.element));
      this.container.append(this.strip);
    }

    makeFrame(place) {
      const draw = (c, width, height) => this.drawFrame(c, width, height, place);
      const surface = this.isEmpty ? null : chart.surface({height: width => Math.min(96, width / this.aspect), seen: place < 20, draw});
      const made = element('div', {class: 'frame', role: 'option', id: `frame-${place}`, dataset: {place}, title: labels.shorten(this.placeName(place), 200)},
        ...(surface ? [surface.element] : []), element('bdi', {class: 'frame-name', text: labels.shorten(this.placeText(place), 24)}));
      return {element: made, surface};
    }

    placeText(place) {
      return this.tokens ? labels.printable(this.tokens[place]) : `${this.walk.name} ${place + 1}`;
    }

    placeName(place) {
      const count = `${place + 1} of ${this.walk.length}`;
      return this.tokens ? `${labels.shorten(this.placeText(place), 60)}, ${count}` : `${this.walk.name} ${count}`;
    }

    listen() {
      const stage = this.stage.element;
      stage.addEventListener('pointermove', event => this.pointAt(event));
      stage.addEventListener('pointerdown', event => this.pointAt(event));
      stage.addEventListener('pointerleave', event => {
        if (event.pointerType === 'mouse' && !stage.matches(':focus-visible')) this.setCell(null);
      });
      stage.addEventListener('keydown', event => this.pressedOnStage(event));
      if (!this.strip) return;
      this.strip.addEventListener('click', event => {
        const frame = event.target.closest('[data-place]');
        if (!frame) return;
        if (this.player.isPlaying()) this.player.toggle();
        this.goTo(Number(frame.dataset.place));
      });
      this.strip.addEventListener('keydown', event => this.pressedOnStrip(event));
    }

    // --- What is chosen

    goTo(place) {
      this.context.select({panel: this.walk.panelAt(this.context.panel, place)});
      this.context.announce(this.placeName(place));
    }

    setCell(cell) {
      if (this.isEmpty) return;
      this.cell = cell;
      this.stage.redraw();
      this.fillReadOut();
    }

    pointAt(event) {
      const {item} = this.context, box = this.stage.canvas.getBoundingClientRect();
      const across = (event.clientX - box.left) / box.width, down = (event.clientY - box.top) / box.height;
      if (across < 0 || across >= 1 || down < 0 || down >= 1) return;
      const cell = {row: Math.floor(down * item.rows), column: Math.floor(across * item.columns)};
      if (!this.cell || cell.row !== this.cell.row || cell.column !== this.cell.column) this.setCell(cell);
    }

    pressedOnStage(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const {rows, columns} = this.context.item, {cell} = this, by = event.shiftKey ? 5 : 1;
      const move = {ArrowLeft: [0, -by], ArrowRight: [0, by], ArrowUp: [-by, 0], ArrowDown: [by, 0]}[event.key];
      const moved = (place, count, axis) => chart.clamp(place + move[axis], 0, count - 1);
      const jump = {Home: {row: 0, column: 0}, End: {row: rows - 1, column: columns - 1}}[event.key];
      if (event.key === ' ' && this.player) this.player.toggle();
      else if (event.key === 'Escape' && cell) this.setCell(null);
      else if (jump) this.setCell(jump);
      else if (move && cell) this.setCell({row: moved(cell.row, rows, 0), column: moved(cell.column, columns, 1)});
      else if (move) this.setCell(this.map && this.map.at ? {...this.map.at} : {row: 0, column: 0});
      else return;
      event.preventDefault();
      if (this.cell) this.context.announce(this.readOut.textContent);
    }

    pressedOnStrip(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const forward = this.strip.dir === 'rtl' ? -1 : 1, last = this.walk.length - 1, here = this.walk.placeOf(this.context.panel);
      const to = {
        ArrowRight: here + forward, ArrowLeft: here - forward, ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: last, PageUp: here - 5, PageDown: here + 5,
      }[event.key];
      if (event.key === ' ' || event.key === 'Enter') this.player.toggle();
      else if (to !== undefined) {
        if (this.player.isPlaying()) this.player.toggle();
        this.goTo(chart.clamp(to, 0, last));
      } else return;
      event.preventDefault();
    }

    settings() {
      const {state} = this.context;
      return {
        smooth: state.get('map', 'smooth', ['smooth', 'blocks']) === 'smooth', shade: state.get('shade', 'colour', ['colour', 'light']),
        opacity: state.get('opacity', 65, value => value >= 0 && value <= 100), full: state.get('strongest', 'map', ['map', 'all']),
      };
    }

    // --- Data

    async load() {
      const {context} = this;
      this.shown = context.panel;
      // Only the map can't be missed.
      const [picture] = await Promise.all([
        raster.load(context).catch(error => context.fail(error)), this.isEmpty ? null : this.loadMap(), this.loadLargest().catch(context.fail),
        this.loadThumbnails().catch(context.fail),
      ]);
      this.picture = picture || null;
      if (!this.isClosed) this.update();
    }

    async loadMap() {
      const {context} = this, number = context.panel, {rows, columns} = context.item;
      const panel = await context.source.panel(context.exampleNumber, context.itemNumber, number);
      if (this.isClosed || this.shown !== number) return;
      const values = new Float32Array(rows * columns);
      for (let r = 0; r < rows; ++r) values.set(panel.row(r), r * columns);
      const facts = chart.facts(values);
      this.map = {number, panel, values, facts, at: facts.at < 0 ? null : {row: Math.floor(facts.at / columns), column: facts.at % columns}};
      this.painted = null;
    }

    async loadLargest() {
      const {context} = this;
      if (context.item.panels < 2 || this.isEmpty) return;
      const summary = await context.source.json(`summary?example=${context.exampleNumber}&item=${context.itemNumber}`);
      this.allLargest = Math.max(0, ...summary.panels.map(panel => panel.largest).filter(Number.isFinite));
    }

    async loadThumbnails() {
      const {context} = this, {panels, thumbnail: [rows, columns]} = context.item;
      if (!this.strip || this.isEmpty || panels * rows * columns * 4 > thumbnailBytes) return;
      const buffer = await context.source.bytes(`thumbnails?example=${context.exampleNumber}&item=${context.itemNumber}`);
      this.thumbnails = new Float32Array(buffer, 0, Math.min(panels * rows * columns, Math.floor(buffer.byteLength / 4)));
    }

    update() {
      if (!this.stage) return;
      if (!this.isEmpty && this.shown !== this.context.panel) {
        this.shown = this.context.panel;
        this.loadMap().then(() => { if (!this.isClosed) this.show(); }).catch(error => this.showFailure(error));
        this.showPlace();
        return;
      }
      this.show();
    }

    show() {
      const {smooth, shade, opacity, full} = this.settings();
      this.look.set(smooth ? 'smooth' : 'blocks');
      this.shade.set(shade);
      this.opacity.set(opacity);
      this.full.set(full);
      this.painted = null;
      this.stage.redraw();
      this.showPlace();
      this.fillLegend(shade, full);
      this.fillReadOut();
      // The strip shows each frame in the same way, but for the place that is chosen.
      const others = this.walk && this.walk.panelAt(this.context.panel, 0);
      const look = JSON.stringify([smooth, shade, opacity, full, colours.isDark(), this.thumbnails !== null, this.picture !== null, others]);
      if (this.frames && look !== this.frameLook) for (const frame of this.frames) if (frame.surface) frame.surface.redraw();
      this.frameLook = look;
    }

    showFailure(error) {
      if (this.isClosed) return;
      this.map = this.cell = this.shown = null;
      this.stage.redraw();
      this.legend.element.hidden = true;
      this.readOut.textContent = error.message;
    }

    showPlace() {
      if (!this.walk) {
        this.title.hidden = true;
        return;
      }
      const place = this.walk.placeOf(this.context.panel), text = labels.shorten(this.placeText(place), 120);
      this.title.replaceChildren(element('bdi', {text}), element('span', {class: 'quiet', text: `${place + 1} of ${this.walk.length}`}));
      this.player.update();
      if (!this.strip || this.strip.dataset.chosen === String(place)) return;
      this.strip.dataset.chosen = place;
      this.strip.setAttribute('aria-activedescendant', `frame-${place}`);
      for (const [number, frame] of this.frames.entries()) frame.element.setAttribute('aria-selected', String(number === place));
      scrollIntoStrip(this.strip, this.frames[place].element);
    }

    fullScale() {
      if (!this.map) return 1;
      return this.settings().full === 'all' && this.allLargest > 0 ? this.allLargest : this.map.facts.high;
    }

    fillLegend(shade, full) {
      this.legend.element.hidden = !this.map || (this.hasPicture && shade === 'light');
      if (!this.map) return;
      const missing = this.map.values.length - this.map.facts.count, dark = this.hasPicture || colours.isDark();
      const high = full === 'all' && this.allLargest > 0 ? this.allLargest : this.map.facts.high;
      this.legend.update({dark, low: '0', high: labels.number(high), keys: missing ? [['not a number', colours.css(colours.missing(dark))]] : []});
    }

    fillReadOut() {
      const {item} = this.context;
      if (this.isEmpty) {
        this.readOut.textContent = 'The map has no cells: one of its axes has no places.';
        return;
      }
      if (!this.map) return;
      const {map, cell} = this;
      if (!cell) {
        const missing = map.values.length - map.facts.count;
        const parts = [`${item.rows} × ${item.columns} cells`];
        if (map.at) parts.push(`largest ${labels.number(map.facts.high)} in row ${map.at.row + 1}, column ${map.at.column + 1}`);
        if (missing) parts.push(`${missing} not a number`);
        this.readOut.textContent = parts.join('; ');
        return;
      }
      const value = labels.number(map.values[cell.row * item.columns + cell.column]), remark = chart.remark(map.panel, cell.row, cell.column);
      this.readOut.textContent = `Row ${cell.row + 1}, column ${cell.column + 1}: ${value}${remark}`;
    }

    // --- Drawing

    draw(c, width, height) {
      if (this.isEmpty) {
        if (this.picture) drawPlain(c, this.picture, width, height);
        return;
      }
      if (!this.map) return;
      c.imageSmoothingEnabled = false;
      c.drawImage(this.paint(width, height, c), 0, 0, width, height);
      if (this.cell) this.drawCell(c, width, height);
    }

    // The picture with its map, painted once for each change of either.
    paint(width, height, c) {
      const {smooth} = this.settings(), scale = Math.min(c.canvas.width / width, finest / Math.max(width, height));
      const pixels = {width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale))};
      if (this.painted && this.painted.width === pixels.width && this.painted.height === pixels.height) return this.painted;
      if (this.picture && (!this.base || this.base.width !== pixels.width || this.base.height !== pixels.height)) {
        this.base = raster.scaled(this.picture, pixels.width, pixels.height);
      }
      const {rows, columns} = this.context.item, weights = raster.resample({values: this.map.values, rows, columns, ...pixels, smooth});
      this.painted = this.overlay({base: this.base, weights, ...pixels, full: this.fullScale()});
      return this.painted;
    }

    overlay(what) {
      const {shade, opacity} = this.settings();
      return raster.overlay({...what, opacity: opacity / 100, light: shade === 'light', dark: this.hasPicture || colours.isDark()});
    }

    drawCell(c, width, height) {
      const {rows, columns} = this.context.item, wide = width / columns, tall = height / rows;
      const box = [this.cell.column * wide, this.cell.row * tall, Math.max(3, wide), Math.max(3, tall)];
      for (const [colour, line] of [['rgba(0, 0, 0, 0.8)', 3], ['rgb(255, 255, 255)', 1.25]]) {
        c.strokeStyle = colour;
        c.lineWidth = line;
        c.strokeRect(...box);
      }
    }

    drawFrame(c, width, height, place) {
      const {item, panel} = this.context, [rows, columns] = item.thumbnail, number = this.walk.panelAt(panel, place);
      if (!this.thumbnails) return;
      const values = this.thumbnails.subarray(number * rows * columns, (number + 1) * rows * columns);
      if (values.length < rows * columns) return;
      const {smooth, full} = this.settings(), pixels = {width: Math.round(width), height: Math.max(1, Math.round(height))};
      const weights = raster.resample({values, rows, columns, ...pixels, smooth});
      if (this.picture && (!this.frameBase || this.frameBase.width !== pixels.width || this.frameBase.height !== pixels.height)) {
        this.frameBase = raster.scaled(this.picture, pixels.width, pixels.height);
      }
      const strongest = full === 'all' && this.allLargest > 0 ? this.allLargest : chart.facts(values).high;
      c.drawImage(this.overlay({base: this.frameBase, weights, ...pixels, full: strongest}), 0, 0, width, height);
    }

    close() {
      this.isClosed = true;
      if (!this.stage) return;
      this.stage.close();
      if (this.player) this.player.close();
      for (const frame of this.frames || []) if (frame.surface) frame.surface.close();
    }
  }

  function drawPlain(c, picture, width, height) {
    c.imageSmoothingEnabled = !raster.areLarge(picture, width);
    c.drawImage(picture, 0, 0, width, height);
  }

  // scrollIntoView() would move the page too.
  function scrollIntoStrip(strip, frame) {
    const outer = strip.getBoundingClientRect(), inner = frame.getBoundingClientRect();
    if (inner.left < outer.left) strip.scrollLeft -= outer.left - inner.left + inner.width;
    else if (inner.right > outer.right) strip.scrollLeft += inner.right - outer.right + inner.width;
  }

  attend.views = attend.views || [];
  attend.views.push({
    name: 'picture', title: 'Picture',
    accepts: (record, example, item) => Boolean(item) && (item.kind === 'spatial' || item.kind === 'glimpse'),
    open: (container, context) => context.item.kind === 'glimpse' ? attend.glimpses(container, context) : new PictureView(container, context),
    keys: [['←  →', 'on the strip: word or step before, next; on the picture: cell or step'], ['↑  ↓', 'on the picture: cell above, below'],
           ['Space', 'play, pause'], ['Home  End', 'first, last'], ['Escape', 'no cell']],
    positions: ['step'],
  });
})(window.attend = window.attend || {});
