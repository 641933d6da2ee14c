// What the page shows, kept in the address behind the #, so that an address can be shared: #view=matrix&example=0&panel=3.
//
// attend.state.get(name, fallback, allowed)  the value, of the type of `fallback` (text, number or boolean). `allowed`: a list of values, or a
//                                            function that says whether a value will do. What won't do counts as absent.
// attend.state.set({name: value, …})         null, undefined and '' take a name out. Booleans are written 1 and 0.
// attend.state.listen(f)                     calls f(names) with the Set of names that changed, by set() or by the address; gives a function
//                                            that stops it.
(function (attend) {
  'use strict';

  // Browsers refuse an address that changes more often than about three times a second; values in between are kept here.
  const pause = 350;

  let values = parse(), writtenAt = -Infinity, timer = null;
  const listeners = new Set();

  function parse() {
    return new Map(new URLSearchParams(location.hash.slice(1)));
  }

  function write() {
    clearTimeout(timer);
    timer = null;
    writtenAt = performance.now();
    const text = new URLSearchParams([...values]).toString();
    try {
      history.replaceState(null, '', text ? '#' + text : location.pathname + location.search);
    } catch {
      // a frame that may not change its address: the page works without
    }
  }

  function tell(names) {
    for (const listener of [...listeners]) listener(names);
  }

  function get(name, fallback, allowed) {
    const text = values.get(name);
    if (text === undefined) return fallback;
    let value = text;
    if (typeof fallback === 'number') value = text.trim() === '' ? NaN : Number(text);
    if (typeof fallback === 'boolean') value = text === '1' ? true : text === '0' ? false : null;
    if (value === null || (typeof value === 'number' && !Number.isFinite(value))) return fallback;
    if (Array.isArray(allowed)) return allowed.includes(value) ? value : fallback;
    return !allowed || allowed(value) ? value : fallback;
  }

  function set(changes) {
    const names = new Set();
    for (const [name, value] of Object.entries(changes)) {
      const text = value === null || value === undefined || value === '' ? undefined : typeof value === 'boolean' ? (value ? '1' : '0') : String(value);
      if (values.get(name) === text) continue;
      if (text === undefined) values.delete(name);
      else values.set(name, text);
      names.add(name);
    }
    if (names.size === 0) return;
    const wait = writtenAt + pause - performance.now();
    if (wait <= 0) write();
    else if (timer === null) timer = setTimeout(write, wait);
    tell(names);
  }

  function listen(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  window.addEventListener('hashchange', () => {
    const before = values;
    values = parse();
    clearTimeout(timer);
    timer = null;
    const names = new Set([...before.keys(), ...values.keys()].filter(name => before.get(name) !== values.get(name)));
    if (names.size > 0) tell(names);
  });
  const writeNow = () => { if (timer !== null) write(); };
  window.addEventListener('pagehide', writeNow);
  window.addEventListener('blur', writeNow);  // on the way to the address bar

  attend.state = {get, set, listen};
})(window.attend = window.attend || {});
