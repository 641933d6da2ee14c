// The page around the views: what is chosen, which view shows it, keys, light and dark. Loaded last.
//
// A view file pushes into attend.views an object of
//   name         its name in the address
//   title        on its tab
//   accepts(record, example, item)   whether it can show that; example and item are null where there are none
//   open(container, context)         fills the empty element `container`; gives {update(), close(), drawn}:
//       update()   is called, at most once a frame, after any change of the state, of the panel (context.panel) or of light and dark
//       close()    is called before the view is thrown away; another example, item or view opens anew
//       drawn      optional promise: the first drawing is done, or failed
//   keys         optional [[keys, what they do], …] for the help
//   positions    optional names in the state that mean nothing for another example or item; choosing one takes them out
//
// context: {source, state, record, exampleNumber, example, itemNumber, item, panel,
//           select({view, example, item, panel})   chooses, as the user would
//           addExample(number, entry)              puts a new example into the index
//           announce(text)                         for screen readers
//           fail(error)                            shows an error on the page}
(function (attend) {
  'use strict';

  const {element, state, source, labels} = attend;
  const views = attend.views = attend.views || [];
  const byId = id => document.getElementById(id);

  // The first of these that accepts an item is shown where the address names none.
  const favourites = {
    alignment: ['matrix', 'links'], self: ['matrix', 'links'], spatial: ['picture', 'matrix'], channel: ['channels', 'matrix'],
    temporal: ['sequence', 'matrix'], branch: ['channels', 'matrix'], glimpse: ['picture', 'matrix'], hierarchy: ['hierarchy', 'matrix'],
  };
  const manyPanels = 16;  // more than these are first shown all at once

  let context = null, opened = null, openedKey = '', filledFor = '', frame = 0;

  // --- Messages

  function fail(error) {
    const message = error instanceof Error ? error.message : String(error);
    const dismiss = element('button', {type: 'button', class: 'plain', text: 'Dismiss'});
    const problem = element('p', {class: 'problem'}, element('span', {text: message}), dismiss);
    dismiss.addEventListener('click', () => problem.remove());
    if (![...byId('problems').children].some(other => other.firstChild.textContent === message)) byId('problems').append(problem);
  }

  let announcing = 0;
  function announce(text) {
    // Whoever moves fast hears the last place only.
    clearTimeout(announcing);
    announcing = setTimeout(() => { byId('announcements').textContent = text; }, 120);
  }

  // --- Light and dark

  const systemIsDark = matchMedia('(prefers-color-scheme: dark)');

  function applyTheme() {
    const dark = state.get('theme', systemIsDark.matches ? 'dark' : 'light', ['light', 'dark']) === 'dark';
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    const other = dark ? 'light' : 'dark';
    byId('theme').textContent = dark ? 'Light' : 'Dark';
    byId('theme').setAttribute('aria-label', `Switch to ${other} colours`);
    byId('theme').title = `Switch to ${other} colours`;
  }

  function toggleTheme() {
    state.set({theme: attend.colours.isDark() ? 'light' : 'dark'});
  }

  // --- What is chosen

  const isIndexBelow = length => value => Number.isInteger(value) && value >= 0 && value < length;

  function selection() {
    const {record} = source, examples = record.examples;
    const first = Math.max(0, examples.findIndex(Boolean));
    const exampleNumber = state.get('example', first, value => isIndexBelow(examples.length)(value) && Boolean(examples[value]));
    const example = examples[exampleNumber] || null;
    const items = example ? example.items : [];
    const itemNumber = state.get('item', 0, isIndexBelow(items.length));
    const item = items[itemNumber] || null;
    const panel = item ? state.get('panel', 0, isIndexBelow(item.panels)) : 0;
    return {record, exampleNumber, example, itemNumber, item, panel};
  }

  function accepting(chosen) {
    return views.filter(view => view.accepts(chosen.record, chosen.example, chosen.item));
  }

  function viewFor(chosen, choices) {
    const named = name => choices.find(view => view.name === name);
    const wanted = named(state.get('view', ''));
    if (wanted) return wanted;
    const panels = chosen.example ? chosen.example.items.reduce((sum, item) => sum + item.panels, 0) : 0;
    if (panels > manyPanels && named('grid')) return named('grid');
    const favourite = chosen.item ? (favourites[chosen.item.kind] || []).map(named).find(Boolean) : null;
    return favourite || choices[0] || null;
  }

  function select(changes) {
    const cleared = {};
    if ('example' in changes || 'item' in changes) {
      for (const view of views) for (const name of view.positions || []) cleared[name] = null;
    }
    if ('example' in changes && !('item' in changes) && !hasItem(changes.example, context.itemNumber)) cleared.item = null;
    state.set({...cleared, ...changes});
  }

  function hasItem(exampleNumber, itemNumber) {
    const example = source.record.examples[exampleNumber];
    return Boolean(example && example.items[itemNumber]);
  }

  // Goes to the next thing that exists, in steps of +1 or −1; stays at the ends.
  function step(name, count, exists, by) {
    let place = context[{example: 'exampleNumber', item: 'itemNumber', panel: 'panel'}[name]] + by;
    while (place >= 0 && place < count && !exists(place)) place += by;
    if (place < 0 || place >= count) return;
    select({[name]: place});
    announce(stepLabel(name));
  }

  const stepExample = by => step('example', source.record.examples.length, place => Boolean(source.record.examples[place]), by);
  const stepItem = by => step('item', context.example ? context.example.items.length : 0, () => true, by);
  const stepPanel = by => step('panel', context.item ? context.item.panels : 0, () => true, by);

  function stepLabel(name) {
    const chosen = selection();
    if (name === 'example') return `Example ${chosen.exampleNumber + 1}: ${labels.shorten(labels.printable(chosen.example.id), 60)}`;
    if (name === 'item') return labels.item(chosen.item);
    return labels.panel(chosen.example, chosen.item, chosen.panel);
  }

  // --- Choosers

  const isolated = text => `\u2068${text}\u2069`;  // so that a right-to-left token doesn't turn what stands beside it

  // Options are made anew only where they differ: there may be thousands.
  function fillChooser(name, key, texts, chosen) {
    const select = byId(name);
    if (select.dataset.key !== key) {
      select.replaceChildren(...texts().map(([value, text]) => element('option', {value, text})));
      select.dataset.key = key;
    }
    select.value = String(chosen);
    const {options, selectedIndex} = select;
    byId(`${name}-before`).disabled = selectedIndex <= 0;
    byId(`${name}-after`).disabled = selectedIndex >= options.length - 1;
    byId(`${name}-chooser`).hidden = options.length <= 1;
  }

  function panelAxes(item) {
    const axes = item ? item.axes.slice(0, -2).filter((_, axis) => item.shape[axis] > 1) : [];
    const name = axes.join(' × ') || 'head';
    return name[0].toUpperCase() + name.slice(1);
  }

  function fillChoosers(chosen) {
    const {record, exampleNumber, example, itemNumber, item, panel} = chosen;
    const count = record.examples.filter(Boolean).length;
    fillChooser('example', String(count), () => record.examples.flatMap(({id} = {}, number) =>
      id === undefined ? [] : [[number, `${number + 1}. ${isolated(labels.shorten(labels.printable(id), 60))}`]]), exampleNumber);
    fillChooser('item', `${count} ${exampleNumber}`, () => (example ? example.items : []).map((one, number) =>
      [number, isolated(labels.item(one)) + (example.items.length > 1 && one.kind === 'hierarchy' ? ` (${one.axes.at(-1)})` : '')]), itemNumber);
    fillChooser('panel', `${count} ${exampleNumber} ${itemNumber}`, () => Array.from({length: item ? item.panels : 0}, (_, place) =>
      [place, isolated(labels.panel(example, item, place) || '1')]), panel);
    document.querySelector('label[for="panel"]').textContent = panelAxes(item);
    byId('choosers').hidden = ['example', 'item', 'panel'].every(name => byId(`${name}-chooser`).hidden);
  }

  // --- Tabs

  function fillTabs(choices, current) {
    const key = choices.map(view => view.name).join(' ');
    const tabs = byId('tabs');
    if (tabs.dataset.key !== key) {
      tabs.replaceChildren(...choices.map((view, place) => element('button', {
        type: 'button', role: 'tab', id: `tab-${view.name}`, 'aria-controls': 'view', text: view.title, title: place < 9 ? `${view.title} (${place + 1})` : view.title,
        on: {click: () => select({view: view.name})},
      })));
      tabs.dataset.key = key;
    }
    for (const tab of tabs.children) {
      const isCurrent = tab.id === `tab-${current && current.name}`;
      tab.setAttribute('aria-selected', String(isCurrent));
      tab.tabIndex = isCurrent ? 0 : -1;
    }
    tabs.hidden = choices.length === 0;
    if (current) byId('view').setAttribute('aria-labelledby', `tab-${current.name}`);
    else byId('view').removeAttribute('aria-labelledby');
  }

  function moveInTabs(event) {
    const tabs = [...byId('tabs').children], place = tabs.indexOf(document.activeElement);
    const to = {ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: tabs.length - 1}[event.key];
    if (place < 0 || to === undefined) return;
    event.preventDefault();
    const tab = tabs[(to + tabs.length) % tabs.length];
    tab.click();
    tab.focus();
  }

  // --- What the item is, and what was shortened of it

  function noteOf(item) {
    const {kept} = item;
    if (kept.form === 'top-k' && kept.k < item.columns) return `Top ${kept.k}: only the ${kept.k} largest weights of each row were kept.`;
    if (kept.form === 'thumbnail' && (kept.block[0] > 1 || kept.block[1] > 1)) return `Thumbnail: only means of blocks of ${kept.block[0]} × ${kept.block[1]} weights were kept.`;
    return '';
  }

  function fillFacts({example, item}) {
    const parts = [];
    if (item) {
      parts.push(element('span', {}, element('bdi', {text: labels.item(item)})));
      parts.push(element('span', {text: item.kind}));
      parts.push(element('span', {text: item.axes.map((axis, place) => `${axis} ${item.shape[place]}`).join(' × ')}));
      if (noteOf(item)) parts.push(element('span', {class: 'note', text: noteOf(item)}));
    }
    if (example && example.output) {
      parts.push(element('span', {class: 'output', title: labels.shorten(example.output, 2000)}, 'Output: ', element('bdi', {text: labels.shorten(labels.printable(example.output), 200)})));
    }
    byId('facts').replaceChildren(...parts);
  }

  // --- Views

  function explainNothing({record, example}) {
    const text = record.examples.length === 0
      ? 'This recording holds no examples. Record some with: attend predict RUN --record FILE.attn'
      : example && example.items.length > 0 ? 'No view can show this item.' : 'This example holds no weights. Choose another one.';
    byId('view').replaceChildren(element('p', {class: 'empty', text}));
    markDrawn('');
  }

  function markDrawn(name) {
    requestAnimationFrame(() => setTimeout(() => {
      if (document.documentElement.dataset.view !== name) return;
      document.documentElement.dataset.ready = '1';
      if (performance.getEntriesByName('attend-first-view').length === 0) performance.mark('attend-first-view');
    }));
  }

  function closeView() {
    if (opened) opened.close();
    opened = null;
  }

  function openView(view, chosen) {
    closeView();
    document.documentElement.dataset.view = view ? view.name : '';
    delete document.documentElement.dataset.ready;
    context = {source, state, ...chosen, select, addExample, announce, fail};
    if (!view) {
      explainNothing(chosen);
      return;
    }
    const container = element('div', {class: 'view', dataset: {view: view.name}});
    byId('view').replaceChildren(container);
    try {
      opened = view.open(container, context);
      Promise.resolve(opened.drawn).catch(error => showFailure(container, error)).then(() => markDrawn(view.name));
    } catch (error) {
      showFailure(container, error);
      markDrawn(view.name);
    }
  }

  function showFailure(container, error) {
    container.replaceChildren(element('p', {class: 'empty problem', role: 'alert', text: error.message}));
  }

  function refresh() {
    frame = 0;
    applyTheme();
    const chosen = selection(), choices = accepting(chosen), view = viewFor(chosen, choices);
    const selected = JSON.stringify([view ? view.name : '', chosen.exampleNumber, chosen.itemNumber, chosen.panel, chosen.record.examples.length]);
    if (selected !== filledFor) {
      filledFor = selected;
      fillChoosers(chosen);
      fillTabs(choices, view);
      fillFacts(chosen);
    }
    const key = JSON.stringify([view ? view.name : '', chosen.exampleNumber, chosen.itemNumber, chosen.record.examples.length]);
    if (key !== openedKey) {
      openedKey = key;
      openView(view, chosen);
    } else if (opened) {
      context.panel = chosen.panel;
      try {
        opened.update();
      } catch (error) {
        fail(error);
      }
    }
  }

  function schedule() {
    if (frame === 0) frame = requestAnimationFrame(refresh);
  }

  function addExample(number, entry) {
    source.record.examples[number] = entry;
    schedule();
  }

  // --- Help

  const pageKeys = [
    ['1 … 9', 'view'], ['[  ]', 'example before, next'], [';  \'', 'module before, next'], [',  .', 'head before, next'],
    ['Tab', 'next control'], ['?', 'this help'],
  ];

  function keyTable(title, keys) {
    return [element('h3', {text: title}), element('dl', {class: 'keys'}, ...keys.flatMap(([names, what]) =>
      [element('dt', {}, ...names.split('  ').map(name => element('kbd', {text: name}))), element('dd', {text: what})]))];
  }

  function openHelp() {
    const dialog = byId('help');
    if (dialog.open) return;
    const close = element('button', {type: 'button', text: 'Close', on: {click: () => dialog.close()}});
    const current = views.filter(view => view.keys && view.name === document.documentElement.dataset.view);
    dialog.replaceChildren(
      element('h2', {id: 'help-title', text: 'Keys'}), ...keyTable('Everywhere', pageKeys), ...current.flatMap(view => keyTable(view.title, view.keys)),
      element('p', {class: 'quiet', text: 'The address of this page holds all that is chosen: copy it to show somebody what you see.'}), close);
    dialog.showModal();
  }

  const globalKeys = {
    '[': () => stepExample(-1), ']': () => stepExample(1), ';': () => stepItem(-1), '\'': () => stepItem(1), ',': () => stepPanel(-1), '.': () => stepPanel(1),
    '?': openHelp,
  };

  function pressed(event) {
    const isTyped = event.target.closest('textarea, select, [contenteditable], input:not([type=range], [type=radio], [type=checkbox])');
    const altGraph = event.getModifierState('AltGraph');
    if (event.defaultPrevented || isTyped || event.metaKey || ((event.ctrlKey || event.altKey) && !altGraph) || byId('help').open) return;
    const tab = /^[1-9]$/.test(event.key) ? byId('tabs').children[Number(event.key) - 1] : null;
    const action = tab ? () => tab.click() : globalKeys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  // --- Start

  function connect() {
    byId('skip').addEventListener('click', () => byId('view').focus());
    byId('theme').addEventListener('click', toggleTheme);
    byId('help-button').addEventListener('click', openHelp);
    byId('tabs').addEventListener('keydown', moveInTabs);
    byId('choosers').addEventListener('submit', event => event.preventDefault());
    for (const [name, stepBy] of [['example', stepExample], ['item', stepItem], ['panel', stepPanel]]) {
      byId(name).addEventListener('change', event => select({[name]: Number(event.target.value)}));
      byId(`${name}-before`).addEventListener('click', () => stepBy(-1));
      byId(`${name}-after`).addEventListener('click', () => stepBy(1));
    }
    document.addEventListener('keydown', pressed);
    systemIsDark.addEventListener('change', schedule);
    state.listen(schedule);
  }

  async function start() {
    applyTheme();
    try {
      const record = await source.load();
      const title = labels.shorten(labels.printable(record.title || 'attend'), 120);
      document.title = `${title} – attend`;
      byId('title').textContent = title;
      byId('run').textContent = record.run ? [record.run.system, record.run.name].filter(Boolean).join(' · ') : '';
      connect();
      refresh();
    } catch (error) {
      document.documentElement.dataset.view = '';
      byId('view').replaceChildren(element('p', {class: 'empty problem', role: 'alert', text: error.message}));
      markDrawn('');
    }
  }

  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start);
  else start();
})(window.attend = window.attend || {});
