//! Files that are opened together, or beside what is open: which of them are opened, and as what.

use dormer_core::import::{ENDINGS_IN_WORDS, ExecutionTrace, FileKind, is_called_like_an_archive};
use dormer_core::job::files::head::{Head, are_one_job};
use leptos::prelude::*;
use web_sys::File;

use super::fleet::{is_fleet, may_be_fleet};
use super::{Engine, TraceSource, rejected, shown_name, total_bytes};
use crate::page::browser::{self, Dropped};
use crate::protocol::{CandidateFile, Failure, Opened, Progress, RemoveCapture, Request, TOO_MANY};

/// At most this many files are inspected to determine whether they belong to one job.
const MOST_HEADS: usize = 16;

impl Engine {
    /// Opens files that came together: at once if they are ranks of one job or a summary of many traces, otherwise as
    /// `otherwise` does.
    pub fn take_together(self, dropped: Dropped, otherwise: impl FnOnce(Dropped) + 'static) {
        let called_so = |(name, _): &(String, File)| is_called_like_an_archive(name);
        let has_archive = dropped.files.iter().any(called_so);
        if let [(_, file)] = dropped.files.as_slice()
            && may_be_fleet(file)
        {
            let file = file.clone();
            wasm_bindgen_futures::spawn_local(async move {
                let head = browser::head_of(&file).await;
                // Beside an open trace, it adds shapes to that trace.
                let execution = ExecutionTrace::is_file(head.as_bytes());
                match (is_fleet(&head), self.open_files().filter(|_| execution)) {
                    (true, _) => self.open_fleet(file),
                    (_, Some(mut files)) => {
                        files.push(file);
                        self.open(TraceSource::Files(files));
                    }
                    _ => otherwise(dropped),
                }
            });
            return;
        }
        let is_alone = dropped.files.len() < 2 && !has_archive;
        if is_alone || self.state.takes_captures() {
            otherwise(dropped);
            return;
        }
        wasm_bindgen_futures::spawn_local(async move {
            let dropped = match has_archive {
                true => unpacked(dropped).await,
                false => dropped,
            };
            let named = dropped.files.iter();
            let traces = named.filter(|(path, _)| may_be_opened(path));
            let mut heads = Vec::new();
            for (_, file) in traces.take(MOST_HEADS) {
                heads.push(Head::of(&browser::head_of(file).await));
                if heads.last() == Some(&Head::Unknown) {
                    break;
                }
            }
            match are_one_job(&heads) {
                true => {
                    let files = dropped.files.into_iter();
                    let traces = files.filter(|(path, _)| may_be_opened(path));
                    self.open_job(traces.collect());
                }
                false => otherwise(dropped),
            }
        });
    }

    /// Opens files that came together, whatever they are.
    pub fn open_together(self, files: Vec<File>) {
        let named = files.into_iter().map(|file| (file.name(), file));
        let files = Dropped {
            files: named.collect(),
            folder: None,
        };
        self.take_together(files, move |files| match files.is_to_choose() {
            true => self.choose_among(files),
            false => self.open_all(files.files.into_iter().map(|(_, file)| file).collect()),
        });
    }

    /// Opens files that came together: a trace with captures of its GPU graphs, or two to compare. If the open trace
    /// replays graphs, captures are merged with it.
    pub fn open_all(self, mut files: Vec<File>) {
        let state = self.state;
        if files.is_empty() {
            return;
        }
        if state.takes_captures() {
            self.add(files);
            return;
        }
        // A capture that was opened by itself is now opened with its trace.
        if state.of_opened(|opened| opened.is_capture) {
            files.extend(self.open_files().unwrap_or_default());
        }
        self.open(TraceSource::Files(files));
    }

    /// The files that are open.
    fn open_files(self) -> Option<Vec<File>> {
        match self.inner.with_value(|inner| inner.source.clone()) {
            Some(TraceSource::Files(files)) => Some(files),
            _ => None,
        }
    }

    /// Many files, or a folder: if several may be traces, the user chooses.
    pub fn choose_among(self, dropped: Dropped) {
        let state = self.state;
        let mut files = dropped.files;
        if dropped.folder.is_some() {
            files.retain(|(_, file)| may_be_opened(&file.name()));
        }
        match (files.len(), dropped.folder) {
            (0, Some(folder)) => {
                let sentence = format!("the folder has no file named like {ENDINGS_IN_WORDS}");
                self.not_opened(vec![rejected(folder, sentence)]);
            }
            (0, None) => {}
            (1, _) => self.open_all(files.into_iter().map(|(_, file)| file).collect()),
            _ => {
                state.open_error.set(Vec::new());
                self.offer(files);
            }
        }
    }

    /// Lets the user choose among files.
    fn offer(self, files: Vec<(String, File)>) {
        self.is_fetched();
        let candidates = files.iter().map(|(path, file)| CandidateFile {
            path: path.clone(),
            bytes: file.size(),
        });
        self.state.candidates.set(candidates.collect());
        self.inner.update_value(|inner| {
            inner.candidates = files.into_iter().map(|(_, file)| file).collect();
        });
    }

    /// More traces than can be opened: asks the user which ones to open.
    pub(super) fn offer_where_too_many(self, failure: &Failure) {
        let files = self.inner.with_value(|inner| match &inner.source {
            Some(TraceSource::Files(files)) if failure.sentence == TOO_MANY => files.clone(),
            _ => Vec::new(),
        });
        if !files.is_empty() {
            self.offer(files.into_iter().map(|file| (file.name(), file)).collect());
        }
    }

    /// Opens some of the offered files: the trace first, then the reference.
    pub fn open_candidates(self, chosen: &[usize]) {
        let files = self.take(|inner| {
            let all = std::mem::take(&mut inner.candidates);
            let files = chosen.iter().filter_map(|at| all.get(*at).cloned());
            Some(files.collect::<Vec<File>>())
        });
        self.open_all(files.unwrap_or_default());
    }

    /// Adds files to the open trace, which stays open even if they cannot be read.
    fn add(self, files: Vec<File>) {
        let state = self.state;
        state.open_error.set(Vec::new());
        let files = self.take(|inner| {
            inner.chosen_at_ms = browser::now_ms();
            // Files that are still being added are read again together with the new ones.
            inner.adding.extend(files);
            Some(inner.adding.clone())
        });
        let files = files.unwrap_or_default();
        let progress = Progress {
            bytes_total: total_bytes(&files),
            ..Progress::default()
        };
        state.adding.set(Some((shown_name(&files), progress)));
        let choice = untrack(|| state.whole_choice());
        self.send(&Request::AddFiles(choice), &files, None);
    }

    /// Stops adding files.
    pub fn cancel_adding(self) {
        if self.added().is_some() {
            self.send(&Request::CancelAdding, &[], None);
        }
    }

    /// Takes the files that are being added, so that they no longer are.
    pub(super) fn added(self) -> Option<Vec<File>> {
        let is_adding = self.state.adding.with_untracked(Option::is_some);
        is_adding.then(|| {
            self.state.adding.set(None);
            self.take(|inner| Some(std::mem::take(&mut inner.adding)))
                .unwrap_or_default()
        })
    }

    /// Removes a capture that is merged with the open trace, or its model's configuration.
    pub fn remove_capture(self, name: Option<String>) {
        let choice = untrack(|| self.state.whole_choice());
        self.inner.update_value(|inner| {
            inner.chosen_at_ms = browser::now_ms();
            if let Some(TraceSource::Files(files)) = &mut inner.source
                && let Some(at) = files.iter().position(|file| Some(file.name()) == name)
            {
                files.remove(at);
            }
        });
        self.ask(RemoveCapture { name, choice }, move |opened| {
            if let Some(opened) = opened {
                self.merged(opened);
            }
        });
    }

    /// The open trace with other captures: everything is new.
    pub(super) fn merged(self, opened: Box<Opened>) {
        self.state.forget_rows();
        self.show(opened);
    }
}

/// Whether a file of a folder may be a trace or belong to one, by its name.
fn may_be_opened(path: &str) -> bool {
    FileKind::of(path).is_some()
}

/// Replaces archives by the files in them; an archive without traces stays.
async fn unpacked(dropped: Dropped) -> Dropped {
    let Dropped { files, mut folder } = dropped;
    let is_alone = files.len() == 1;
    let mut all = Vec::new();
    for (name, file) in files {
        let mut members = match is_called_like_an_archive(&name) {
            true => browser::members_of(&file).await,
            false => Vec::new(),
        };
        members.retain(|(path, _)| may_be_opened(path));
        match is_alone {
            _ if members.is_empty() => all.push((name, file)),
            true => {
                folder = folder.or(Some(name).filter(|_| members.len() > 1));
                all = members;
            }
            false => all.extend(
                members
                    .into_iter()
                    .map(|(path, of)| (format!("{name}/{path}"), of)),
            ),
        }
    }
    Dropped { files: all, folder }
}
