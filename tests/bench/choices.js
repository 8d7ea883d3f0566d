// What a user chooses, and how long it takes until it is seen. `choice` and `done` are the arguments of the script.
//
// A choice has
//
//   ready()  what has to be there before; null where the trace has no such choice, else what chooses
//   after()  puts things back as they were
//
// and is over with the frame after the last change of the page.

const QUIET_MS = 1000;
const [choice, done] = arguments;
const $ = (css) => document.querySelector(css);
const heard = (element, type) => element.dispatchEvent(new Event(type, { bubbles: true }));

/** Resolves with the milliseconds from an act to the frame that shows the last change it made. */
const lastChange = (act) =>
  new Promise((resolve) => {
    const start = performance.now();
    let changed = start;
    let shown = start;
    const watch = new MutationObserver(() => {
      changed = performance.now();
      requestAnimationFrame(() => setTimeout(() => (shown = performance.now())));
    });
    watch.observe(document.body, { attributes: true, characterData: true, childList: true, subtree: true });
    const look = () => {
      if (performance.now() - changed < QUIET_MS) return setTimeout(look, 100);
      watch.disconnect();
      resolve(shown - start);
    };
    act();
    look();
  });

const THRESHOLD = '#threshold-critical_efficiency_percent';
const CHOICES = {
  gpu: {
    async ready() {
      const select = $('#gpu');
      const known = ['NVIDIA H200', 'AMD Instinct MI300X'];
      const other = known.find((name) => name !== select?.value);
      if (![...(select?.options ?? [])].some((option) => option.value === other)) return null;
      return () => {
        select.value = other;
        heard(select, 'change');
      };
    },
    async after() {},
  },
  step: {
    async ready() {
      return $('#step-bar-0') && (() => $('#step-bar-0').click());
    },
    async after() {
      await lastChange(() => $('#whole-trace').click());
    },
  },
  threshold: {
    async ready() {
      await lastChange(() => $('#thresholds-button')?.click());
      const input = $(THRESHOLD);
      return input && (() => {
        input.value = input.value === '0' ? '30' : '0';
        heard(input, 'change');
      });
    },
    async after() {
      await lastChange(() => $('#thresholds-button').click());
    },
  },
};

(async () => {
  const { ready, after } = CHOICES[choice];
  const act = await ready();
  if (!act) return done(null);
  const ms = await lastChange(act);
  await after();
  done(ms);
})();
