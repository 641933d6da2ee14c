// Hierarchy: a text of sentences (kind `hierarchy`): the weight of each sentence as a bar, its words tinted by their weight within it.
(function (attend) {
  'use strict';

  const {element, controls, labels, chart, colours} = attend;
  const wordsAtOnce = 4000;

  // The other half: the words' item for that of the sentences, and the other way round. Of several the one that stands nearest.
  function partnerOf(example, number) {
    const axis = example.items[number].column_axis;
    let best = -1;
    example.items.forEach((item, place) => {
      if (item.kind !== 'hierarchy' || item.column_axis === axis) return;
      if (best < 0 || Math.abs(place - number) < Math.abs(best - number)) best = place;
    });
    return best;
  }

  // Words of each sentence, as [first, behind the last]. Words that no sentence claims make a last one.
  function sentencesOf(example) {
    const count = example.source.length, bounds = [];
    let from = 0;
    for (const length of example.sentences || []) {
      bounds.push([Math.min(from, count), Math.min(from + length, count)]);
      from += length;
    }
    if (from < count) bounds.push([from, count]);
    return bounds;
  }

  class HierarchyView {
    constructor(container, context) {
      const {example} = context, other = partnerOf(example, context.itemNumber);
      const byAxis = name => [context.itemNumber, other].find(number => number >= 0 && example.items[number].column_axis === name);
      Object.assign(this, {context, container, current: null, limit: wordsAtOnce, words: null, weights: null, elements: new Map(), order: [], isClosed: false});
      this.sentenceItem = byAxis('sentence');
      this.wordItem = byAxis('source');
      this.bounds = sentencesOf(example);
      if (this.bounds.length === 0) {
        container.append(element('p', {class: 'empty', text: 'This example has no sentences: its text is empty.'}));
        return;
      }
      this.build();
      this.drawn = this.load();
    }

    // --- Elements

    build() {
      const set = name => value => this.context.state.set({[name]: value});
      const tints = [['sentence', 'within their sentence'], ['text', 'in the whole text']], orders = [['order', 'as they stand'], ['weight', 'largest first']];
      this.tint = controls.choice({label: 'Words', options: tints, value: 'sentence', change: set('words')});
      this.tint.hidden = this.wordItem === undefined || this.sentenceItem === undefined;
      this.sorting = controls.choice({label: 'Sentences', options: orders, value: 'order', change: set('sentences')});
      this.sorting.hidden = this.sentenceItem === undefined || this.bounds.length < 2;
      this.readOut = element('p', {class: 'read-out', dataset: {role: 'read-out'}});
      this.list = element('ol', {
        class: 'sentences', tabindex: 0,
        'aria-label': 'Sentences with their words. Left and right arrow keys move from word to word, up and down from sentence to sentence.',
      });
      this.more = controls.button({label: 'Show more', title: 'Show more sentences', press: () => this.showMore()});
      this.legend = controls.legend();
      this.container.append(controls.bar(this.tint, this.sorting), this.readOut, this.list, this.more, this.legend.element);
      this.list.addEventListener('pointermove', event => this.pointAt(event));
      this.list.addEventListener('pointerdown', event => this.pointAt(event));
      this.list.addEventListener('pointerleave', event => {
        if (event.pointerType === 'mouse' && !this.list.matches(':focus-visible')) this.setCurrent(null);
      });
      this.list.addEventListener('keydown', event => this.pressed(event));
    }

    // --- Data

    async load() {
      const {source, exampleNumber} = this.context;
      const read = async number => number === undefined ? null : (await source.panel(exampleNumber, number, 0)).row(0);
      [this.weights, this.words] = await Promise.all([read(this.sentenceItem), read(this.wordItem)]);
      if (this.isClosed) return;
      this.update();
    }

    weightOf(sentence) {
      return this.weights && sentence < this.weights.length ? this.weights[sentence] : NaN;
    }

    tintName() {
      return this.tint.hidden ? 'sentence' : this.context.state.get('words', 'sentence', ['sentence', 'text']);
    }

    sortedSentences() {
      const numbers = this.bounds.map((_, number) => number);
      if (this.sorting.hidden || this.context.state.get('sentences', 'order', ['order', 'weight']) === 'order') return numbers;
      const size = number => Number.isNaN(this.weightOf(number)) ? -Infinity : this.weightOf(number);
      return numbers.sort((a, b) => size(b) - size(a) || a - b);
    }

    sentenceOfWord(word) {
      return this.bounds.findIndex(([from, to]) => word >= from && word < to);
    }

    // What a word is tinted by, and what has the strongest tint.
    tintOf(word, sentence) {
      if (!this.words) return NaN;
      return this.tintName() === 'text' ? this.words[word] * this.weightOf(sentence) : this.words[word];
    }

    strongest(sentence) {
      const largest = number => {
        const [from, to] = this.bounds[number];
        let high = 0;
        for (let word = from; word < to; ++word) if (this.tintOf(word, number) > high) high = this.tintOf(word, number);
        return high;
      };
      if (this.tintName() === 'sentence') return largest(sentence);
      if (this.allStrongest === null) this.allStrongest = this.bounds.reduce((high, _, number) => Math.max(high, largest(number)), 0);
      return this.allStrongest;
    }

    // --- What is shown

    update() {
      if (!this.list) return;
      const names = [this.tintName(), this.context.state.get('sentences', 'order', ['order', 'weight'])];
      this.tint.set(names[0]);
      this.sorting.set(names[1]);
      if (!this.weights && !this.words) return;
      const look = JSON.stringify([...names, colours.isDark(), this.limit]);
      if (look === this.look) return;
      this.look = look;
      this.allStrongest = null;
      this.fill();
      this.fillLegend();
      this.fillReadOut();
    }

    fill() {
      this.elements.clear();
      this.order = this.sortedSentences();
      const largest = this.weights ? chart.facts(this.weights).high : 0, made = [];
      let words = 0;
      for (const number of this.order) {
        if (made.length > 0 && words >= this.limit) break;
        const [from, to] = this.bounds[number];
        made.push(this.makeSentence(number, largest, Math.min(to, from + Math.max(this.limit - words, 50))));
        words += to - from;
      }
      this.list.replaceChildren(...made);
      this.more.hidden = words <= this.limit && made.length === this.bounds.length;
      this.markCurrent();
    }

    makeSentence(number, largest, end) {
      const [from] = this.bounds[number], weight = this.weightOf(number), {source} = this.context.example;
      const text = element('p', {class: 'words', dir: labels.direction(source.slice(from, Math.min(end, from + 30)).join(' '))});
      const strongest = this.strongest(number);
      for (let word = from; word < end; ++word) text.append(this.makeWord(word, number, strongest), ' ');
      if (end === from) text.append(element('span', {class: 'quiet', text: '(no words)'}));
      const made = element('li', {class: 'sentence', dataset: {sentence: number}}, element('span', {class: 'sentence-number quiet', text: String(number + 1)}));
      if (this.weights) made.append(makeBar(weight, largest));
      made.append(text);
      return made;
    }

    makeWord(word, sentence, strongest) {
      const made = element('span', {class: 'word', dataset: {word}, text: labels.shorten(labels.printable(this.context.example.source[word]), 80)});
      const tint = this.tintOf(word, sentence);
      if (this.words && (Number.isNaN(tint) || tint > 0)) {
        const colour = Number.isNaN(tint) ? colours.missing() : colours.of(strongest > 0 ? tint / strongest : 0);
        made.style.background = colours.css(colour);
        made.style.color = colours.css(Number.isNaN(tint) ? colours.ink() : colours.textOn(colour));
        if (Number.isNaN(tint)) made.classList.add('missing');
      }
      this.elements.set(word, made);
      return made;
    }

    showMore() {
      this.limit += wordsAtOnce;
      this.update();
    }

    fillLegend() {
      this.legend.element.hidden = !this.words;
      if (!this.words) return;
      const missing = this.words.length - chart.facts(this.words).count, isText = this.tintName() === 'text';
      this.legend.update({low: '0', high: isText ? labels.number(this.strongest(0)) : 'largest of each sentence', dark: colours.isDark(),
        keys: missing ? [['not a number', colours.css(colours.missing())]] : [], note: isText ? 'Weight of the word × weight of its sentence.' : ''});
    }

    fillReadOut() {
      this.readOut.textContent = this.current === null ? this.summary() : this.wordText(this.current);
    }

    summary() {
      const parts = [`${this.bounds.length} ${this.bounds.length === 1 ? 'sentence' : 'sentences'}, ${this.context.example.source.length} words`];
      const facts = this.weights ? chart.facts(this.weights) : {at: -1};
      if (facts.at >= 0) parts.push(`the most weight, ${labels.number(facts.high)}, has sentence ${facts.at + 1}`);
      if (!this.weights) parts.push('the weights of sentences were not recorded');
      if (!this.words) parts.push('the weights of words were not recorded');
      return parts.join('; ');
    }

    wordText(word) {
      const sentence = this.sentenceOfWord(word), [from, to] = this.bounds[sentence];
      const parts = [`“${labels.shorten(labels.printable(this.context.example.source[word]), 80)}”, word ${word - from + 1} of ${to - from}`];
      if (this.words) {
        const weight = this.words[word], above = this.words.subarray(from, to).filter(other => other > weight).length;
        parts[0] += `: ${labels.number(weight)}` + (Number.isNaN(weight) ? '' : `, rank ${above + 1}`);
      }
      if (this.weights) parts.push(`sentence ${sentence + 1}: ${labels.number(this.weightOf(sentence))}`);
      if (this.words && this.weights) parts.push(`together ${labels.number(this.words[word] * this.weightOf(sentence))}`);
      return parts.join('; ');
    }

    // --- The word that is looked at

    setCurrent(word) {
      if (word === this.current) return;
      this.current = word;
      this.markCurrent();
      this.fillReadOut();
    }

    markCurrent() {
      for (const marked of this.list.querySelectorAll('.word.current')) marked.classList.remove('current');
      if (this.current !== null && this.elements.has(this.current)) this.elements.get(this.current).classList.add('current');
    }

    pointAt(event) {
      const word = event.target.closest('[data-word]');
      if (word) this.setCurrent(Number(word.dataset.word));
    }

    pressed(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const to = this.target(event.key);
      if (to === undefined) return;
      event.preventDefault();
      this.setCurrent(to);
      if (to === null) return;
      if (!this.elements.has(to)) this.showMore();
      const shown = this.elements.get(to);
      if (shown) shown.scrollIntoView({block: 'nearest'});
      this.context.announce(this.readOut.textContent);
    }

    // The word that a key leads to; undefined: none.
    target(key) {
      if (key === 'Escape' && this.current !== null) return null;
      const filled = this.order.filter(number => this.bounds[number][1] > this.bounds[number][0]);
      if (filled.length === 0 || !['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End'].includes(key)) return undefined;
      if (this.current === null) return this.bounds[filled[0]][0];
      const sentence = this.sentenceOfWord(this.current), place = filled.indexOf(sentence), [from, to] = this.bounds[sentence];
      if (key === 'Home') return from;
      if (key === 'End') return to - 1;
      if (key === 'ArrowUp' || key === 'ArrowDown') {
        const [first, end] = this.bounds[filled[chart.clamp(place + (key === 'ArrowUp' ? -1 : 1), 0, filled.length - 1)]];
        return Math.min(first + this.current - from, end - 1);
      }
      const line = this.elements.get(this.current), isLeft = key === 'ArrowLeft', forward = line && line.parentElement.dir === 'rtl' ? isLeft : !isLeft;
      const next = this.current + (forward ? 1 : -1);
      if (next >= from && next < to) return next;
      const beside = filled[place + (forward ? 1 : -1)];
      if (beside === undefined) return this.current;
      return forward ? this.bounds[beside][0] : this.bounds[beside][1] - 1;
    }

    close() { this.isClosed = true; }
  }

  function makeBar(weight, largest) {
    const rail = element('span', {class: 'rail'}), bar = element('span');
    bar.style.width = `${largest > 0 && weight > 0 ? Math.min(100, weight / largest * 100) : 0}%`;
    rail.append(bar);
    return element('span', {class: 'sentence-weight'}, rail, element('span', {text: labels.number(weight)}));
  }

  attend.views = attend.views || [];
  attend.views.push({
    name: 'hierarchy', title: 'Hierarchy',
    accepts: (record, example, item) => Boolean(item) && item.kind === 'hierarchy',
    open: (container, context) => new HierarchyView(container, context),
    keys: [['←  →', 'word before, next'], ['↑  ↓', 'sentence above, below'], ['Home  End', 'first, last word of the sentence'], ['Escape', 'no word']],
  });
})(window.attend = window.attend || {});
