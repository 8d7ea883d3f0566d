//! The reference: the trace that the open one is compared with.

use leptos::prelude::*;
use web_sys::File;

use super::{Engine, Inner, TraceSource};
use crate::page::state::Stage;
use crate::page::url::Focus;
use crate::protocol::{CloseReference, FileNames, ReferenceOpened, Request, SwapTraces};

impl Engine {
    /// Compares the open trace with another one. It stays open even if that one cannot be read.
    pub fn compare_with(self, file: File) {
        let state = self.state;
        let names = FileNames {
            target: state.file_name.get_untracked(),
            reference: file.name(),
        };
        state.reference_name.set(file.name());
        state.reference.set(Stage::loading(file.size()));
        let choice = untrack(|| state.whole_choice()).of_reference();
        self.send(
            &Request::OpenReference(choice, names),
            std::slice::from_ref(&file),
            None,
        );
        self.inner
            .update_value(|inner| inner.reference_file = Some(file));
    }

    /// Stops reading the reference.
    pub fn cancel_reference(self) {
        self.send(&Request::CancelReference, &[], None);
        self.state.reference.set(Stage::Empty);
    }

    /// Closes the reference.
    pub fn close_reference(self) {
        self.state.reference.set(Stage::Empty);
        self.ask(CloseReference, |()| {});
    }

    /// Swaps target and reference, each with its GPU.
    pub fn swap(self) {
        let state = self.state;
        let mut choice = untrack(|| state.whole_choice());
        std::mem::swap(&mut choice.gpu, &mut choice.reference_gpu);
        std::mem::swap(&mut choice.profile, &mut choice.reference_profile);
        choice.window = None;
        choice.device = None;
        self.ask(SwapTraces { choice }, move |swapped| {
            let is_open = state.reference.with_untracked(Stage::is_open);
            let Some(swapped) = swapped.filter(|_| is_open) else {
                return;
            };
            self.inner.update_value(Inner::swap);
            state.forget_focus();
            state.go(|place| {
                let choice = &mut place.choice;
                std::mem::swap(&mut choice.gpu, &mut choice.reference_gpu);
            });
            let target = state.file_name.get_untracked();
            state.file_name.set(state.reference_name.get_untracked());
            state.reference_name.set(target);
            state.reference.set(Stage::Open(swapped.reference));
            state.overview.set(swapped.target.overview.clone());
            state.stage.set(Stage::Open(Box::new(swapped.target)));
            state.report.update(|report| *report += 1);
            state.loads.update(|loads| *loads += 1);
        });
    }

    /// The reference is open, or cannot be analyzed; ignored if it is no longer wanted.
    pub(super) fn reference_read(self, next: Stage<ReferenceOpened>) {
        let state = self.state;
        let Stage::Loading(_) = state.reference.get_untracked() else {
            return;
        };
        let is_open = next.is_open();
        state.reference.set(next);
        if is_open {
            state.report.update(|report| *report += 1);
            self.go_to_comparison();
        }
    }

    pub(super) fn go_to_comparison(self) {
        self.state.go(|place| {
            place.view = "compare".to_owned();
            place.focus = Focus::default();
        });
    }
}

impl Inner {
    /// Swaps the files of the two traces.
    fn swap(&mut self) {
        match (&mut self.source, &mut self.reference_file) {
            (Some(TraceSource::Files(files)), Some(reference)) => {
                if let [file] = files.as_mut_slice() {
                    std::mem::swap(file, reference);
                }
            }
            (Some(TraceSource::Files(files)), None) => files.reverse(),
            _ => {}
        }
    }
}
