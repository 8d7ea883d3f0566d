//! Ranks of one job: converts a file to its digest, in a worker that ends with it; combines digests into the job.

use std::cell::RefCell;

use dormer_core::job::Analysis;
use dormer_core::job::alignment::moments;
use dormer_core::job::bandwidth::BandwidthChart;
use dormer_core::job::digest::SourceFile;
use dormer_core::job::files::{Excluded, ExclusionReason, JobFiles, Window};
use dormer_core::job::overview::JobOverview;
use dormer_core::job::strip::StepStrip;
use dormer_core::job::{Digest, Job, NetworkFigures, digests, one_rank};
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;
use web_sys::File;

use super::reading::{bytes_of, read_one};
use super::replies::{ProgressReporter, send, send_giving};
use super::{Content, Incoming};
use crate::protocol::{
    DigestRequest, EventAtQuery, Failure, JobOpened, JobRequest, OpeningStep, Reply, StepRequest,
};

/// Reads a file and sends its digest.
pub(super) async fn digest(file: Option<File>, request: DigestRequest) {
    let Some(file) = file else { return };
    match digest_of(&file, request).await {
        Ok((files, was_digest)) => {
            let digests: Vec<Uint8Array> =
                files.iter().map(|bytes| bytes.as_slice().into()).collect();
            let given: Array = digests.iter().map(Uint8Array::buffer).collect();
            let digests: Array = digests.iter().collect();
            send_giving(
                &Reply::Digest(was_digest),
                &[("digests", digests.into())],
                &given,
            );
        }
        Err(failure) => send(&Reply::Failed(failure), &[]),
    }
}

/// The digest's bytes, several if ranks are merged into the file; and whether they are the file's own bytes.
async fn digest_of(file: &File, request: DigestRequest) -> Result<(Vec<Vec<u8>>, bool), Failure> {
    let head = bytes_of(file, Digest::HEAD_BYTES as f64).await?;
    if Digest::is_file(&head) {
        let bytes = bytes_of(file, file.size()).await?;
        return match Digest::from_file(&bytes) {
            Some(Err(why)) => Err(Failure::new(why)),
            _ => Ok((vec![bytes], true)),
        };
    }
    let mut reporter = ProgressReporter::of(Reply::Progress, std::slice::from_ref(file));
    let content = read_one(file, &mut reporter, request.has_inflater).await?;
    let Some(Content::Recording(imported)) = content else {
        return Err(Failure::new("it is not a trace"));
    };
    reporter.report(OpeningStep::Profiling);
    let source = SourceFile {
        name: request.path,
        bytes: file.size() as u64,
    };
    let digests = digests(*imported, source);
    Ok((digests.iter().map(Digest::to_file).collect(), false))
}

/// Keeps, for each file with several merged ranks, only the rank that its name specifies; `false` if a name specifies
/// none.
pub(super) fn select_named_ranks(files: &mut [Incoming]) -> bool {
    files.iter_mut().all(|file| {
        let Ok(Content::Recording(imported)) = &mut file.content else {
            return true;
        };
        let rank = one_rank(std::mem::take(&mut **imported), &file.name);
        rank.map(|rank| **imported = rank).is_some()
    })
}

/// The job that this worker holds.
#[derive(Default)]
struct LoadedJob {
    /// All digest files, in the order of arrival.
    digests: Vec<Vec<u8>>,
    open: Option<(Job, Analysis)>,
}

thread_local! {
    static JOB: RefCell<LoadedJob> = RefCell::default();
}

/// Combines digests with those that came before, and sends what is shown of the job.
pub(super) fn open(digests: &JsValue, request: JobRequest) {
    let digests: Array = digests.clone().unchecked_into();
    let digests = digests.iter().map(|bytes| Uint8Array::new(&bytes).to_vec());
    let opened = JOB.with_borrow_mut(|job| {
        job.digests.extend(digests);
        // There is not enough memory for two.
        job.open = None;
        let (opened, open) = opened(&job.digests, request)?;
        job.open = Some(open);
        Some(opened)
    });
    let reply = match opened {
        Some(opened) => Reply::JobOpened(Box::new(opened)),
        None => Reply::JobFailed(Failure::new(
            "none of the files is a rank of a job: neither their metadata nor their file names contain a rank number",
        )),
    };
    send(&reply, &[]);
}

/// Sends how the ranks ran a step.
pub(super) fn step(request: StepRequest) {
    let strip = JOB.with_borrow(|job| {
        let (job, analysis) = job.open.as_ref()?;
        let rank = request.rank.map(|rank| rank as usize);
        Some(StepStrip::new(job, analysis, request.step as usize, rank))
    });
    if let Some(strip) = strip {
        send(&Reply::JobStep(Box::new(strip)), &[]);
    }
}

fn opened(digests: &[Vec<u8>], request: JobRequest) -> Option<(JobOpened, (Job, Analysis))> {
    let read = digests
        .iter()
        .filter_map(|bytes| Digest::from_file(bytes)?.ok());
    let JobFiles {
        mut windows,
        mut excluded,
    } = JobFiles::new(read.collect());
    let unreadable = request.unreadable.into_iter();
    excluded.extend(unreadable.map(|(name, bytes, why)| Excluded {
        file: SourceFile { name, bytes },
        why: ExclusionReason::Unreadable(why),
    }));
    let names = windows.iter().map(name_of).collect();
    let at = (request.window as usize).min(windows.len().checked_sub(1)?);
    let job = Job::new(windows.swap_remove(at));
    let figures = NetworkFigures {
        between_hosts_gbps: request.network_gbps,
    };
    let analysis = Analysis::with(&job, figures);
    let opened = JobOpened {
        overview: JobOverview::new(&job, &analysis, &excluded),
        bandwidth: BandwidthChart::new(&job, &analysis),
        moments: moments(&job),
        windows: names,
        window: at as u32,
    };
    Some((opened, (job, analysis)))
}

fn name_of(window: &Window) -> String {
    match window.steps {
        Some((first, last)) if first == last => format!("step {first}"),
        Some((first, last)) => format!("steps {first}\u{2013}{last}"),
        None => "without numbered steps".to_owned(),
    }
}

impl super::Analysis {
    /// An event by its name and its start time.
    pub(super) fn event_at(&self, query: &EventAtQuery) -> Option<u32> {
        let trace = &self.whole.trace;
        let events = &trace.events;
        let named = events
            .ids()
            .filter(|event| trace.name(*event) == query.name);
        let nearest = named.min_by_key(|event| events.ts_ns(*event).abs_diff(query.start_ns));
        nearest.map(|event| events.uid(event))
    }
}
