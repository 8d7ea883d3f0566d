//! A worker that opens the sample while the page waits, so that all code is compiled when the first trace comes.

use dormer_core::import::{Cutter, Imported, Importer, Inflated, Part, PartReader, Piece};
use dormer_core::sample;

use super::replies::{scope, send};
use super::{Content, Incoming, Traces};
use crate::protocol::wire::{from_js, to_js};
use crate::protocol::{Choice, Reply, StepsQuery};

pub(super) use crate::protocol::WARM_UP as NAME;

/// The number of times the sample is opened until the worker is warm: less than two seconds of work.
const N_OPENINGS: usize = 72;

/// Size of the pieces in which the sample is read, in bytes.
const PIECE: usize = 64 << 10;

/// Opens the sample and makes the first queries of every trace; sends it to the page once, which draws it. The page ends
/// the worker at any point when a trace comes.
pub(super) fn run() {
    for nth in 0..N_OPENINGS {
        let Some(imported) = sample_in_pieces() else {
            break;
        };
        let sample = Incoming {
            name: String::new(),
            content: Ok(Content::Recording(Box::new(imported))),
        };
        let opened = Traces::open(vec![sample], &Choice::default(), false, |_| {});
        if let Ok((mut traces, opened)) = opened {
            let opened = Reply::Opened(Box::new(opened));
            match nth {
                0 => send(&opened, &[]),
                _ => drop(to_js(&opened)),
            }
            traces.answer(StepsQuery.into());
        }
    }
    scope().close();
}

/// Reads the sample like a large trace: every other piece is parsed separately.
fn sample_in_pieces() -> Option<Imported> {
    let mut importer = Importer::of_inflated();
    let mut reader = PartReader::new(0);
    let mut is_apart = false;
    let mut take = |piece: Piece| {
        is_apart = !is_apart && piece.is_of_events;
        let part = match is_apart {
            true => reader.read(&piece.text, piece.offset),
            false => None,
        };
        let part: Option<Part> = part.and_then(|part| from_js(&to_js(&part)).ok());
        match part.is_some_and(|part| importer.join(&part)) {
            true => Some(()),
            false => importer.push(&piece.text).ok(),
        }
    };
    let mut cutter = Cutter::new(PIECE);
    for text in sample::TRACE.as_bytes().chunks(PIECE) {
        cutter.text().push(text);
        if let Some(piece) = cutter.next(Vec::new()) {
            take(piece)?;
        }
    }
    take(cutter.finish())?;
    importer.finish_inflated(&Inflated::default()).ok()
}
