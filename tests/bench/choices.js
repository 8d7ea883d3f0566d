// What a user chooses, and how long it takes until it is seen. `choice` and `done` are the arguments of the script, which
// gives milliseconds, null, or a sentence about what is wrong.
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

/** An element, as soon as it is there. */
const present = async (css) => {
  for (let looks = 0; looks < 600; looks += 1) {
    if ($(css)) return $(css);
    await new Promise((next) => setTimeout(next, 50));
  }
  throw new Error(`there is no ${css}`);
};

/** Clicks an element as soon as it is there, and waits for the last change. */
const click = async (css) => {
  const element = await present(css);
  return lastChange(() => element.click());
};

const THRESHOLD = '#threshold-critical_efficiency_percent';
const CHOICES = {
  gpu: {
    async ready() {
      const select = $('#gpu');
      if (!select) return null;
      const [automatic, ...options] = select.options;
      // The one that the trace names would change nothing.
      const present = select.value || automatic.text.replace(' (detected)', '');
      const other = options.find(({ value }) => ['NVIDIA H200 SXM', 'AMD Instinct MI300X'].includes(value) && value !== present);
      if (!other) throw new Error('the list has none of the GPUs that are chosen');
      return () => {
        select.value = other.value;
        heard(select, 'change');
      };
    },
    async after() {},
  },
  step: {
    async ready() {
      // The bars come after the answer.
      await lastChange(() => {});
      if ($('#step-bar-0')) return () => $('#step-bar-0').click();
      // Of a single step there is no bar: the Timeline analyzes it, and then its address does.
      await click('[data-nav=timeline]');
      const step = $('#step')?.options[1];
      if (step) {
        $('#step').value = step.value;
        await lastChange(() => heard($('#step'), 'change'));
        await click('#analyze-range');
      }
      const range = location.hash.match(/window=[^&]+/)?.[0];
      if (range) await this.after();
      await click('[data-nav=overview]');
      return range && (() => (location.hash += (location.hash.includes('?') ? '&' : '?') + range));
    },
    async after() {
      await click('#whole-trace');
    },
  },
  threshold: {
    async ready() {
      if (!$('#thresholds-button')) return null;
      await click('#thresholds-button');
      const input = await present(THRESHOLD);
      return () => {
        input.value = input.value === '0' ? '30' : '0';
        heard(input, 'change');
      };
    },
    async after() {
      await click('#thresholds-button');
    },
  },
};

(async () => {
  const act = await CHOICES[choice].ready();
  if (!act) return done(null);
  const ms = await lastChange(act);
  await CHOICES[choice].after();
  done(ms);
})().catch((error) => done(error.message));
