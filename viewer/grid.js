// Grid: a thumbnail of each panel of the example, module by module, with entropy, distance and largest weight. Modules are read as they
// scroll into view.
//
// State: shade=one|largest: what has the strongest colour, 1 or the largest weight of each thumbnail.
(function (attend) {
  'use strict';

  const {element, controls, colours, labels, heatMap} = attend;

  const side = 64;        // pixels of the longer side of a thumbnail; they have at most so many rows and columns
  const few = 48;         // so many panels, or fewer, get twice the side
  const ahead = '300px';  // how far below the window modules are read already

  class Grid {
    constructor(container, context) {
      this.context = context;
      this.isRoomy = context.example.items.reduce((sum, item) => sum + item.panels, 0) <= few;
      this.sections = context.example.items.map((item, number) => this.buildSection(item, number));
      this.list = element('div', {class: this.isRoomy ? 'grid roomy' : 'grid', on: {click: event => this.click(event), keydown: event => this.key(event), focusin: event => this.focused(event)}},
        ...this.sections.map(section => section.element));
      this.legend = controls.legend();
      this.shade = controls.choice({label: 'Full scale', options: [['largest', 'largest of each'], ['one', '1']], value: 'largest', change: v => context.state.set({shade: v === 'one' ? v : null})});
      const counted = this.sections.reduce((sum, section) => sum + section.cells.length, 0);
      const help = `${counted} maps: H is entropy in bits, ↔ how far it looks in places, max the largest weight. Click a map, or press Enter on it, to see it large.`;
      container.append(controls.bar(this.shade, this.legend.element), element('p', {class: 'quiet grid-help', text: help}), this.list);
      this.watcher = new IntersectionObserver(entries => entries.filter(entry => entry.isIntersecting).forEach(entry => this.load(this.sectionOf(entry.target))), {rootMargin: ahead});
      this.sections.forEach(section => this.watcher.observe(section.element));
      this.drawn = new Promise(resolve => { this.firstDrawn = resolve; });
      if (this.sections.every(section => section.cells.length === 0)) this.firstDrawn();
      this.update();
      if (context.itemNumber > 0 && this.marked) requestAnimationFrame(() => this.marked.button.scrollIntoView({block: 'center'}));
    }

    // --- Elements

    buildSection(item, number) {
      const cells = Array.from({length: item.panels}, (_, panel) => this.buildCell(item, number, panel));
      const layer = item.layer === 0 && this.context.example.items.length > 1 ? ', layer 0' : '';
      const heading = element('h2', {}, element('bdi', {text: labels.item(item) + layer}), element('span', {class: 'quiet', text: ` ${item.kind}, ${item.rows} × ${item.columns}`}));
      const message = element('p', {class: 'quiet', text: cells.length === 0 ? 'No panels.' : ''});
      return {
        item, number, cells, message, asked: false, thumbnails: null,
        element: element('section', {dataset: {item: number}, 'aria-label': labels.item(item)}, heading, message, element('div', {class: 'cells'}, ...cells.map(cell => cell.button))),
      };
    }

    buildCell(item, number, panel) {
      const canvas = element('canvas', {width: 1, height: 1, 'aria-hidden': 'true'}), [width, height] = thumbnailSize(item, this.isRoomy ? 2 * side : side);
      [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
      const name = labels.shortPanel(this.context.example, item, panel) || labels.item(item);
      const caption = element('span', {class: 'caption'});
      const button = element('button', {type: 'button', class: 'cell', tabindex: -1, dataset: {item: number, panel}, 'aria-label': this.fullName(item, panel)},
        element('span', {class: 'frame'}, canvas), element('bdi', {class: 'name', text: name}), caption);
      return {button, canvas, caption, panel};
    }

    fullName(item, panel) {
      return [labels.item(item), labels.panel(this.context.example, item, panel)].filter(Boolean).join(', ');
    }

    sectionOf(target) {
      return this.sections[Number(target.dataset.item)];
    }

    // --- Data

    async load(section) {
      if (section.asked) return;
      section.asked = true;
      this.watcher.unobserve(section.element);
      const {source, exampleNumber} = this.context, place = `?example=${exampleNumber}&item=${section.number}`;
      try {
        const [buffer, summary] = await Promise.all([source.bytes('thumbnails' + place), source.json('summary' + place)]);
        const [rows, columns] = section.item.thumbnail, needed = section.cells.length * rows * columns * 4;
        if (buffer.byteLength < needed) throw new Error(`Expected ${needed} bytes of thumbnails of item ${section.number}, got ${buffer.byteLength}. Page and server may be of different versions.`);
        section.thumbnails = new Float32Array(buffer, 0, section.cells.length * rows * columns);
        section.summary = summary.panels;
        if (this.closed) return;
        this.fill(section);
      } catch (error) {
        section.message.textContent = error.message;
        section.message.className = 'problem';
      }
      this.firstDrawn();
    }

    fill(section) {
      for (const cell of section.cells) {
        const facts = section.summary[cell.panel];
        if (!facts) continue;
        cell.caption.replaceChildren(...captionOf(facts).map(text => element('span', {text})));
        cell.button.title = `${this.fullName(section.item, cell.panel)}\n${sentenceOf(facts)}`;
        cell.button.setAttribute('aria-label', `${this.fullName(section.item, cell.panel)}: ${sentenceOf(facts)}`);
      }
      this.paint(section);
      this.showLegend();
    }

    // --- Drawing

    update() {
      const {state} = this.context;
      const key = `${state.get('shade', 'largest', ['largest', 'one'])} ${colours.isDark()}`;
      if (key !== this.paintedFor) {
        this.paintedFor = key;
        this.relative = key.startsWith('largest');
        this.shade.set(this.relative ? 'largest' : 'one');
        this.sections.filter(section => section.thumbnails).forEach(section => this.paint(section));
        this.showLegend();
      }
      this.mark();
    }

    showLegend() {
      const isMissing = this.sections.some(({summary}) => summary && summary.some(facts => facts.not_a_number > 0));
      this.legend.update({
        dark: colours.isDark(), low: '0', high: this.relative ? 'largest of each' : '1', keys: isMissing ? [['not a number', colours.css(colours.missing())]] : [],
        note: this.isReduced() ? 'Thumbnails show means of blocks.' : '',
      });
    }

    isReduced() {
      return this.sections.some(({item}) => item.rows > item.thumbnail[0] || item.columns > item.thumbnail[1]);
    }

    paint(section) {
      const [rows, columns] = section.item.thumbnail;
      for (const {canvas, panel} of section.cells) {
        const weights = section.thumbnails.subarray(panel * rows * columns, (panel + 1) * rows * columns);
        if (weights.length === 0) continue;
        const scale = heatMap.scale({full: this.relative ? largest(weights) : 1});
        const image = heatMap.image(weights, columns, rows, scale, colours.isDark());
        [canvas.width, canvas.height] = [columns, rows];
        canvas.getContext('2d').drawImage(image, 0, 0);
      }
    }

    // The chosen panel is marked, and the one place that Tab goes to.
    mark() {
      const {itemNumber, panel} = this.context, chosen = this.sections[itemNumber] ? this.sections[itemNumber].cells[panel] : null;
      if (this.marked) {
        this.marked.button.removeAttribute('aria-current');
        if (this.marked.button !== document.activeElement) this.marked.button.tabIndex = -1;
      }
      this.marked = chosen;
      if (!chosen) return;
      chosen.button.setAttribute('aria-current', 'true');
      if (!this.list.contains(document.activeElement)) this.makeStop(chosen.button);
    }

    makeStop(button) {
      if (this.stop) this.stop.tabIndex = -1;
      this.stop = button;
      button.tabIndex = 0;
    }

    // --- Choosing

    click(event) {
      const button = event.target.closest('.cell');
      if (!button) return;
      this.context.select({view: 'matrix', item: Number(button.dataset.item), panel: Number(button.dataset.panel)});
    }

    focused(event) {
      const button = event.target.closest('.cell');
      if (button) this.makeStop(button);
    }

    key(event) {
      const button = event.target.closest('.cell');
      if (!button || event.ctrlKey || event.altKey || event.metaKey) return;
      const next = {
        ArrowLeft: () => this.along(button, -1), ArrowRight: () => this.along(button, 1), ArrowUp: () => this.across(button, -1), ArrowDown: () => this.across(button, 1),
        Home: () => this.buttons()[0], End: () => this.buttons().at(-1),
      }[event.key];
      if (!next) return;
      event.preventDefault();
      const to = next();
      if (!to) return;
      to.focus();
      to.scrollIntoView({block: 'nearest'});
    }

    buttons() {
      return this.sections.flatMap(section => section.cells.map(cell => cell.button));
    }

    along(button, by) {
      const all = this.buttons();
      return all[all.indexOf(button) + by];
    }

    // The nearest one in the next line up or down, as they stand on the screen.
    across(button, by) {
      const box = button.getBoundingClientRect(), centre = box.left + box.width / 2, all = this.buttons();
      let best = null, line = null;
      for (let i = all.indexOf(button) + by; i >= 0 && i < all.length; i += by) {
        const other = all[i].getBoundingClientRect();
        if (Math.abs(other.top - box.top) < 2) continue;
        if (line === null) line = other.top;
        if (Math.abs(other.top - line) >= 2) break;
        const off = Math.abs(other.left + other.width / 2 - centre);
        if (!best || off < best.off) best = {off, button: all[i]};
      }
      return best && best.button;
    }

    close() {
      this.closed = true;
      this.watcher.disconnect();
    }
  }

  // Shaped as the panel, but no thinner than can be seen.
  function thumbnailSize({rows, columns}, longer) {
    const longest = Math.max(rows, columns, 1), length = count => Math.max(10, Math.round(longer * count / longest));
    return [length(columns), length(rows)];
  }

  function largest(weights) {
    let most = 0;
    for (const weight of weights) {
      if (weight > most && weight < Infinity) most = weight;
    }
    return most;
  }

  const short = value => (Number.isFinite(value) ? String(Number(value.toPrecision(value < 1 ? 2 : 3))) : '–');

  const captionOf = ({entropy, distance, largest: most, not_a_number: missing}) =>
    [`H ${short(entropy)}`, `↔ ${short(distance)}`, `max ${short(most)}`, ...(missing > 0 ? [`NaN ${missing}`] : [])];

  const sentenceOf = ({entropy, distance, largest: most, not_a_number: missing}) =>
    `entropy ${short(entropy)} bits, distance ${short(distance)} places, largest weight ${short(most)}` + (missing > 0 ? `, ${missing} not a number` : '');

  attend.views = attend.views || [];
  attend.views.push({
    name: 'grid',
    title: 'Grid',
    keys: [['↑  ↓  ←  →', 'go from map to map'], ['Enter', 'see it large'], ['Home  End', 'first, last map']],
    accepts: (record, example) => example !== null && example.items.reduce((sum, item) => sum + item.panels, 0) > 1,
    open: (container, context) => new Grid(container, context),
  });
})(window.attend = window.attend || {});
