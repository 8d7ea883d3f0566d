//! Many files as ranks of one job, each read by a worker that ends with it; small files share a worker. The files are
//! kept, so that a rank can be opened as a trace.

use std::rc::Rc;

use dormer_core::base::format;
use js_sys::Array;
use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use web_sys::File;

use super::drill::Visit;
use super::job::Combining;
use super::workers::OwnWorker;
use super::{Engine, TraceSource};
use crate::page::browser::{self, WorkerFiles};
use crate::page::ranks::queue::Queue;
use crate::page::ranks::{JobStage, RanksRead, VIEW};
use crate::protocol::{DigestRequest, Failure, ONE_FILE, Reply, Request, wire};

/// What has been read by then is shown; a job that is complete sooner is shown only once.
pub(super) const SOON_MS: u32 = 700;

/// A worker's memory never shrinks: one that was given more than this many bytes gets no further file.
const MOST_SHARED_BYTES: f64 = 1e6;

/// A worker that reads a file.
struct Reader {
    number: u32,
    /// The file it reads; `None` while it waits.
    at: Option<usize>,
    /// Total size of the files it was given.
    bytes: f64,
    worker: OwnWorker,
}

/// The files of a job, and what has become of them.
#[derive(Default)]
pub(super) struct Ranks {
    pub(super) files: Vec<(String, File)>,
    pub(super) chosen_at_ms: f64,
    pub(super) reading: Reading,
    pub(super) combining: Combining,
    pub(super) visit: Visit,
}

/// The reading of the files; files are given by position.
#[derive(Default)]
pub(super) struct Reading {
    queue: Queue,
    readers: Vec<Reader>,
    /// The number of readers started so far.
    n_readers: u32,
    /// Bytes read of each file.
    bytes: Vec<f64>,
    /// The number of files read.
    pub(super) n_read: usize,
    /// Files that contain only digests, no trace.
    pub(super) only_digests: Vec<usize>,
    pub(super) unreadable: Vec<(usize, String)>,
}

impl Ranks {
    pub(super) fn progress(&self) -> RanksRead {
        RanksRead {
            n_files: self.files.len(),
            n_read: self.reading.n_read,
            n_failed: self.reading.unreadable.len(),
            bytes_read: self.reading.bytes.iter().sum(),
            bytes_total: self.files.iter().map(|(_, file)| file.size()).sum(),
            may_not_fit: self.reading.queue.may_not_fit(),
        }
    }
}

impl Engine {
    /// Reads or changes the files of the job; `None` if there is none.
    pub(super) fn with_ranks<T>(self, act: impl FnOnce(&mut Ranks) -> T) -> Option<T> {
        self.take(|inner| inner.ranks.as_mut().map(act))
    }

    /// Ends the workers that read.
    pub(super) fn stop_reading(self) {
        self.with_ranks(|Ranks { reading, .. }| {
            reading.queue.cancel();
            reading.readers.clear();
        });
    }

    /// Opens all offered files as ranks of one job.
    pub fn open_candidates_as_job(self) {
        let paths = self.state.candidates.get_untracked();
        let files = self.take(|inner| Some(std::mem::take(&mut inner.candidates)));
        let paths = paths.into_iter().map(|candidate| candidate.path);
        self.state.candidates.set(Vec::new());
        self.open_job(paths.zip(files.unwrap_or_default()).collect());
    }

    /// What was opened as a trace is a job: several ranks are merged into it.
    pub(super) fn open_as_job(self) {
        let source = self.take(|inner| inner.source.clone());
        if let Some(TraceSource::Files(files)) = source {
            let files = files.into_iter();
            self.open_job(files.map(|file| (file.name(), file)).collect());
        }
    }

    /// Reads files as ranks of one job.
    pub fn open_job(self, files: Vec<(String, File)>) {
        if self.is_loading() {
            self.cancel();
        }
        let sizes = files.iter().map(|(path, file)| {
            let is_packed = !path.to_ascii_lowercase().ends_with(".json");
            (file.size(), is_packed)
        });
        let sizes: Vec<(f64, bool)> = sizes.collect();
        let ranks = Ranks {
            reading: Reading {
                queue: Queue::new(&sizes, browser::n_cores()),
                bytes: vec![0.0; files.len()],
                ..Reading::default()
            },
            files,
            chosen_at_ms: browser::now_ms(),
            ..Ranks::default()
        };
        self.stop_fetching();
        self.report_not_fetched();
        let own: Vec<File> = ranks.files.iter().map(|(_, file)| file.clone()).collect();
        let link = self.link_of(&own);
        let of_job = link.as_ref().filter(|link| link.view == VIEW);
        let focus = of_job.map(|link| link.focus.clone()).unwrap_or_default();
        if let Some(link) = link {
            self.state.go(|place| *place = link);
        }
        self.state
            .job
            .set(JobStage::Reading(ranks.progress(), None));
        self.inner.update_value(|inner| inner.ranks = Some(ranks));
        self.state.go(|place| {
            place.view = VIEW.to_owned();
            place.focus = focus;
        });
        self.read_ranks();
        self.show_so_far_in(SOON_MS);
    }

    /// Starts as many workers as allowed; combines the job once all files are read.
    pub(super) fn read_ranks(self) {
        let is_over = self.take(|inner| {
            let (files, ranks) = (inner.files.as_ref()?, inner.ranks.as_mut()?);
            let reading = &mut ranks.reading;
            while let Some(at) = reading.queue.start() {
                let (path, file) = ranks.files.get(at)?.clone();
                let bytes = file.size();
                let has_inflater = reading.queue.at_once() == 1 && browser::n_cores() > 1;
                let request = Request::Digest(DigestRequest { path, has_inflater });
                let mut readers = reading.readers.iter();
                let reader = match readers.position(|reader| reader.at.is_none()) {
                    Some(waiting) => Ok(reading.readers.swap_remove(waiting)),
                    None => {
                        reading.n_readers += 1;
                        self.reader(reading.n_readers, files)
                    }
                };
                let posted = reader.and_then(|reader| {
                    reader.worker.post(0, &request, &[file])?;
                    Ok(reader)
                });
                match posted {
                    Ok(mut reader) => {
                        reader.at = Some(at);
                        reader.bytes += bytes;
                        reading.readers.push(reader);
                    }
                    Err(why) => {
                        reading.queue.end();
                        reading.unreadable.push((at, why));
                    }
                }
            }
            Some(reading.queue.is_over() && !ranks.combining.is_last_sent)
        });
        match is_over {
            Some(true) => self.combine(true),
            _ => self.show_so_far(),
        }
    }

    fn reader(self, number: u32, files: &WorkerFiles) -> Result<Reader, String> {
        let on_stop = Rc::new(move |reason: &str| {
            let why =
                format!("the analysis stopped ({reason}); it may need more memory than there is");
            self.rank_read(number, true, Err(why));
        });
        let on_reply = Box::new(move |reply, message: &JsValue| {
            self.on_rank_reply(number, reply, message);
        });
        Ok(Reader {
            number,
            at: None,
            bytes: 0.0,
            worker: self.own_worker(files, ONE_FILE, on_reply, on_stop)?,
        })
    }

    fn on_rank_reply(self, number: u32, reply: Reply, message: &JsValue) {
        match reply {
            Reply::Progress(progress) => {
                self.change_ranks(|Ranks { reading, .. }| {
                    let mut readers = reading.readers.iter();
                    let reader = readers.find(|reader| reader.number == number);
                    let at = reader.and_then(|reader| reader.at);
                    if let Some(bytes) = at.and_then(|at| reading.bytes.get_mut(at)) {
                        *bytes = progress.bytes_read;
                    }
                });
            }
            Reply::Digest(was_digest) => {
                let digests = wire::part(message, "digests").unchecked_into();
                self.rank_read(number, false, Ok((digests, was_digest)));
            }
            Reply::Failed(failure) => {
                self.rank_read(number, false, Err(failure.with_place()));
            }
            _ => {}
        }
    }

    /// Changes the files of the job, and shows how many of them are read.
    fn change_ranks(self, change: impl FnOnce(&mut Ranks)) {
        let progress = self.with_ranks(|ranks| {
            change(ranks);
            ranks.progress()
        });
        let is_reading = self.state.job.with_untracked(JobStage::is_reading);
        if let Some(now) = progress.filter(|_| is_reading) {
            self.state.job.update(|job| {
                if let JobStage::Reading(read, _) = job {
                    *read = now;
                }
            });
        }
    }

    /// A file was read, or cannot be. Its worker gets another one, unless the worker has ended.
    fn rank_read(self, number: u32, is_over: bool, read: Result<(Array, bool), String>) {
        self.change_ranks(|ranks| {
            let (reading, combining) = (&mut ranks.reading, &mut ranks.combining);
            let mut readers = reading.readers.iter_mut().zip(0..);
            let reader = readers.find(|(reader, _)| reader.number == number);
            let Some((at, (reader, place))) = reader.and_then(|of| Some((of.0.at.take()?, of)))
            else {
                return;
            };
            if is_over || reader.bytes > MOST_SHARED_BYTES {
                drop(reading.readers.swap_remove(place));
            }
            reading.queue.end();
            if let (Some(bytes), Some((_, file))) = (reading.bytes.get_mut(at), ranks.files.get(at))
            {
                *bytes = file.size();
            }
            match read {
                Ok((digests, was_digest)) => {
                    reading.n_read += 1;
                    combining.n_digests += digests.length() as usize;
                    let digests = digests.iter().map(JsCast::unchecked_into);
                    combining.unsent.extend(digests);
                    if was_digest {
                        reading.only_digests.push(at);
                    }
                }
                Err(why) => reading.unreadable.push((at, why)),
            }
        });
        self.read_ranks();
    }
}

impl Failure {
    /// The sentence, with the byte position if there is one.
    fn with_place(&self) -> String {
        match &self.at_byte {
            Some(byte) => format!("{} (at byte {byte})", self.sentence),
            None => self.sentence.clone(),
        }
    }
}

/// How many of all ranks are read.
pub fn ranks_of(read: &RanksRead) -> String {
    let n_files = format::counted(read.n_files as u64, "rank");
    format!("{} of {n_files} read", format::count(read.n_read as u64))
}
