// Buttons that walk through steps, one after the other: words of a caption, glimpses at a picture.
//
// attend.player({count, name, place, go, state})
//   count          number of steps, at least 2
//   name(place)    what a step is called, for screen readers and the slider
//   place(), go(place)   the step that is shown, and showing another
//   state          attend.state; the speed is kept there
// gives {element, update(), toggle(), step(by), isPlaying(), close()}; update() after the step changed.
(function (attend) {
  'use strict';

  const {element, controls} = attend;
  const speeds = [['0.5', 'every 2 s'], ['1', 'every second'], ['2', '2 a second'], ['5', '5 a second']];

  attend.player = ({count, name, place, go, state}) => {
    let timer = null;
    const speed = () => Number(state.get('speed', '1', speeds.map(([value]) => value)));
    const button = (text, label, press) => element('button', {type: 'button', class: 'control', text, 'aria-label': label, title: label, on: {click: press}});

    const before = button('‹', 'Step before', () => step(-1)), next = button('›', 'Next step', () => step(1));
    const play = button('Play', 'Play', () => toggle());
    play.classList.add('play');
    const slider = controls.slider({
      label: 'Step', min: 1, max: count, step: 1, value: place() + 1, show: value => `${value} of ${count}`, change: value => moveTo(value - 1),
    });
    const rate = controls.list({label: 'Speed', options: speeds, value: String(speed()), change: value => state.set({speed: value})});
    const made = element('div', {class: 'player', role: 'group', 'aria-label': 'Steps'}, before, play, next, slider, rate);

    function moveTo(to) {
      stop();
      go(to);
    }

    function step(by) {
      const to = Math.min(count - 1, Math.max(0, place() + by));
      if (to !== place()) moveTo(to);
    }

    function stop() {
      clearTimeout(timer);
      timer = null;
      showPlaying();
    }

    function schedule() {
      timer = setTimeout(() => {
        if (place() >= count - 1) {
          stop();
          return;
        }
        go(place() + 1);
        schedule();
      }, 1000 / speed());
    }

    function toggle() {
      if (timer !== null) {
        stop();
        return;
      }
      if (place() >= count - 1) go(0);
      schedule();
      showPlaying();
    }

    function showPlaying() {
      const text = timer === null ? 'Play' : 'Pause';
      play.textContent = text;
      play.title = `${text} (space)`;
      play.setAttribute('aria-label', text);
    }

    function update() {
      slider.set(place() + 1);
      slider.querySelector('input').setAttribute('aria-valuetext', name(place()));
      rate.set(String(speed()));
      before.disabled = place() <= 0;
      next.disabled = place() >= count - 1;
    }

    showPlaying();
    update();
    return {element: made, update, toggle, step, isPlaying: () => timer !== null, close: () => clearTimeout(timer)};
  };
})(window.attend = window.attend || {});
