// Try it: a text is sent to the model of a run; its answer appears with its attention below.
(function (attend) {
  'use strict';

  const {element, controls, labels} = attend;

  // Outlives the view: a new example opens all views anew, and one may look at others in between.
  const tries = [];       // {text, output, example} or {text, error}, the newest first
  const draft = {text: '', isFocused: false, recalled: -1};
  let waiting = null;     // the text that was sent
  let shown = null;       // the open view

  function checked(answer) {
    const {example, entry, output} = answer || {};
    if (!Number.isInteger(example) || example < 0 || !entry || !Array.isArray(entry.items)) {
      throw new Error('The server gave an answer that this page does not understand. Page and server are of different versions: reload.');
    }
    return {example, entry, output: typeof output === 'string' ? output : entry.output || ''};
  }

  async function send(text, context) {
    waiting = text;
    if (shown) shown.showWaiting();
    let tried;
    try {
      const {example, entry, output} = checked(await context.source.post('try', {text}));
      context.addExample(example, entry);
      tried = {text, output, example};
    } catch (error) {
      tried = {text, error: error.message};
    }
    waiting = null;
    tries.unshift(tried);
    if (!tried.error && draft.text === text) draft.text = '';
    draft.recalled = -1;
    context.announce(tried.error ? `Error: ${tried.error}` : `Answer: ${tried.output || 'empty'}`);
    if (!shown) return;
    if (tried.error) shown.showAll();
    else shown.choose(tried.example);
  }

  class TryView {
    constructor(container, context) {
      Object.assign(this, {context, container, below: null});
      this.build();
      shown = this;
      this.showAll();
      this.drawn = this.showBelow();
      if (draft.isFocused) this.field.focus();
    }

    // --- Elements

    build() {
      const {run} = this.context.record, hint = typeof run.try_hint === 'string' ? run.try_hint : '';
      this.field = element('input', {
        type: 'text', id: 'try-text', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', dir: 'auto', placeholder: hint, maxlength: 100000,
      });
      this.button = element('button', {type: 'submit', class: 'primary', text: 'Send'});
      this.form = element('form', {class: 'try'}, element('label', {for: 'try-text', text: 'Your text'}), this.field, this.button);
      this.problem = element('p', {class: 'problem try-problem', role: 'alert', hidden: true});
      this.answer = element('div', {class: 'try-answer', 'aria-live': 'off', 'aria-label': 'Answer', role: 'group'});
      this.attention = element('div', {class: 'try-attention'});
      this.history = element('ol', {class: 'try-history'});
      this.tried = element('section', {class: 'try-tried', hidden: true}, element('h2', {text: 'Tried so far'}), this.history);
      this.container.append(this.form, this.problem, this.answer, this.attention, this.tried);
      this.field.value = draft.text;
      this.form.addEventListener('submit', event => {
        event.preventDefault();
        this.submit();
      });
      this.field.addEventListener('input', () => { draft.text = this.field.value; });
      this.field.addEventListener('keydown', event => this.recall(event));
    }

    // What was tried before, as in a shell.
    recall(event) {
      const by = {ArrowUp: 1, ArrowDown: -1}[event.key];
      if (!by || waiting !== null || tries.length === 0) return;
      event.preventDefault();
      draft.recalled = Math.min(tries.length - 1, Math.max(-1, draft.recalled + by));
      draft.text = this.field.value = draft.recalled < 0 ? '' : tries[draft.recalled].text;
    }

    submit() {
      const text = this.field.value;
      if (waiting !== null) return;
      if (text.trim() === '') {
        this.field.focus();
        this.context.announce('There is nothing to send yet: type a text.');
        return;
      }
      draft.text = text;
      send(text, this.context);
    }

    choose(example) {
      this.context.select({view: 'try', example, item: null, panel: null});
      this.showAll();
    }

    // --- What is shown

    current() {
      return tries.find(tried => !tried.error && tried.example === this.context.exampleNumber) || null;
    }

    showAll() {
      this.showWaiting();
      const newest = tries[0], current = this.current();
      this.problem.hidden = !newest || !newest.error;
      this.problem.textContent = newest && newest.error ? newest.error : '';
      this.answer.hidden = current === null;
      if (current) {
        this.answer.replaceChildren(element('p', {class: 'try-question quiet'}, element('bdi', {text: labels.shorten(current.text, 500)})),
          element('p', {class: 'try-output', dir: labels.direction(current.output), text: current.output === '' ? '(an empty answer)' : current.output}));
      }
      this.attention.hidden = current === null;
      this.fillHistory();
    }

    showWaiting() {
      const isWaiting = waiting !== null;
      this.button.disabled = isWaiting;
      this.field.readOnly = isWaiting;
      this.form.setAttribute('aria-busy', String(isWaiting));
      this.button.textContent = isWaiting ? 'Waiting …' : 'Send';
      if (!isWaiting && this.field.value !== draft.text) this.field.value = draft.text;
    }

    fillHistory() {
      const current = this.current();
      this.tried.hidden = tries.length === 0;
      this.history.replaceChildren(...tries.map(tried => element('li', {}, this.makeTried(tried, tried === current))));
    }

    makeTried(tried, isCurrent) {
      const said = tried.error || tried.output || '(an empty answer)';
      const text = element('bdi', {text: labels.shorten(labels.printable(tried.text), 80)});
      const answer = element('bdi', {class: tried.error ? 'tried-error' : 'tried-output', text: labels.shorten(said, 160)});
      if (tried.error) return element('span', {class: 'tried'}, text, answer);
      const click = () => {
        this.choose(tried.example);
        this.context.announce(`Answer: ${tried.output}`);
      };
      return element('button', {type: 'button', class: 'tried', 'aria-current': isCurrent ? 'true' : null, on: {click}}, text, answer);
    }

    // --- The attention of the answer, drawn by another view

    belowViews() {
      const {record, example, item} = this.context;
      return ['matrix', 'links'].map(name => attend.views.find(view => view.name === name)).filter(view => view && item && view.accepts(record, example, item));
    }

    // What goes wrong below must not take the field away.
    async showBelow() {
      try {
        await this.openBelow();
      } catch (error) {
        this.attention.replaceChildren(element('p', {class: 'empty problem', role: 'alert', text: error.message}));
      }
    }

    async openBelow() {
      if (this.current() === null) return;
      const views = this.belowViews();
      if (views.length === 0) {
        const text = this.context.item ? 'No view can show what this system attended to.' : 'This system has no attention to show.';
        this.attention.replaceChildren(element('p', {class: 'empty', text}));
        return;
      }
      const name = this.context.state.get('attention', views[0].name, views.map(view => view.name)), view = views.find(one => one.name === name);
      const place = element('div', {class: 'view', dataset: {view: name}}), options = views.map(one => [one.name, one.title.toLowerCase()]);
      this.choice = controls.choice({label: 'Attention as', options, value: name, change: attention => this.context.state.set({attention})});
      this.choice.hidden = views.length < 2;
      this.attention.replaceChildren(this.choice, place);
      this.below = {name, context: {...this.context}};
      this.below.view = view.open(place, this.below.context);
      await this.below.view.drawn;
    }

    closeBelow() {
      if (this.below && this.below.view) this.below.view.close();
      this.below = null;
    }

    update() {
      if (!this.below || !this.below.view) {
        this.showAll();
        this.showBelow();
        return;
      }
      const wanted = this.context.state.get('attention', this.below.name, this.belowViews().map(view => view.name));
      if (wanted !== this.below.name) {
        this.closeBelow();
        this.showBelow();
        return;
      }
      this.below.context.panel = this.context.panel;
      this.below.view.update();
    }

    close() {
      draft.isFocused = document.activeElement === this.field;
      if (shown === this) shown = null;
      this.closeBelow();
    }
  }

  attend.views = attend.views || [];
  attend.views.push({
    name: 'try', title: 'Try it',
    accepts: record => Boolean(record.served && record.run && record.run.can_try),
    open: (container, context) => new TryView(container, context),
    keys: [['Enter', 'send'], ['↑  ↓', 'in the field: what was tried before']],
  });
})(window.attend = window.attend || {});
