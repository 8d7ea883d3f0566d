//! The copy of the page that this browser stores for offline use, and the page as an installed app.
//!
//! The files of one build are in a cache of their own, named after the page's folder, and `sw.js` answers from it. It
//! is created, replaced and deleted here, only when the user asks. Browsers do not support it for a page that was
//! opened as a file, in some private windows, and without a secure context.

use js_sys::{Array, Promise};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, File, PerformanceEntry, RequestCache, RequestInit, Response};

use super::files::{call, later};
use super::stored_traces::file_of;
use super::{document, policy, window};
use crate::protocol::wire::{error_text, is_request, message, part};

/// What `boot.js` fetches, and what browsers request for an app.
const FETCHED: [&str; 5] = [
    "dormer-app.js",
    "dormer-app_bg.wasm",
    "worker.js",
    "worker_bg.wasm",
    MANIFEST,
];
const MANIFEST: &str = "manifest.json";

/// The page as one file, beside the hosted page.
pub(super) const ONE_FILE: &str = "dormer.html";

/// The size of the one-file page as a share of what the page has loaded: the same content, compressed and then
/// base64-encoded.
const ONE_FILE_SHARE: f64 = 0.55;

/// The cache name in `sw.js`, before the page's folder.
const CACHE: &str = "dormer-kept:";

/// The front page of a build, from the server.
pub struct FrontPage {
    pub build: String,
    text: String,
    response: Response,
}

/// Whether this browser can keep a copy of this page.
pub fn can_be_stored() -> bool {
    let has = |name: &str, of: &JsValue| !part(of, name).is_falsy();
    let is_secure = has("isSecureContext", &window());
    let is_served = policy().contains("worker-src 'self'");
    is_secure
        && is_served
        && has("caches", &window())
        && has("serviceWorker", &window().navigator())
}

/// The id of this page's build.
pub fn build() -> String {
    let build = part(&part(&js_sys::global(), "dormer"), "build");
    build.as_string().unwrap_or_default()
}

/// The approximate size of a copy of the page in bytes: what the page has loaded, plus the same as one file.
pub fn copy_bytes() -> f64 {
    let clock = window().performance();
    let entries = clock.map(|clock| clock.get_entries_by_type("resource"));
    let entries = entries.unwrap_or_default();
    let own = entries.iter().filter(|entry| {
        let entry: &PerformanceEntry = entry.unchecked_ref();
        is_request(&entry.name()) && entry.name().ends_with(&format!("?v={}", build()))
    });
    let bytes = own.filter_map(|entry| part(&entry, "decodedBodySize").as_f64());
    bytes.sum::<f64>() * (1.0 + ONE_FILE_SHARE)
}

/// The page's folder, as a URL.
fn folder() -> String {
    let base = document().base_uri().ok().flatten().unwrap_or_default();
    let path = base.split(['?', '#']).next().unwrap_or_default();
    let end = path.rfind('/').map_or(0, |slash| slash + 1);
    path[..end].to_owned()
}

fn cache_name() -> String {
    format!("{CACHE}{}", folder())
}

fn caches() -> JsValue {
    part(&window(), "caches")
}

fn workers() -> JsValue {
    part(&window().navigator(), "serviceWorker")
}

/// The build that is stored.
pub async fn stored_build() -> Option<String> {
    build_of(&text_of(&stored_response(folder()).await?).await?)
}

/// The stored response for a URL.
async fn stored_response(url: String) -> Option<Response> {
    if !can_be_stored() {
        return None;
    }
    // Only an existing cache is opened: opening creates it.
    let options = message(&[("cacheName", cache_name().into())]).into();
    let stored = later(&caches(), "match", &[url.into(), options]).await;
    stored.ok()?.dyn_into().ok()
}

/// Whether a file is the one-file page of a build: its script contains the id (`xtask/src/one_file.rs`).
pub(super) async fn is_one_file_of(file: &Blob, build: &str) -> Result<bool, String> {
    let text = JsFuture::from(file.text()).await;
    let text: js_sys::JsString = text.map_err(|error| error_text(&error))?.unchecked_into();
    Ok(text.includes(&format!("globalThis.dormer = {{ build: '{build}'"), 0))
}

/// A file of a build from the stored copy, without a request.
pub(super) async fn stored_file(name: &str, build: &str) -> Option<Response> {
    stored_response(format!("{}{name}?v={build}", folder())).await
}

async fn text_of(response: &Response) -> Option<String> {
    let text = JsFuture::from(response.text().ok()?).await;
    text.ok()?.as_string()
}

/// Requests the front page from the server, bypassing caches and the copy.
pub async fn front_page() -> Result<FrontPage, String> {
    let here = window().location().pathname().unwrap_or_default();
    let response = fetched(&format!("{here}?newest"), RequestCache::NoStore).await?;
    let copy = response.clone().map_err(|error| error_text(&error))?;
    let text = text_of(&copy).await.unwrap_or_default();
    let build = build_of(&text).ok_or("the server sends another page")?;
    Ok(FrontPage {
        build,
        text,
        response,
    })
}

pub(super) async fn fetched(url: &str, cache: RequestCache) -> Result<Response, String> {
    let options = RequestInit::new();
    options.set_cache(cache);
    let response = JsFuture::from(window().fetch_with_str_and_init(url, &options)).await;
    let response = response.map_err(|_| "the server cannot be reached".to_owned())?;
    let response: Response = response.unchecked_into();
    match response.ok() && !part(&response, "redirected").is_truthy() {
        true => Ok(response),
        false => Err(format!(
            "the server does not send {url} (status {})",
            response.status()
        )),
    }
}

/// Stores the build of a front page in place of the previous one; `on_progress` receives the number of files fetched.
/// On failure, the previous copy stays as it is.
pub async fn store_build(front: FrontPage, on_progress: impl Fn(usize)) -> Result<(), String> {
    let FrontPage {
        build,
        text,
        response,
    } = front;
    let name = JsValue::from(cache_name());
    let cache = later(&caches(), "open", &[name]).await?;
    let stored = store(&cache, &build, &text, on_progress).await;
    if let Err(why) = stored {
        if stored_build().await.is_none() {
            let _ = later(&caches(), "delete", &[cache_name().into()]).await;
        }
        return Err(why);
    }
    // From here on the copy is this build.
    let here = window().location().pathname().unwrap_or_default();
    for page in [folder(), format!("{}index.html", folder()), here] {
        let copy = response.clone().map_err(|error| error_text(&error))?;
        later(&cache, "put", &[page.into(), copy.into()]).await?;
    }
    let old = later(&cache, "keys", &[]).await?;
    let old: Array = old.dyn_into().unwrap_or_default();
    for request in old.iter() {
        let url = part(&request, "url").as_string().unwrap_or_default();
        if url.contains("?v=") && !url.ends_with(&format!("?v={build}")) {
            later(&cache, "delete", &[request]).await?;
        }
    }
    let script = format!("./sw.js?v={build}");
    let options = message(&[("updateViaCache", "all".into())]).into();
    later(&workers(), "register", &[script.into(), options]).await?;
    let ready: Option<Promise> = part(&workers(), "ready").dyn_into().ok();
    if let Some(ready) = ready {
        let _ = JsFuture::from(ready).await;
    }
    offer_as_app(&build);
    Ok(())
}

/// Stores every file of a build except its front page.
async fn store(
    cache: &JsValue,
    build: &str,
    front: &str,
    on_progress: impl Fn(usize),
) -> Result<(), String> {
    let fetched_by_boot = FETCHED.map(|file| format!("{file}?v={build}"));
    let mut files: Vec<String> = named(front, build);
    files.extend(fetched_by_boot);
    let mut at = 0;
    while let Some(file) = files.get(at).cloned() {
        let response = fetched(&format!("./{file}"), RequestCache::Default).await?;
        let copy = response.clone().map_err(|error| error_text(&error))?;
        let name = file.split('?').next().unwrap_or_default();
        let is_script = name.ends_with(".js");
        if is_script || name.ends_with(".wasm") {
            expect_build(name, &copy, build).await?;
        }
        if is_script || name.ends_with(".json") {
            let copy = response.clone().map_err(|error| error_text(&error))?;
            let text = text_of(&copy).await.unwrap_or_default();
            let more = named(&text, build).into_iter();
            let more: Vec<String> = more.filter(|file| !files.contains(file)).collect();
            files.extend(more);
        }
        let request = format!("./{file}");
        later(cache, "put", &[request.into(), response.into()]).await?;
        at += 1;
        on_progress(at);
    }
    // Needed by export. Some hosts omit it, or send another page in its place.
    let request = format!("./{ONE_FILE}?v={build}");
    if let Ok(response) = fetched(&request, RequestCache::Default).await {
        let copy = response.clone().map_err(|error| error_text(&error))?;
        if is_one_file_of(&blob_of(&copy).await?, build).await? {
            later(cache, "put", &[request.into(), response.into()]).await?;
            on_progress(at + 1);
        }
    }
    Ok(())
}

pub(super) async fn blob_of(response: &Response) -> Result<Blob, String> {
    let blob = JsFuture::from(response.blob().map_err(|error| error_text(&error))?).await;
    Ok(blob.map_err(|error| error_text(&error))?.unchecked_into())
}

/// The server may be switching to another build right now: every script and module ends with the id of its build.
async fn expect_build(name: &str, response: &Response, build: &str) -> Result<(), String> {
    const END: f64 = 64.0;
    let blob = blob_of(response).await?;
    let end = blob.slice_with_f64_and_f64((blob.size() - END).max(0.0), blob.size());
    let end = JsFuture::from(end.map_err(|error| error_text(&error))?.text()).await;
    let end = end.ok().and_then(|end| end.as_string()).unwrap_or_default();
    match end.contains(build) {
        true => Ok(()),
        false => Err(format!(
            "{name} is of another build on the server: try again later"
        )),
    }
}

/// Deletes the copy. The page keeps running until it is reloaded, then from the server.
pub async fn delete_build() -> Result<(), String> {
    later(&caches(), "delete", &[cache_name().into()]).await?;
    let registration = later(&workers(), "getRegistration", &[folder().into()]).await?;
    if part(&registration, "scope").as_string() == Some(folder()) {
        later(&registration, "unregister", &[]).await?;
    }
    if let Some(link) = super::by_id::<web_sys::Element>(MANIFEST) {
        link.remove();
    }
    Ok(())
}

/// Makes the browser offer the page as an app. The browser then requests the manifest and the icons, so they are
/// declared only once a copy exists.
pub fn offer_as_app(build: &str) {
    let link = match super::by_id::<web_sys::Element>(MANIFEST) {
        Some(link) => Some(link),
        None => document().create_element("link").ok(),
    };
    if let (Some(link), Some(head)) = (link, document().head()) {
        link.set_id(MANIFEST);
        let _ = link.set_attribute("rel", "manifest");
        let _ = link.set_attribute("href", &format!("./{MANIFEST}?v={build}"));
        let _ = head.append_child(&link);
    }
}

/// The id of a front page's build.
fn build_of(front: &str) -> Option<String> {
    let (_, rest) = front.split_once("\"./boot.js?v=")?;
    let (build, _) = rest.split_once('"')?;
    Some(build.to_owned())
}

/// The files of a build that a text names in quotes: `"./base.css?v=1f"`.
fn named(text: &str, build: &str) -> Vec<String> {
    let parts = text.split(['"', '\'']);
    let files = parts.filter_map(|part| part.strip_prefix("./"));
    let files = files.filter(|file| file.ends_with(&format!("?v={build}")));
    files.map(str::to_owned).collect()
}

/// Calls back with the files that the installed page is opened with.
pub fn on_launch(then: impl Fn(Vec<File>) + Clone + 'static) {
    let queue = part(&window(), "launchQueue");
    let consumer = Closure::<dyn Fn(JsValue)>::new(move |launch: JsValue| {
        let (handles, then) = (part(&launch, "files"), then.clone());
        let handles: Array = handles.dyn_into().unwrap_or_default();
        if handles.length() == 0 {
            return;
        }
        wasm_bindgen_futures::spawn_local(async move {
            let mut files = Vec::new();
            for handle in handles.iter() {
                if let Ok(file) = file_of(&handle).await {
                    files.push(file);
                }
            }
            then(files);
        });
    });
    if call(&queue, "setConsumer", &[consumer.as_ref().clone()]).is_some() {
        // It lives as long as the page.
        consumer.forget();
    }
}

#[cfg(test)]
mod tests {
    use dormer_core::import::ENDINGS;

    use super::*;

    #[test]
    fn a_front_page_names_its_build_and_files() {
        let front =
            r#"<link href="./base.css?v=1f"><link href="data:,"><script src="./boot.js?v=1f">"#;
        assert_eq!(build_of(front).as_deref(), Some("1f"));
        assert_eq!(named(front, "1f"), ["base.css?v=1f", "boot.js?v=1f"]);
        assert_eq!(
            named("import './snippets/a.js?v=1f';", "1f"),
            ["snippets/a.js?v=1f"]
        );
        assert_eq!(named(front, "20"), [""; 0]);
        assert_eq!(build_of("<p>please log in"), None);
    }

    #[test]
    fn the_app_opens_every_file_that_a_folder_is_looked_through_for() {
        let manifest = include_str!("../../../manifest.json");
        for (ending, _) in ENDINGS {
            assert!(manifest.contains(&format!("\"{ending}\"")), "{ending}");
        }
        // `.gz` alone is not enough: browsers compare what follows the first dot.
        assert!(manifest.contains("\".json.gz\""));
    }
}
