//! Files that the page reads for its workers.
//!
//! In WebKit (Safari), if the page was opened as a file, its workers cannot read files, not even ones created in
//! memory; the page can. So there the page sends a port beside each file, and answers each message on it with the next
//! chunk.

use js_sys::Array;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{File, MessageChannel, MessagePort, ReadableStreamDefaultReader, Worker};

use super::is_opened_as_file;
use crate::protocol::wire::{error_text, message, part};

/// Sends a message, with its files in a form that the receiver can read.
pub fn post(worker: &Worker, message: &JsValue) -> Result<(), JsValue> {
    let Some(files) = part(message, "files")
        .dyn_ref::<Array>()
        .cloned()
        .filter(|_| is_opened_as_file())
    else {
        return worker.post_message(message);
    };
    let ports = files.iter().map(|file| port_of(file.unchecked_ref()));
    let ports: Array = ports.collect::<Result<_, JsValue>>()?;
    js_sys::Reflect::set(message, &"ports".into(), &ports)?;
    worker.post_message_with_transfer(message, &ports)
}

/// The worker's end of a port that sends the chunks of a file.
fn port_of(file: &File) -> Result<MessagePort, JsValue> {
    let channel = MessageChannel::new()?;
    let here = channel.port1();
    let reader: ReadableStreamDefaultReader = file.stream().get_reader().unchecked_into();
    let answers = here.clone();
    let on_message = Closure::<dyn FnMut()>::new(move || {
        let (reader, port) = (reader.clone(), answers.clone());
        spawn_local(async move {
            let chunk = JsFuture::from(reader.read()).await;
            let chunk = chunk
                .unwrap_or_else(|error| message(&[("error", error_text(&error).into())]).into());
            let _ = port.post_message(&chunk);
        });
    });
    here.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    // It lives as long as the worker may ask.
    on_message.forget();
    Ok(channel.port2())
}
