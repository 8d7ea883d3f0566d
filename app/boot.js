// Starts the app, and fetches what its worker is made of.
//
// Everything that the page will ever load is loaded here, once: from beside the page, or, in dormer.html, out of blocks in it
// (`xtask/src/one_file.rs`). There, traces may be in it, too, with a report and a view (`core/src/output/embedded.rs`): they are
// opened as if they were dropped.
// The app finds the rest in
//
//   globalThis.dormer = {
//     build,    the build id, a string
//     worker,   a promise of { module, glue }: the worker's compiled WebAssembly.Module and the text of its JavaScript
//     dropped,  { entries, files } of a drop that came before the app was there, as `DataTransfer` has them
//     view,     in a file with traces: where its reader lands
//     served,   where `dormer open` serves it: what it shows, "traces" or "runs"
//     page,     in dormer.html: the file without what is in it, as a Blob, to put something else into
//   }
//
// and starts each worker from a blob: URL with them. So a new worker takes no request, and it is bound by the page's policy,
// which a worker started from its own URL would not be.

/** In dormer.html: the build, and the app's script as a function. */
const inside = globalThis.dormer;

const build = inside ? inside.build : new URL(import.meta.url).searchParams.get('v') ?? '';

/** The URL of a file of this build. */
const url = (file) => new URL(`./${file}?v=${build}`, import.meta.url).href;

async function fetched(file) {
  if (inside) return unpacked(document.getElementById(file));
  const response = await fetch(url(file)).catch((error) => {
    throw new Error(`${file} could not be fetched (${error.message})`);
  });
  if (!response.ok) throw new Error(`${file} is missing on the server (status ${response.status})`);
  return response;
}

/** What stands in a block of the page, as a response. The block is taken away: it is large. */
function unpacked(block) {
  const text = block.textContent;
  const bytes = Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  block.remove();
  const { codec } = block.dataset;
  const stream = new Blob([bytes]).stream();
  return new Response(codec === 'none' ? stream : stream.pipeThrough(new DecompressionStream(codec)));
}

async function compiled(file) {
  const response = await fetched(file);
  // Compiling from the stream insists on the MIME type, which some hosts get wrong.
  const streams = response.headers.get('Content-Type') === 'application/wasm';
  const module = streams
    ? await WebAssembly.compileStreaming(response)
    : await WebAssembly.compile(await response.arrayBuffer());
  const [section] = WebAssembly.Module.customSections(module, 'build');
  expectBuild(file, section && new TextDecoder().decode(section));
  return module;
}

/** A cache may hold an old page when the server has a new one: their parts must not be mixed. */
function expectBuild(file, found) {
  if (found !== build) throw new Error(`${file} is of another build than the page: reload it`);
}

async function loadWorker() {
  const [module, glue] = await Promise.all([
    compiled('worker_bg.wasm'),
    fetched('worker.js').then((response) => response.text()),
  ]);
  expectBuild('worker.js', glue.match(/\/\/ build (\w+)\n$/)?.[1]);
  return { module, glue };
}

/** Keeps what is dropped until the app is there; the browser would leave the page for it. */
function hold(event) {
  if (!event.dataTransfer?.types.includes('Files')) return;
  event.preventDefault();
  if (event.type !== 'drop') return;
  const { items, files } = event.dataTransfer;
  // What is an entry is known while the event is heard, and no longer.
  const entries = [...items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry);
  globalThis.dormer.dropped = { entries, files: [...files] };
  document.getElementById('boot-text').textContent = `Loading… ${files[0]?.name ?? 'The dropped file'} opens after that.`;
}

/** Takes out of dormer.html what was put into it, before anything else changes the page. */
function takenOut() {
  const out = (css) => {
    const found = [...document.querySelectorAll(css)];
    for (const element of found) element.remove();
    return found;
  };
  const [report] = out('#boot > .enclosed');
  const [view] = out('script.view');
  const blocks = out('script.trace');
  const [served] = out('meta[name=dormer-open]');
  const html = document.documentElement.outerHTML;
  // What is saved of a page that `dormer open` serves asks nobody, as the file that it was made of.
  const own = served ? html.replace("connect-src 'self'", "connect-src 'none'") : html;
  const page = new Blob(['<!DOCTYPE html>\n', own, '\n']);
  if (report) document.getElementById('boot').append(report);
  return { blocks, page, served: served?.content, view: view && JSON.parse(view.textContent) };
}

/** The traces that are in the page, as files; of two, the first is the reference, which is dropped last. */
async function enclosed(blocks) {
  const blobs = await Promise.all(blocks.map((block) => unpacked(block).blob()));
  const files = [];
  blocks.forEach(({ dataset: { name, goesOn } }, at) => {
    const before = goesOn === undefined ? [] : [files.pop()];
    files.push(new File([...before, blobs[at]], name));
  });
  return files.reverse();
}

async function start() {
  const { blocks, view, page, served } = inside ? takenOut() : { blocks: [] };
  if (typeof WebAssembly === 'undefined') throw new Error('this browser has no WebAssembly, or it is switched off');
  const worker = loadWorker();
  globalThis.dormer = { build, worker, view, page, served };
  const files = await enclosed(blocks);
  if (files.length > 0) globalThis.dormer.dropped = { entries: [], files };
  for (const kind of ['dragover', 'drop']) addEventListener(kind, hold);
  const [app, module] = await Promise.all([
    inside ? inside.app() : import(url('dormer-app.js')),
    compiled('dormer-app_bg.wasm'),
    worker,
  ]);
  expectBuild('dormer-app.js', app.build);
  document.getElementById('boot').hidden = true;
  await app.default({ module_or_path: module });
  for (const kind of ['dragover', 'drop']) removeEventListener(kind, hold);
  document.getElementById('boot').remove();
}

start().catch((error) => {
  const report = document.querySelector('#boot > .enclosed');
  document.body.replaceChildren(Object.assign(document.createElement('main'), { id: 'boot', className: 'failed' }));
  const add = (tag, text) =>
    document.getElementById('boot').append(Object.assign(document.createElement(tag), { textContent: text }));
  add('h1', 'Dormer could not start');
  add('p', `${error.message}.`);
  add('p', 'Reload the page. If that does not help, make sure that all files of the same build are in one folder on the server.');
  if (report) document.getElementById('boot').append(report);
  console.error(error);
});
