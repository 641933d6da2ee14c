// The box beside a view that tells of what is pointed at.
//
// attend.inspector.make(label)                the box
// attend.inspector.hint(box, text)            while there is nothing to tell
// attend.inspector.tell(box, [[term, content], …])   content: element or text
// attend.inspector.token(text)                the whole token, however long
// attend.inspector.bars([[name, weight], …], scale)  weights with a bar each; scale: attend.heatMap.scale()
(function (attend) {
  'use strict';

  const {element, labels} = attend;

  // It may scroll, and so must be reached by keys.
  const make = label => element('aside', {class: 'inspector', 'aria-label': label, tabindex: 0});

  const hint = (box, text) => box.replaceChildren(element('p', {class: 'quiet', text}));

  function tell(box, terms) {
    box.replaceChildren(element('dl', {}, ...terms.flatMap(([term, content]) => [element('dt', {text: term}), element('dd', {}, content)])));
  }

  const token = text => element('bdi', {class: 'token', text});

  function bars(weights, scale) {
    return element('ol', {class: 'strongest'}, ...weights.map(([name, weight]) => {
      const bar = element('span');
      bar.style.width = `${Math.min(1, Math.max(0, weight / scale.full)) * 100}%`;
      return element('li', {}, element('bdi', {class: 'name', text: labels.shorten(name, 60)}), element('span', {text: labels.number(weight)}), element('div', {class: 'rail'}, bar));
    }));
  }

  attend.inspector = {make, hint, tell, token, bars};
})(window.attend = window.attend || {});
