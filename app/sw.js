// Answers from the copy of the page that the user keeps, and passes on what is not in it. It asks for nothing by itself:
// the page makes that copy, replaces it and forgets it (app/src/page/browser/offline.rs).
const cacheName = `dormer-kept:${registration.scope}`;

addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.method !== 'GET' || !request.url.startsWith(registration.scope)) return;
  // The front page is the same whatever its query.
  const ignoreSearch = request.mode === 'navigate';
  const kept = caches.match(request, { cacheName, ignoreSearch, ignoreVary: true });
  event.respondWith(kept.then((found) => found ?? fetch(request)));
});
