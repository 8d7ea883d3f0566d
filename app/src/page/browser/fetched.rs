//! Files fetched from the page's own site; no other site is contacted.

use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    AbortSignal, Blob, File, ReadableStreamDefaultReader, ReferrerPolicy, RequestCache,
    RequestCredentials, RequestInit, RequestRedirect, Response, Url,
};

use super::served::{NO_ANSWER, PageSource, page_source};
use super::worker::file_of;
use super::{document, policy, window};
use crate::protocol::wire::part;

/// A file of the page's own site.
pub struct Found {
    /// Its URL.
    url: String,
    /// Its file name.
    pub name: String,
}

/// Resolves an address as a link of the page would be; otherwise, the reason why it may not be fetched.
pub fn found(address: &str) -> Result<Found, String> {
    let base = document().base_uri().ok().flatten().unwrap_or_default();
    let url = Url::new_with_base(address, &base);
    let url = url.map_err(|_| "the address in the link is not a valid URL".to_owned())?;
    let here = window().location();
    let (origin, protocol) = (here.origin(), here.protocol());
    if Ok(url.origin()) != origin || Ok(url.protocol()) != protocol {
        return Err(format!(
            "the link points to a file on another site ({}), and Dormer fetches files only from its own site; download the file and drop it here",
            url.origin()
        ));
    }
    if policy().contains("connect-src 'none'") {
        let why = "the link points to a file, but this single-file copy of Dormer makes no requests; choose or drop the trace itself";
        return Err(why.to_owned());
    }
    let name = Some(file_of(&url.pathname())).filter(|name| !name.is_empty());
    Ok(Found {
        url: url.href(),
        name: name.unwrap_or_else(|| "trace".to_owned()),
    })
}

/// Fetches a file. `on_progress` receives the bytes so far and the total, 0 if unknown.
pub async fn fetched(
    found: &Found,
    stop: &AbortSignal,
    on_progress: impl Fn(f64, f64),
) -> Result<File, String> {
    let options = RequestInit::new();
    options.set_credentials(RequestCredentials::Omit);
    options.set_redirect(RequestRedirect::Error);
    options.set_cache(RequestCache::NoStore);
    options.set_referrer_policy(ReferrerPolicy::NoReferrer);
    options.set_signal(Some(stop));
    let request = window().fetch_with_str_and_init(&found.url, &options);
    let response: Response = JsFuture::from(request)
        .await
        .map_err(|_| unreachable().to_owned())?
        .unchecked_into();
    match response.status() {
        200 => {}
        status @ (404 | 410) => {
            return Err(format!("the server has no such file (status {status})"));
        }
        status @ (401 | 403) => {
            return Err(format!(
                "the server requires a login (status {status}), and Dormer sends no credentials; download the file and drop it here"
            ));
        }
        status => return Err(format!("the server answers with status {status}")),
    }
    let header = |name: &str| response.headers().get(name).ok().flatten();
    // With a content encoding, the header's length is not that of the decoded file.
    let length = header("Content-Length").filter(|_| header("Content-Encoding").is_none());
    let total = length.and_then(|length| length.parse().ok()).unwrap_or(0.0);
    let Some(body) = response.body() else {
        return Err("the server sent an empty response".to_owned());
    };
    on_progress(0.0, total);
    let parts = read(&body.get_reader().unchecked_into(), |bytes| {
        on_progress(bytes, total)
    })
    .await?;
    File::new_with_blob_sequence(&parts, &found.name).map_err(|_| "it cannot be saved".to_owned())
}

fn unreachable() -> &'static str {
    match page_source() {
        PageSource::Command => NO_ANSWER,
        PageSource::Site | PageSource::OneFile => {
            "the server cannot be reached, or it redirects the request"
        }
    }
}

/// Reads a file into parts of a few megabytes each, which the browser can move out of memory.
pub(super) async fn read(
    reader: &ReadableStreamDefaultReader,
    on_progress: impl Fn(f64),
) -> Result<Array, String> {
    const PART: f64 = 16e6;
    let (parts, mut chunks) = (Array::new(), Array::new());
    let (mut bytes, mut of_part) = (0.0, 0.0);
    loop {
        let next = JsFuture::from(reader.read()).await;
        let next = next.map_err(|_| format!("the connection broke off after {bytes} bytes"))?;
        let is_last = part(&next, "done").is_truthy();
        if let Ok(chunk) = part(&next, "value").dyn_into::<Uint8Array>() {
            of_part += f64::from(chunk.length());
            bytes += f64::from(chunk.length());
            chunks.push(&chunk);
            on_progress(bytes);
        }
        if is_last || of_part >= PART {
            let part = Blob::new_with_u8_array_sequence(&chunks);
            let part = part.map_err(|_| "there is not enough memory for the file".to_owned())?;
            parts.push(&part);
            (chunks, of_part) = (Array::new(), 0.0);
        }
        if is_last {
            return Ok(parts);
        }
    }
}
