//! A worker that inflates a file for the one that reads it, and parses some of it if that one does not keep up.
//!
//! ```text
//! reading worker                     inflater
//!   { file: File }            ─→
//!                             ←─     { text, read, part? }   pieces, a few on their way at a time
//!   { spare: ArrayBuffer }    ─→                             what a piece came in, for another one
//!                             ←─     { end: Inflated }, { alone } or { failed: reason }
//! ```
//!
//! It runs the same module and script, distinguished by its name. If it is not available, as in browsers without nested
//! workers, the reading worker does everything itself.

mod pieces;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use dormer_core::import::{Inflated, Part};
use gloo::events::EventListener;
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{File, MessageEvent, Worker, WorkerOptions};

use super::replies::scope;
use pieces::Pieces;

use crate::protocol::wire::{error_text, from_js, message, part, to_js};

/// Its name.
pub(super) const NAME: &str = "inflate";

/// A queue of received messages.
#[derive(Clone, Default)]
struct Inbox(Rc<RefCell<(VecDeque<JsValue>, Option<Waker>)>>);

impl Inbox {
    fn put(&self, message: JsValue) {
        let waker = {
            let (messages, waker) = &mut *self.0.borrow_mut();
            messages.push_back(message);
            waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn take_now(&self) -> Option<JsValue> {
        self.0.borrow_mut().0.pop_front()
    }

    /// Waits for the next message.
    async fn take(&self) -> JsValue {
        poll_fn(|context| match self.take_now() {
            Some(message) => Poll::Ready(message),
            None => {
                self.0.borrow_mut().1 = Some(context.waker().clone());
                Poll::Pending
            }
        })
        .await
    }
}

/// The reading worker's handle to the inflater, which ends when this is dropped.
pub(super) struct Inflater {
    worker: Worker,
    inbox: Inbox,
    _listeners: [EventListener; 2],
}

impl Drop for Inflater {
    fn drop(&mut self) {
        self.worker.terminate();
    }
}

/// A message about a file.
pub(super) enum Received {
    /// A piece of its text.
    Piece {
        /// In the buffer it came in.
        text: Uint8Array,
        /// Its parsed content, if it was parsed.
        part: Option<Box<Part>>,
        /// The number of the file's bytes read up to its end.
        bytes_read: f64,
    },
    /// The end of the file.
    End(Inflated),
    /// The file is an archive: it is not inflated here.
    Alone,
}

impl Inflater {
    /// Starts one; `None` if that is not possible.
    pub(super) fn start() -> Option<Inflater> {
        let script = part(&part(&js_sys::global(), "location"), "href").as_string()?;
        let options = WorkerOptions::new();
        options.set_name(NAME);
        let worker = Worker::new_with_options(&script, &options).ok()?;
        worker.post_message(&wasm_bindgen::module()).ok()?;
        let inbox = Inbox::default();
        let [received, failed] = [inbox.clone(), inbox.clone()];
        let listeners = [
            EventListener::new(&worker, "message", move |event| {
                if let Some(event) = event.dyn_ref::<MessageEvent>() {
                    received.put(event.data());
                }
            }),
            EventListener::new(&worker, "error", move |event| {
                failed.put(message(&[("failed", part(event, "message"))]).into());
            }),
        ];
        Some(Inflater {
            worker,
            inbox,
            _listeners: listeners,
        })
    }

    /// Makes it inflate a file; the pieces follow.
    pub(super) fn inflate(&self, file: &File) -> bool {
        let file = message(&[("file", file.into())]);
        self.worker.post_message(&file).is_ok()
    }

    /// The next piece, or why there is none.
    pub(super) async fn next(&self) -> Result<Received, String> {
        let message = self.inbox.take().await;
        if let Ok(text) = part(&message, "text").dyn_into::<Uint8Array>() {
            return Ok(Received::Piece {
                text,
                part: from_js(&part(&message, "part")).ok(),
                bytes_read: part(&message, "read").as_f64().unwrap_or(0.0),
            });
        }
        if part(&message, "alone").is_truthy() {
            return Ok(Received::Alone);
        }
        match from_js(&part(&message, "end")) {
            Ok(inflated) => Ok(Received::End(inflated)),
            Err(_) => {
                let reasons = ["failed", "crash"].map(|name| part(&message, name).as_string());
                Err(reasons.into_iter().flatten().next().unwrap_or_default())
            }
        }
    }

    /// Returns the buffer of a piece.
    pub(super) fn give_back(&self, text: &Uint8Array) {
        let buffer = text.buffer();
        let spare = message(&[("spare", buffer.clone().into())]);
        let _ = (self.worker).post_message_with_transfer(&spare, &Array::of1(&buffer));
    }
}

/// Serves the reading worker from now on.
pub(super) fn serve() {
    let spares = Inbox::default();
    let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        let data = event.data();
        match part(&data, "file").dyn_into::<File>() {
            Ok(file) => {
                let pieces = Pieces::new(spares.clone());
                spawn_local(async move {
                    let ended = match pieces.of(&file).await {
                        Ok(Some(inflated)) => message(&[("end", to_js(&inflated))]),
                        Ok(None) => message(&[("alone", true.into())]),
                        Err(error) => message(&[("failed", error_text(&error).into())]),
                    };
                    post(&ended, &Array::new());
                });
            }
            Err(_) => spares.put(part(&data, "spare")),
        }
    });
    scope().set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    // It lives as long as the worker.
    on_message.forget();
}

fn post(message: &JsValue, transfer: &Array) {
    if let Err(error) = scope().post_message_with_transfer(message, transfer) {
        wasm_bindgen::throw_val(error);
    }
}
