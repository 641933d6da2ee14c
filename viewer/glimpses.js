// Glimpses: boxes over a picture in the order in which they were looked at, as a path that plays (kind `glimpse`). Shown by picture.js. Without
// the picture they lie in an empty square.
//
// attend.glimpses(container, context)   a view, as attend.views wants it
(function (attend) {
  'use strict';

  const {element, controls, labels, chart, raster} = attend;
  const most = 2000;                      // steps that are read
  const shades = [['path', 'up to this step'], ['all', 'all steps'], ['one', 'this step']];
  const light = 'rgb(255, 255, 255)', shadow = 'rgba(0, 0, 0, 0.75)', current = 'rgb(255, 196, 66)';

  class GlimpsesView {
    constructor(container, context) {
      const {item, example} = context;
      Object.assign(this, {context, container, steps: [], over: null, picture: null, isClosed: false});
      this.hasScales = item.axes.includes('scale');
      this.count = Math.min(most, this.hasScales ? item.panels : item.rows);
      if (this.count === 0 || item.columns < 4 || (this.hasScales && item.rows === 0)) {
        container.append(element('p', {class: 'empty', text: 'This item holds no glimpses: one of its axes has no places.'}));
        return;
      }
      this.aspect = example.picture ? chart.clamp(example.picture.width / example.picture.height || 1, 1 / 6, 12) : 1;
      this.build();
      this.drawn = this.load();
    }

    // --- Elements

    build() {
      const {context, count} = this;
      this.stage = chart.surface({class: 'picture-stage', height: width => width * this.tallness(), draw: (c, width, height) => this.draw(c, width, height)});
      Object.entries({tabindex: '0', role: 'application', 'aria-roledescription': 'path of glimpses',
                      'aria-label': `${count} glimpses. Left and right arrow keys go from step to step, space plays.`})
        .forEach(([name, value]) => this.stage.element.setAttribute(name, value));
      this.stage.element.style.maxWidth = `min(45rem, ${Math.max(20, 66 * this.aspect)}vh)`;
      this.boxes = controls.choice({label: 'Boxes', options: shades, value: 'path', change: boxes => context.state.set({boxes})});
      this.title = element('p', {class: 'picture-title'});
      this.readOut = element('p', {class: 'read-out', dataset: {role: 'read-out'}});
      this.crops = chart.surface({class: 'crops', height: () => 92, draw: (c, width) => this.drawCrops(c, width)});
      this.table = element('table', {class: 'largest'});
      const saw = element('p', {class: 'quiet', text: this.hasScales ? 'What it saw, finest scale first' : 'What it saw'});
      const crops = element('div', {class: 'crops-titled'}, saw, this.crops.element);
      crops.hidden = !context.example.picture;
      const side = element('div', {class: 'picture-side'}, this.title, crops, this.readOut, this.table);
      this.container.append(controls.bar(this.boxes), element('div', {class: 'picture-figure'}, this.stage.element, side));
      if (count > 1) {
        const name = place => `step ${place + 1} of ${count}`;
        this.player = attend.player({count, state: context.state, name, place: () => this.step(), go: place => this.goTo(place)});
        this.container.append(this.player.element);
      }
      const left = (this.hasScales ? context.item.panels : context.item.rows) - count;
      if (left > 0) this.container.append(element('p', {class: 'chart-note', text: `The first ${count} steps are shown.`}));
      this.listen();
    }

    listen() {
      const stage = this.stage.element;
      const point = event => {
        const over = this.boxUnder(event);
        if (JSON.stringify(over) === JSON.stringify(this.over)) return;
        this.over = over;
        this.stage.redraw();
        this.fillReadOut();
      };
      stage.addEventListener('pointermove', point);
      stage.addEventListener('pointerdown', event => {
        point(event);
        if (this.over) this.goTo(this.over.step);
      });
      stage.addEventListener('pointerleave', () => {
        this.over = null;
        this.stage.redraw();
        this.fillReadOut();
      });
      stage.addEventListener('keydown', event => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const here = this.step(), last = this.count - 1;
        const to = {ArrowLeft: here - 1, ArrowUp: here - 1, ArrowRight: here + 1, ArrowDown: here + 1, Home: 0, End: last}[event.key];
        if (event.key === ' ' && this.player) this.player.toggle();
        else if (to !== undefined) {
          if (this.player && this.player.isPlaying()) this.player.toggle();
          this.goTo(chart.clamp(to, 0, this.count - 1));
        } else return;
        event.preventDefault();
      });
    }

    // --- The step that is shown: with scales it is the panel, else a row

    step() {
      if (this.hasScales) return Math.min(this.context.panel, this.count - 1);
      return this.context.state.get('step', 1, value => Number.isInteger(value) && value >= 1 && value <= this.count) - 1;
    }

    goTo(step) {
      if (this.hasScales) this.context.select({panel: step});
      else this.context.state.set({step: step + 1});
      this.context.announce(`Step ${step + 1} of ${this.count}. ${this.boxText({step, scale: 0})}`);
    }

    shown() { return this.context.state.get('boxes', 'path', shades.map(([name]) => name)); }

    // Numbers of the steps whose boxes are drawn, the current one last.
    visible() {
      const here = this.step(), last = {path: here, all: this.count - 1, one: -1}[this.shown()];
      return [...Array.from({length: last + 1}, (_, step) => step).filter(step => step !== here), here];
    }

    // --- Data

    async load() {
      const {context, count} = this, {exampleNumber, itemNumber} = context;
      const read = number => context.source.panel(exampleNumber, itemNumber, number);
      const panels = await Promise.all(Array.from({length: this.hasScales ? count : 1}, (_, number) => read(number)));
      const picture = await raster.load(context).catch(error => context.fail(error));
      if (this.isClosed) return;
      this.picture = picture || null;
      const boxOf = row => ({left: row[0], top: row[1], width: row[2], height: row[3]});
      this.steps = this.hasScales ? panels.map(panel => Array.from({length: panel.rows}, (_, scale) => boxOf(panel.row(scale))))
                                  : Array.from({length: count}, (_, step) => [boxOf(panels[0].row(step))]);
      this.extent = this.extentOf();
      this.update();
    }

    // What is drawn, in parts of the picture: all of it, and what boxes reach beyond its edges, up to half of it on each side.
    extentOf() {
      const extent = {left: 0, top: 0, right: 1, bottom: 1};
      for (const box of this.steps.flat().filter(isDrawable)) {
        extent.left = Math.min(extent.left, box.left);
        extent.top = Math.min(extent.top, box.top);
        extent.right = Math.max(extent.right, box.left + box.width);
        extent.bottom = Math.max(extent.bottom, box.top + box.height);
      }
      const around = name => name ? 0.01 : 0, isLarger = extent.left < 0 || extent.top < 0 || extent.right > 1 || extent.bottom > 1;
      return {
        left: Math.max(-0.5, extent.left) - around(isLarger), top: Math.max(-0.5, extent.top) - around(isLarger),
        right: Math.min(1.5, extent.right) + around(isLarger), bottom: Math.min(1.5, extent.bottom) + around(isLarger),
      };
    }

    tallness() {
      const {left, top, right, bottom} = this.extent || {left: 0, top: 0, right: 1, bottom: 1};
      return (bottom - top) / (right - left) / this.aspect;
    }

    update() {
      if (!this.stage) return;
      this.boxes.set(this.shown());
      this.stage.redraw();
      this.crops.redraw();
      if (this.player) this.player.update();
      if (this.steps.length === 0) return;
      this.title.replaceChildren(element('span', {text: `Step ${this.step() + 1}`}), element('span', {class: 'quiet', text: `of ${this.count}`}));
      this.fillReadOut();
      this.fillTable();
    }

    // --- Texts

    boxText({step, scale}) {
      const box = this.steps[step][scale], {picture} = this.context.example;
      const name = `Step ${step + 1}${this.hasScales ? `, scale ${scale + 1}` : ''}`;
      if (![box.left, box.top, box.width, box.height].every(Number.isFinite)) return `${name}: not a number`;
      const parts = ['left', 'top', 'width', 'height'].map(side => `${side} ${labels.number(box[side])}`), text = `${name}: ${parts.join(', ')}`;
      if (!picture) return text;
      const across = part => Math.round(part * picture.width), down = part => Math.round(part * picture.height);
      return `${text} (${across(box.width)} × ${down(box.height)} pixels at ${across(box.left)}, ${down(box.top)})`;
    }

    fillReadOut() {
      if (this.steps.length > 0) this.readOut.textContent = this.boxText(this.over || {step: this.step(), scale: 0});
    }

    fillTable() {
      if (!this.hasScales) return;
      const cells = box => [box.left, box.top, box.width, box.height].map(value => element('td', {text: labels.number(value)}));
      this.table.replaceChildren(element('caption', {text: `Boxes of step ${this.step() + 1}`}),
        element('thead', {}, element('tr', {}, ...['scale', 'left', 'top', 'width', 'height'].map(text => element('th', {scope: 'col', text})))),
        element('tbody', {}, ...this.steps[this.step()].map((box, scale) => element('tr', {}, element('td', {text: String(scale + 1)}), ...cells(box)))));
    }

    // --- Drawing

    frameOf(width, height) {
      const {left, top, right, bottom} = this.extent, wide = width / (right - left), tall = height / (bottom - top);
      return {x: part => (part - left) * wide, y: part => (part - top) * tall, wide, tall};
    }

    boxUnder(event) {
      if (this.steps.length === 0) return null;
      const area = this.stage.canvas.getBoundingClientRect(), frame = this.frameOf(area.width, area.height);
      const x = event.clientX - area.left, y = event.clientY - area.top;
      // The smallest box below the pointer is the one that can't be meant otherwise.
      let best = null, least = Infinity;
      for (const step of this.visible()) {
        this.steps[step].forEach((box, scale) => {
          const isInside = (at, from, to) => at >= from && at <= to;
          const isUnder = isInside(x, frame.x(box.left), frame.x(box.left + box.width)) && isInside(y, frame.y(box.top), frame.y(box.top + box.height));
          if (isDrawable(box) && isUnder && box.width * box.height <= least) [best, least] = [{step, scale}, box.width * box.height];
        });
      }
      return best;
    }

    draw(c, width, height) {
      if (this.steps.length === 0) return;
      const frame = this.frameOf(width, height), colours = chart.palette();
      c.fillStyle = colours.line;
      c.fillRect(0, 0, width, height);
      this.drawPicture(c, frame, colours);
      const steps = this.visible(), here = this.step();
      this.drawPath(c, frame, [...steps].sort((a, b) => a - b));
      for (const step of steps) this.drawStep(c, frame, step, step === here);
      for (const step of steps) this.drawNumber(c, frame, step, step === here);
    }

    drawPicture(c, frame, colours) {
      const place = [frame.x(0), frame.y(0), frame.wide, frame.tall];
      if (this.picture) {
        c.imageSmoothingEnabled = !raster.areLarge(this.picture, frame.wide);
        c.drawImage(this.picture, ...place);
      } else if (!this.context.example.picture) {
        c.strokeStyle = colours.quiet;
        c.lineWidth = 1;
        c.strokeRect(place[0] + 0.5, place[1] + 0.5, place[2] - 1, place[3] - 1);
      }
    }

    drawPath(c, frame, steps) {
      const middle = box => [frame.x(box.left + box.width / 2), frame.y(box.top + box.height / 2)];
      const points = steps.map(step => this.steps[step][0]).filter(isDrawable).map(middle);
      if (points.length < 2) return;
      for (const [colour, line] of [[shadow, 4], [light, 1.75]]) {
        c.strokeStyle = colour;
        c.lineWidth = line;
        c.lineJoin = 'round';
        c.beginPath();
        points.forEach((point, place) => place === 0 ? c.moveTo(...point) : c.lineTo(...point));
        c.stroke();
      }
    }

    drawStep(c, frame, step, isCurrent) {
      this.steps[step].forEach((box, scale) => {
        if (!isDrawable(box) || (scale > 0 && !isCurrent && !(this.over && this.over.step === step))) return;
        const isOver = this.over && this.over.step === step && this.over.scale === scale, thick = isCurrent || isOver ? 2.25 : 1.25;
        // through the middles of pixels, so that the line is sharp
        const corner = [frame.x(box.left), frame.y(box.top)].map(place => Math.round(place) + 0.5);
        const edge = [...corner, Math.round(box.width * frame.wide), Math.round(box.height * frame.tall)];
        c.setLineDash(scale > 0 ? [6, 4] : []);
        for (const [colour, line] of [[shadow, thick + 2], [isCurrent ? current : light, thick]]) {
          c.strokeStyle = colour;
          c.lineWidth = line;
          c.strokeRect(...edge);
        }
        c.setLineDash([]);
      });
    }

    drawNumber(c, frame, step, isCurrent) {
      const box = this.steps[step][0];
      if (!isDrawable(box)) return;
      const text = String(step + 1), wide = Math.max(16, c.measureText(text).width + 8);
      const x = chart.clamp(frame.x(box.left), 0, frame.x(this.extent.right) - wide);
      const y = chart.clamp(frame.y(box.top) - 8, 0, frame.y(this.extent.bottom) - 16);
      c.fillStyle = isCurrent ? current : light;
      c.strokeStyle = shadow;
      c.lineWidth = 1;
      c.beginPath();
      c.roundRect(x, y, wide, 16, 4);
      c.fill();
      c.stroke();
      c.fillStyle = 'rgb(0, 0, 0)';
      c.textAlign = 'center';
      c.textBaseline = 'middle';
      c.fillText(text, x + wide / 2, y + 8.5);
    }

    // What each scale of this step saw, at one size, as the model gets it.
    drawCrops(c, width) {
      if (this.steps.length === 0 || !this.picture) return;
      const boxes = this.steps[this.step()], side = Math.min(92, Math.floor((width - 6 * (boxes.length - 1)) / boxes.length)), colours = chart.palette();
      boxes.forEach((box, scale) => {
        const x = scale * (side + 6);
        c.fillStyle = colours.line;
        c.fillRect(x, 0, side, side);
        if (!isDrawable(box)) {
          chart.missing(c, x, 0, side, side);
          return;
        }
        const {width: wide, height: tall} = this.picture;
        c.imageSmoothingEnabled = side / (box.width * wide) < 3;
        c.save();
        c.beginPath();
        c.rect(x, 0, side, side);
        c.clip();
        c.drawImage(this.picture, x - box.left / box.width * side, -box.top / box.height * side, side / box.width, side / box.height);
        c.restore();
      });
    }

    close() {
      this.isClosed = true;
      if (!this.stage) return;
      this.stage.close();
      this.crops.close();
      if (this.player) this.player.close();
    }
  }

  const isDrawable = box => [box.left, box.top, box.width, box.height].every(Number.isFinite) && box.width > 0 && box.height > 0;

  attend.glimpses = (container, context) => new GlimpsesView(container, context);
})(window.attend = window.attend || {});
