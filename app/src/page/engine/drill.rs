//! From a job to the traces of its ranks, and back.

use js_sys::Array;
use leptos::prelude::*;
use web_sys::File;

use super::ranks::Ranks;
use super::{Engine, TraceSource};
use crate::page::browser::{self, Left};
use crate::page::ranks::{JobStage, VIEW};
use crate::page::url::Focus;
use crate::protocol::{
    Align, BelowRequest, EventAtQuery, Failure, MomentQuery, Rejected, Request, StepLine,
};

/// A visit to the traces of ranks, away from the view of the job.
#[derive(Default)]
pub(super) struct Visit {
    /// The focus of the job's view when it was left, and how it was left.
    focus: Focus,
    left: Option<Left>,
    /// Where a rank is opened.
    drill: Option<Drill>,
    /// If two ranks are opened: a moment in both, and whether to show their timelines.
    moment: Option<(MomentQuery, bool)>,
    /// Further ranks whose timelines are shown below those; the last is the next.
    below: Vec<(BelowRequest, File)>,
}

impl Visit {
    /// Forgets where to go in a rank, because another trace is opened.
    pub(super) fn forget_destination(&mut self) {
        (self.drill, self.moment) = (None, None);
    }
}

/// Where in a job a rank is opened.
#[derive(Clone)]
struct Drill {
    /// The step: its position and its name.
    step: (usize, String),
    /// A kernel: its name, and its start on the clock of the trace.
    event: Option<(String, i64)>,
}

impl Engine {
    fn trace_of(self, rank: usize) -> Option<File> {
        let job = self.state.job.get_untracked();
        let job = job.shown()?;
        let name = &job.opened.overview.ranks.get(rank)?.file;
        job.has_trace.get(rank).filter(|has_trace| **has_trace)?;
        let file = self.with_ranks(|ranks| {
            let (path, file) = ranks.files.get(ranks.file_of(name)?)?;
            match name.strip_prefix(path.as_str()) {
                // Several ranks are merged into the file: the name says which one is meant.
                Some(rest) if !rest.is_empty() => {
                    let parts = Array::of1(file);
                    File::new_with_blob_sequence(&parts, &format!("{}{rest}", file.name())).ok()
                }
                _ => Some(file.clone()),
            }
        });
        file.flatten()
    }

    /// Opens the trace of a rank, by position in the job, at a step.
    pub fn open_rank(self, rank: usize, step: Option<usize>) {
        self.open_rank_at(rank, step, None);
    }

    /// The same at a kernel of the step, given by its name and its start on the clock of the trace.
    pub fn open_rank_at(self, rank: usize, step: Option<usize>, event: Option<(String, i64)>) {
        let Some(file) = self.trace_of(rank) else {
            return;
        };
        let name = self.state.job.with_untracked(|job: &JobStage| {
            let steps = &job.shown()?.opened.overview.steps;
            Some((step?, steps.get(step?)?.clone()))
        });
        self.leave_job();
        self.open(TraceSource::Files(vec![file]));
        self.with_ranks(|ranks| ranks.visit.drill = name.map(|step| Drill { step, event }));
    }

    /// Opens ranks, by position: the timelines of up to four, one below the other on one clock, or the comparison of
    /// two.
    pub fn open_ranks(self, ranks: &[usize], as_timelines: bool) {
        let files: Option<Vec<File>> = ranks.iter().map(|rank| self.trace_of(*rank)).collect();
        let (Some(mut files), [target, reference, others @ ..]) = (files, ranks) else {
            return;
        };
        let job = self.state.job.get_untracked();
        let opened = job.shown().map(|job| &job.opened);
        let moment = |rank: usize| {
            let moments = &opened?.moments;
            Some(MomentQuery {
                target_ns: *moments.get(*target)?,
                reference_ns: *moments.get(rank)?,
            })
        };
        let further = files.split_off(2).into_iter().zip(others);
        let further = further.filter_map(|(file, rank)| {
            let number = opened?.overview.ranks.get(*rank)?.number;
            let request = BelowRequest {
                name: format!("rank {number}, {}", file.name()),
                moment: moment(*rank)?,
            };
            Some((request, file))
        });
        let mut below: Vec<(BelowRequest, File)> = further.collect();
        below.reverse();
        let moment = moment(*reference).map(|moment| (moment, as_timelines));
        self.leave_job();
        self.open(TraceSource::Files(files));
        self.with_ranks(|Ranks { visit, .. }| (visit.moment, visit.below) = (moment, below));
    }

    /// Starts reading the next rank whose timeline is to be shown below the others.
    fn open_next_below(self) {
        let next = self.with_ranks(|ranks| ranks.visit.below.pop());
        if let Some((request, file)) = next.flatten() {
            let choice = untrack(|| self.state.whole_choice()).of_reference();
            self.send(&Request::OpenBelow(choice, request), &[file], None);
        }
    }

    /// A further timeline can be shown, or its file cannot be read.
    pub(super) fn below_opened(self, failure: Option<Failure>) {
        match failure {
            None => self.state.report.update(|report| *report += 1),
            Some(failure) => self.not_opened(vec![Rejected {
                name: None,
                failure,
            }]),
        }
        self.open_next_below();
    }

    /// Two traces are open. If they are ranks of a job, aligns their clocks and shows their timelines if those are
    /// wanted; `false` if their comparison is.
    pub(super) fn shows_timelines_of_ranks(self) -> bool {
        let moment = self.with_ranks(|ranks| ranks.visit.moment.take());
        let Some((moment, as_timelines)) = moment.flatten() else {
            return false;
        };
        self.ask(moment, |()| {});
        if as_timelines {
            self.state.go(|place| {
                place.view = "timeline".to_owned();
                place.focus = Focus {
                    below: Some(Align::Clock),
                    ..Focus::default()
                };
            });
            self.open_next_below();
        }
        as_timelines
    }

    fn leave_job(self) {
        let focus = self.state.place.with_untracked(|place| place.focus.clone());
        self.with_ranks(|ranks| {
            ranks.visit = Visit {
                focus,
                left: Some(browser::leaving()),
                ..Visit::default()
            }
        });
    }

    /// Shows the job again, as it was left. Nothing is read again.
    pub fn back_to_job(self) {
        if self.is_loading() {
            self.cancel();
        }
        let visit = self.with_ranks(|Ranks { visit, .. }| (visit.focus.clone(), visit.left.take()));
        let (focus, left) = visit.unwrap_or_default();
        self.state.visit(|place| {
            place.view = VIEW.to_owned();
            place.focus = focus;
        });
        if let Some(left) = left {
            browser::return_to(left);
        }
    }

    /// Goes to the place in the job from which the trace was opened: returns the time range of its step, and shows the
    /// timeline at its kernel.
    pub(super) fn drilled(self, steps: &[StepLine]) -> Option<(u64, u64)> {
        let drill = self.with_ranks(|ranks| ranks.visit.drill.take())??;
        if let Some((name, start_ns)) = drill.event {
            self.ask(EventAtQuery { name, start_ns }, move |uid| {
                if let Some(uid) = uid {
                    self.state.go(|place| {
                        place.view = "timeline".to_owned();
                        place.focus = Focus::at_event(uid);
                    });
                }
            });
        }
        let (at, name) = drill.step;
        let number = |name: &str| {
            name.rsplit([' ', '#'])
                .next()
                .and_then(|end| end.parse::<u64>().ok())
        };
        let wanted = number(&name);
        let named = steps
            .iter()
            .find(|step| wanted.is_some() && number(&step.name) == wanted);
        named.or_else(|| steps.get(at)).map(|step| step.window)
    }
}
