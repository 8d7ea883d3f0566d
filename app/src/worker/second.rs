//! A second worker beside the one that reads a file: it inflates what the other one reads.
//!
//! ```text
//! first                              second
//!   { file: File }            ─→
//!                             ←─     { text, read }   pieces, a few on their way at a time
//!   { spare: ArrayBuffer }    ─→                      what a piece came in, for another one
//!                             ←─     { end: Inflated }, { plain } or { failed: reason }
//! ```
//!
//! It is a worker of the same module and script, told by its name. Where there can be none, as in
//! browsers without workers of workers, the first one does all by itself.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use dormer_core::import::{Inflated, Inflater};
use gloo::events::EventListener;
use js_sys::{Array, ArrayBuffer, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{
    DedicatedWorkerGlobalScope, File, MessageEvent, ReadableStreamDefaultReader, Worker,
    WorkerOptions,
};

use crate::protocol::wire::{error_text, from_js, message, part, to_js};

/// What it is called.
const NAME: &str = "inflate";

/// Compressed bytes that are inflated at a time: some 600 KB of text.
const SLICE: usize = 64 * 1024;
/// Bytes of a piece at most.
const PIECE: usize = 1 << 20;
/// So many pieces are on their way at most: what is read more slowly than it is inflated does not
/// pile up.
const MOST_PIECES: usize = 8;

/// Messages that nobody has taken yet.
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

    /// Waits for the next one.
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

/// The second worker, as the first one has it. It ends when this is dropped.
pub(super) struct Second {
    worker: Worker,
    inbox: Inbox,
    _listeners: [EventListener; 2],
}

impl Drop for Second {
    fn drop(&mut self) {
        self.worker.terminate();
    }
}

/// What a piece of a file is.
pub(super) enum Piece {
    /// Text, in the memory it came in, and how many bytes of the file it is of so far.
    Text(Uint8Array, f64),
    /// The end.
    End(Inflated),
    /// The file is no gzip file: nothing of it comes.
    Plain,
}

impl Second {
    /// Starts one; `None` where there can be none.
    pub(super) fn start() -> Option<Second> {
        let script = part(&part(&js_sys::global(), "location"), "href").as_string()?;
        let options = WorkerOptions::new();
        options.set_name(NAME);
        let worker = Worker::new_with_options(&script, &options).ok()?;
        worker.post_message(&wasm_bindgen::module()).ok()?;
        let inbox = Inbox::default();
        let [heard, failed] = [inbox.clone(), inbox.clone()];
        let listeners = [
            EventListener::new(&worker, "message", move |event| {
                if let Some(event) = event.dyn_ref::<MessageEvent>() {
                    heard.put(event.data());
                }
            }),
            EventListener::new(&worker, "error", move |event| {
                failed.put(message(&[("failed", part(event, "message"))]).into());
            }),
        ];
        Some(Second {
            worker,
            inbox,
            _listeners: listeners,
        })
    }

    /// Has it inflate a file, whose pieces come then.
    pub(super) fn inflate(&self, file: &File) -> bool {
        let file = message(&[("file", file.into())]);
        self.worker.post_message(&file).is_ok()
    }

    /// The next piece; or why there is none.
    pub(super) async fn next(&self) -> Result<Piece, String> {
        let message = self.inbox.take().await;
        if let Ok(text) = part(&message, "text").dyn_into::<Uint8Array>() {
            let read = part(&message, "read").as_f64().unwrap_or(0.0);
            return Ok(Piece::Text(text, read));
        }
        if part(&message, "plain").is_truthy() {
            return Ok(Piece::Plain);
        }
        match from_js(&part(&message, "end")) {
            Ok(inflated) => Ok(Piece::End(inflated)),
            Err(_) => {
                let reasons = ["failed", "crash"].map(|name| part(&message, name).as_string());
                Err(reasons.into_iter().flatten().next().unwrap_or_default())
            }
        }
    }

    /// Gives back what a piece came in.
    pub(super) fn give_back(&self, text: &Uint8Array) {
        let buffer = text.buffer();
        let spare = message(&[("spare", buffer.clone().into())]);
        let _ = (self.worker).post_message_with_transfer(&spare, &Array::of1(&buffer));
    }
}

/// Whether this is a second worker. Then it hears the first one from now on.
pub(super) fn serve() -> bool {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    if scope.name() != NAME {
        return false;
    }
    let spares = Inbox::default();
    let hear = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        let data = event.data();
        match part(&data, "file").dyn_into::<File>() {
            Ok(file) => {
                let pieces = Pieces {
                    spares: spares.clone(),
                    n_out: 0,
                };
                spawn_local(async move {
                    let ended = match pieces.of(&file).await {
                        Ok(Some(inflated)) => message(&[("end", to_js(&inflated))]),
                        Ok(None) => message(&[("plain", true.into())]),
                        Err(error) => message(&[("failed", error_text(&error).into())]),
                    };
                    post(&ended, &Array::new());
                });
            }
            Err(_) => spares.put(part(&data, "spare")),
        }
    });
    scope.set_onmessage(Some(hear.as_ref().unchecked_ref()));
    // It lives as long as the worker.
    hear.forget();
    true
}

fn post(message: &JsValue, transfer: &Array) {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    if let Err(error) = scope.post_message_with_transfer(message, transfer) {
        wasm_bindgen::throw_val(error);
    }
}

/// The text of a file on its way to the first worker.
struct Pieces {
    spares: Inbox,
    /// Pieces that have not come back.
    n_out: usize,
}

impl Pieces {
    /// Inflates a file to its end; `None` for what is no gzip file.
    async fn of(mut self, file: &File) -> Result<Option<Inflated>, JsValue> {
        let reader: ReadableStreamDefaultReader = file.stream().get_reader().unchecked_into();
        let mut inflater = None;
        let mut read = 0.0;
        let mut text = Vec::new();
        loop {
            let chunk = JsFuture::from(reader.read()).await?;
            if part(&chunk, "done").is_truthy() {
                break;
            }
            let bytes = part(&chunk, "value")
                .unchecked_into::<Uint8Array>()
                .to_vec();
            let inflater = match &mut inflater {
                Some(inflater) => inflater,
                None => match Inflater::of(&bytes) {
                    Some(first) => inflater.insert(first),
                    None => return Ok(None),
                },
            };
            for slice in bytes.chunks(SLICE) {
                read += slice.len() as f64;
                inflater.push(slice, |inflated| text.extend_from_slice(inflated));
                for piece in text.chunks(PIECE) {
                    self.send(piece, read).await;
                }
                text.clear();
            }
        }
        Ok(Some(inflater.unwrap_or_default().finish()))
    }

    async fn send(&mut self, text: &[u8], read: f64) {
        let spare = match self.n_out >= MOST_PIECES {
            true => Some(self.spares.take().await),
            false => self.spares.take_now(),
        };
        self.n_out = self.n_out + 1 - usize::from(spare.is_some());
        let spare = spare.and_then(|spare| spare.dyn_into::<ArrayBuffer>().ok());
        let buffer = spare.unwrap_or_else(|| ArrayBuffer::new(PIECE as u32));
        let view = Uint8Array::new_with_byte_offset_and_length(&buffer, 0, text.len() as u32);
        view.copy_from(text);
        let piece = message(&[("text", view.into()), ("read", read.into())]);
        post(&piece, &Array::of1(&buffer));
    }
}
