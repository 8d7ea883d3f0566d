//! Other windows that send a trace: the one that opened this page, the one that holds it in a frame, or one that it
//! opened.
//!
//! They speak the protocol of Perfetto's page: `'PING'` until `'PONG'` comes back, then `{perfetto: {buffer, title,
//! fileName, keepApiOpen}}`, a stream instead of the buffer, or a buffer alone. All other messages are ignored.

use gloo::events::EventListener;
use js_sys::{Array, ArrayBuffer};
use wasm_bindgen::prelude::*;
use web_sys::{File, MessageEvent, ReadableStream};

use super::fetched::read;
use super::files::call;
use super::{keep, window};
use crate::protocol::wire::{message, part};

/// The name for a trace without one.
const NAMELESS: &str = "External trace";

/// Longer names of traces are cut.
const MOST_LETTERS: usize = 200;

/// Another window.
#[derive(Clone)]
pub struct Sender {
    window: JsValue,
    /// `https://tool.example`, or `null` for a file or a sandboxed frame.
    pub origin: String,
}

impl Sender {
    /// Accepts only windows that belong to this one.
    fn of(event: &MessageEvent) -> Option<Sender> {
        let (own, source) = (window(), JsValue::from(event.source()?));
        let is_opener = Ok(&source) == own.opener().as_ref();
        let parent: JsValue = own.parent().ok().flatten().into();
        let is_parent = source == parent && parent != JsValue::from(own.clone());
        let is_opened = part(&source, "opener") == JsValue::from(own);
        (is_opener || is_parent || is_opened).then(|| Sender {
            window: source,
            origin: event.origin(),
        })
    }

    /// Whether it is of the same site as this page.
    pub fn is_own(&self) -> bool {
        self.has_origin() && window().location().origin() == Ok(self.origin.clone())
    }

    /// Whether its origin distinguishes it from others.
    pub fn has_origin(&self) -> bool {
        self.origin.contains("://") && !self.origin.starts_with("file:")
    }

    /// Answers it.
    pub fn answer(&self, answer: &JsValue) {
        let origin = match self.has_origin() {
            true => self.origin.as_str(),
            false => "*",
        };
        call(
            &self.window,
            "postMessage",
            &[answer.clone(), origin.into()],
        );
    }

    /// Sends it a status message about its trace.
    pub fn send_status(&self, status: &str, name: &str) {
        let status = message(&[("status", status.into()), ("name", name.into())]);
        self.answer(&message(&[("dormer", status.into())]));
    }
}

/// A message from another window.
pub enum SenderMessage {
    /// It asks whether the page is there.
    Ping,
    /// It wants status messages about its traces.
    WantsStatus,
    /// It sends a trace.
    Trace(SentTrace),
}

/// A trace that another window sent.
pub struct SentTrace {
    bytes: JsValue,
    pub name: String,
    /// Size in bytes; `None` if a stream does not say.
    pub size: Option<f64>,
    /// More may follow.
    pub keeps_open: bool,
    /// The sender wants a status message about it.
    pub wants_status: bool,
}

impl SenderMessage {
    fn of(data: &JsValue) -> Option<SenderMessage> {
        if data.as_string().as_deref() == Some("PING") {
            return Some(SenderMessage::Ping);
        }
        if part(data, "perfettoIgnore").is_truthy() {
            return None;
        }
        let wants_status = part(&part(data, "dormer"), "wantStatus").is_truthy();
        let trace = |bytes: JsValue, about: &JsValue, size| {
            let name = [part(about, "fileName"), part(about, "title")];
            let name = name.iter().find_map(JsValue::as_string);
            SenderMessage::Trace(SentTrace {
                bytes,
                name: plain(&name.unwrap_or_default()),
                size,
                keeps_open: part(about, "keepApiOpen").is_truthy(),
                wants_status,
            })
        };
        let about = part(data, "perfetto");
        for bytes in [data.clone(), part(&about, "buffer")] {
            let is_bytes = bytes.is_instance_of::<ArrayBuffer>() || ArrayBuffer::is_view(&bytes);
            if is_bytes {
                let size = part(&bytes, "byteLength").as_f64();
                return Some(trace(bytes, &about, size));
            }
        }
        let stream = part(&about, "stream");
        if stream.is_instance_of::<ReadableStream>() {
            let size = part(&about, "bytesTotal").as_f64();
            return Some(trace(stream, &about, size.filter(|size| *size > 0.0)));
        }
        wants_status.then_some(SenderMessage::WantsStatus)
    }
}

impl SentTrace {
    /// The trace as a file.
    pub async fn file(self) -> Result<File, String> {
        let parts = match self.bytes.dyn_ref::<ReadableStream>() {
            Some(stream) => read(&stream.get_reader().unchecked_into(), |_| ()).await?,
            None => Array::of1(&self.bytes),
        };
        let file = File::new_with_blob_sequence(&parts, &self.name);
        file.ok()
            .filter(|file| file.size() > 0.0)
            .ok_or_else(|| "nothing was sent".to_owned())
    }

    /// Discards the trace.
    pub fn refuse(self) {
        if self.bytes.is_instance_of::<ReadableStream>() {
            call(&self.bytes, "cancel", &[]);
        }
    }
}

/// A name as plain text on one line.
fn plain(name: &str) -> String {
    let letters = name.chars().take(MOST_LETTERS);
    // Some zero-width characters reverse the text after them.
    let is_odd = |letter: char| {
        letter.is_control() || matches!(letter, '\u{200e}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let letters = letters.map(|letter| if is_odd(letter) { ' ' } else { letter });
    let name: String = letters.collect();
    match name.trim() {
        "" => NAMELESS.to_owned(),
        name => name.to_owned(),
    }
}

/// Calls back with messages from other windows that belong to this one.
pub fn on_sender_message(then: impl Fn(SenderMessage, Sender) + 'static) {
    keep(EventListener::new(&window(), "message", move |event| {
        let event = event.dyn_ref::<MessageEvent>();
        let received =
            event.and_then(|event| Sender::of(event).zip(SenderMessage::of(&event.data())));
        if let Some((sender, received)) = received {
            then(received, sender);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_are_plain_text_in_one_line() {
        let long = "x".repeat(500);
        for (name, expected) in [
            ("step 12.json.gz", "step 12.json.gz"),
            ("a\nb\u{7}\u{1b}[31m", "a b  [31m"),
            ("a\u{202e}b", "a b"),
            ("\n\t", NAMELESS),
            ("", NAMELESS),
            (&long, &long[..MOST_LETTERS]),
        ] {
            assert_eq!(plain(name), expected, "{name:?}");
        }
    }
}
