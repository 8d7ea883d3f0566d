//! Reading with several threads: one decompresses the text and splits it into pieces, others parse pieces, and this one
//! joins the results.
//!
//! ```text
//! source ─ unpack ─→ pieces, in order ─┬─ text ─────────────→ Importer
//!                                      └─ readers ─ Parts ──→    │ join
//! ```
//!
//! A piece is parsed by whichever thread gets to it first: this one, in order; another thread, which need not wait for
//! the text before it; or the decompressing thread, if the others cannot keep up.

use std::io::{self, Read};
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender, TrySendError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};

use dormer_core::import::{
    Cutter, ImportError, Imported, Importer, Inflated, Inflater, Part, PartReader, Piece,
};

/// Compressed bytes that are decompressed at a time: about 600 KB of text.
const SLICE_BYTES: usize = 64 << 10;

/// Text of a piece: a few milliseconds of work.
const PIECE_BYTES: usize = 1 << 20;

/// The most pieces that may wait to be joined.
const MOST_PIECES: usize = 6;

/// The most threads that parse, besides the decompressing one and this one: further threads would only wait for
/// decompression.
const MOST_READERS: usize = 6;

/// A piece in progress, and the number of the file's bytes that were decompressed up to its end.
struct Slot {
    bytes_read: u64,
    state: Mutex<State>,
    is_read: Condvar,
}

enum State {
    /// No thread has taken it.
    Waiting(Piece),
    /// Another thread is parsing it.
    Taken,
    /// The parsed part; `None` if it must be parsed in order.
    Read(Option<Box<Part>>, Piece),
}

impl Slot {
    fn new(piece: Piece, bytes_read: u64) -> Arc<Slot> {
        Arc::new(Slot {
            bytes_read,
            state: Mutex::new(State::Waiting(piece)),
            is_read: Condvar::new(),
        })
    }

    /// No code panics while holding the lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The piece, if no thread has taken it and it can be parsed separately.
    fn take_part(&self) -> Option<Piece> {
        let mut state = self.state();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Waiting(piece) if piece.is_of_events => Some(piece),
            other => {
                *state = other;
                None
            }
        }
    }

    /// Parses it separately, unless a thread has taken it. If that panics, it is parsed in order: otherwise, the thread
    /// waiting for it would wait forever.
    fn read(&self, reader: &mut PartReader) {
        if let Some(piece) = self.take_part() {
            let read = AssertUnwindSafe(|| reader.read(&piece.text, piece.offset));
            let part = panic::catch_unwind(read).ok().flatten();
            *self.state() = State::Read(part.map(Box::new), piece);
            self.is_read.notify_one();
        }
    }

    /// The parsed part, if there is one, and the piece. Waits for the thread that is parsing it.
    fn take(&self) -> (Option<Box<Part>>, Piece) {
        let is_taken = |state: &mut State| matches!(state, State::Taken);
        let waited = self.is_read.wait_while(self.state(), is_taken);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, State::Taken) {
            State::Waiting(piece) => (None, piece),
            State::Read(part, piece) => (part, piece),
            State::Taken => Default::default(),
        }
    }
}

/// Reads a file whose first bytes were already read, and reports progress in bytes of the file and in events.
pub(crate) fn read(
    source: Box<dyn Read + Send>,
    inflater: Inflater,
    head: &[u8],
    on_progress: impl Fn(u64, u64),
) -> io::Result<Result<Imported, ImportError>> {
    let n_cores = thread::available_parallelism().map_or(1, usize::from);
    let n_readers = n_cores.saturating_sub(2).min(MOST_READERS);
    read_with(n_readers, source, inflater, head, on_progress)
}

fn read_with(
    n_readers: usize,
    source: Box<dyn Read + Send>,
    inflater: Inflater,
    head: &[u8],
    on_progress: impl Fn(u64, u64),
) -> io::Result<Result<Imported, ImportError>> {
    thread::scope(|scope| {
        let (slots, in_order) = mpsc::sync_channel(MOST_PIECES + 2 * n_readers);
        let (spare, spares) = mpsc::channel();
        let unpacking = Unpacking {
            slots,
            spares,
            readers: readers(scope, n_readers),
            reader: PartReader::new(0),
        };
        let unpacked = scope.spawn(|| unpacking.run(source, inflater, head));
        let mut importer = Importer::of_inflated();
        let pushed = in_order.iter().try_for_each(|slot: Arc<Slot>| {
            let (part, piece) = slot.take();
            if !part.is_some_and(|part| importer.join(&part)) {
                importer.push(&piece.text)?;
            }
            on_progress(slot.bytes_read, importer.progress().events);
            // Once everything is decompressed, no thread receives it.
            let _ = spare.send(piece.text);
            Ok(())
        });
        // The decompressing thread ends when no thread receives its text.
        drop(in_order);
        let ended = unpacked.join();
        let ended = ended.unwrap_or_else(|payload| panic::resume_unwind(payload))?;
        Ok(pushed.and_then(|()| importer.finish_inflated(&ended)))
    })
}

/// Starts threads that parse pieces separately, each taking the next waiting one.
fn readers<'scope>(scope: &'scope Scope<'scope, '_>, n: usize) -> Option<Sender<Arc<Slot>>> {
    let (slots, waiting) = mpsc::channel::<Arc<Slot>>();
    let waiting = Arc::new(Mutex::new(waiting));
    for number in (1..).take(n) {
        let waiting = Arc::clone(&waiting);
        scope.spawn(move || {
            let mut reader = PartReader::new(number);
            let next = || waiting.lock().ok()?.recv().ok();
            while let Some(slot) = next() {
                slot.read(&mut reader);
            }
        });
    }
    (n > 0).then_some(slots)
}

/// The decompressing thread.
struct Unpacking {
    slots: SyncSender<Arc<Slot>>,
    spares: Receiver<Vec<u8>>,
    readers: Option<Sender<Arc<Slot>>>,
    reader: PartReader,
}

impl Unpacking {
    /// Decompresses to the end of the source, or until no thread receives the text.
    fn run(
        mut self,
        mut source: Box<dyn Read + Send>,
        mut inflater: Inflater,
        head: &[u8],
    ) -> io::Result<Inflated> {
        let mut cutter = Cutter::new(PIECE_BYTES);
        let mut chunk = head.to_vec();
        let mut n_bytes = head.len();
        chunk.resize(super::CHUNK_BYTES, 0);
        let mut bytes_read = 0;
        while n_bytes > 0 {
            for bytes in chunk.get(..n_bytes).unwrap_or_default().chunks(SLICE_BYTES) {
                bytes_read += bytes.len() as u64;
                inflater.push(bytes, cutter.text());
                let spare = self.spares.try_recv().unwrap_or_default();
                if let Some(piece) = cutter.next(spare)
                    && !self.hand_on(piece, bytes_read)
                {
                    return Ok(Inflated::default());
                }
            }
            n_bytes = super::next(&mut *source, &mut chunk)?;
        }
        self.hand_on(cutter.finish(), bytes_read);
        Ok(inflater.finish())
    }

    /// Passes a piece on; returns whether it was received.
    fn hand_on(&mut self, piece: Piece, bytes_read: u64) -> bool {
        let slot = Slot::new(piece, bytes_read);
        if let Some(readers) = &self.readers {
            // They end with the last piece.
            let _ = readers.send(Arc::clone(&slot));
        }
        match self.slots.try_send(slot) {
            Ok(()) => true,
            Err(TrySendError::Full(slot)) => {
                slot.read(&mut self.reader);
                self.slots.send(slot).is_ok()
            }
            Err(TrySendError::Disconnected(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormer_core::import::import;

    /// The result is the same for any number of cores, and an error ends all threads.
    #[test]
    fn any_number_of_readers_reads_the_same() {
        let event = |n: u32| {
            format!(
                r#"{{"ph": "X", "cat": "cpu_op", "name": "op {}", "pid": 1, "tid": {}, "ts": {n}, "dur": 1, "args": {{"External id": {n}, "Input Dims": [[{}]], "note {}": {n}}}}}"#,
                n % 901,
                n % 7,
                n % 401,
                n % 11
            )
        };
        let events: Vec<String> = (0..60_000).map(event).collect();
        let text = format!(r#"{{"traceEvents": [{}], "after": 1}}"#, events.join(",\n"));
        let whole = format!(
            "{:?}",
            import(text.as_bytes()).map(|all| (all.trace, all.warnings))
        );
        let (head, rest) = text.as_bytes().split_at(300);
        let read = |head: &[u8], n_readers| {
            let source = Box::new(io::Cursor::new(rest.to_vec()));
            let inflater = Inflater::of(head).unwrap();
            read_with(n_readers, source, inflater, head, |_, _| {}).unwrap()
        };
        for n_readers in [0, 1, 5] {
            let apart = read(head, n_readers).map(|all| (all.trace, all.warnings));
            assert!(format!("{apart:?}") == whole, "{n_readers} readers");
            assert!(read(b"<html>", n_readers).is_err());
        }
    }
}
