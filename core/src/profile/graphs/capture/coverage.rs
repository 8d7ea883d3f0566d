//! What was merged from captures, and what was not and why.

use serde::Serialize;

use super::why::Why;
use crate::base::format;
use crate::base::interval::percent_of;
use crate::trace::EventId;

/// How far captures explain the replays of a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// The files, in the given order.
    pub files: Vec<FileUse>,
    /// The graphs, in the order of their first replay.
    pub graphs: Vec<GraphUse>,
    /// Graph launches for which the kernels of the last captured launches are missing.
    #[serde(skip)]
    pub(crate) cut: Vec<EventId>,
    /// Batch sizes that graph launches were captured for, if known from annotations or notes.
    #[serde(skip)]
    pub(crate) sizes: Vec<(EventId, u64)>,
}

/// How a file was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileUse {
    /// Its name; empty for captures in the trace itself.
    pub name: String,
    /// Number of captures in it.
    pub n_segments: u64,
    /// Number of its captures that are replayed.
    pub n_used: u64,
    /// Number of kernels, over all replays, that come from its launches.
    pub n_kernels: u64,
    /// Why it is not used, or only in part.
    pub problem: Option<Problem>,
}

/// Why a file is not used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Problem {
    /// It cannot be read, for this reason.
    Unreadable(String),
    /// It has no events.
    Empty,
    /// It contains no graph capture.
    NoCapture,
    /// It ends before this many captures did.
    Unfinished(u64),
    /// The file is truncated before any capture.
    Cut,
    /// A notes file gives a different size.
    OtherSize {
        /// According to the notes.
        noted: u64,
        /// According to its annotations or operators.
        own: u64,
    },
    /// It is neither a capture nor a notes file about captures.
    NoNotes,
    /// No replay of the trace comes from it.
    Unused,
}

/// How the replays of a graph were merged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct GraphUse {
    /// Number of its kernels, copies and fills.
    pub n_kernels: u64,
    /// Number of them that come from a captured launch; 0 if nothing was merged.
    pub n_matched: u64,
    /// Number of captured launches that the replays lack.
    pub n_unrecorded: u64,
    /// Number of replays.
    pub n_replays: u64,
    /// Number of replays that were merged.
    pub n_merged: u64,
    /// Why the others were not merged.
    pub why: Option<Why>,
}

impl FileUse {
    /// A sentence for the user; `None` if there is no problem.
    fn sentence(&self) -> Option<String> {
        let name = &self.name;
        Some(match self.problem.as_ref()? {
            Problem::Unreadable(why) => format!(
                "The capture {name} cannot be read: {}.",
                why.trim_end_matches('.')
            ),
            Problem::Empty => format!("The capture {name} has no events."),
            Problem::NoCapture => {
                format!("{name} contains no GPU graph capture: no call in it starts and ends one.")
            }
            Problem::Unfinished(n) => format!(
                "The capture {name} ends before {} did; the incomplete part was not used.",
                format::counted(*n, "graph")
            ),
            Problem::Cut => format!(
                "The capture {name} is cut off before the launches of any graph; copy it again."
            ),
            Problem::OtherSize { noted, own } => format!(
                "The metadata of the capture {name} says that it is of {}; it is of {own}, which is used.",
                format::counted(*noted, "token")
            ),
            Problem::NoNotes => format!(
                "{name} is not a list of capture files with their batch sizes; it was not used."
            ),
            Problem::Unused => format!(
                "No replay of this trace comes from the capture {name}: it is from another model, size or version."
            ),
        })
    }
}

impl Coverage {
    /// Appends this coverage to that of captures merged earlier; the replays listed here are those that were not merged
    /// before.
    pub(in crate::profile) fn after(self, before: Option<&Coverage>) -> Coverage {
        let Some(before) = before else {
            return self;
        };
        let merged = before.graphs.iter().filter(|graph| graph.n_merged > 0);
        let merged = merged.map(|graph| GraphUse {
            n_replays: graph.n_merged,
            why: None,
            ..graph.clone()
        });
        Coverage {
            cut: [&before.cut[..], &self.cut].concat(),
            sizes: [&before.sizes[..], &self.sizes].concat(),
            graphs: merged.chain(self.graphs).collect(),
            files: before.files.iter().cloned().chain(self.files).collect(),
        }
    }

    /// The same with file names replaced, because they are private to the user.
    pub(crate) fn without_names(&self) -> Coverage {
        let mut plain = self.clone();
        let named = plain.files.iter_mut().filter(|file| !file.name.is_empty());
        for (file, number) in named.zip(1..) {
            file.name = format!("capture_{number}");
        }
        plain
    }

    /// Number of replays, and number of merged ones.
    pub fn replays(&self) -> (u64, u64) {
        let all = self.graphs.iter().map(|graph| graph.n_replays);
        let merged = self.graphs.iter().map(|graph| graph.n_merged);
        (all.sum(), merged.sum())
    }

    /// Number of kernels in all replays, and number of those that come from a captured launch.
    pub fn kernels(&self) -> (u64, u64) {
        let all = self
            .graphs
            .iter()
            .map(|graph| graph.n_kernels * graph.n_replays);
        let matched = self
            .graphs
            .iter()
            .map(|graph| graph.n_matched * graph.n_merged);
        (all.sum(), matched.sum())
    }

    /// Whether anything was merged.
    pub fn is_merged(&self) -> bool {
        self.replays().1 > 0
    }

    /// Whether all kernels of all replays are explained.
    pub fn is_complete(&self) -> bool {
        let (all, matched) = self.kernels();
        all == matched
    }

    /// A one-sentence summary.
    pub fn summary(&self) -> String {
        let (n_replays, n_merged) = self.replays();
        let (n_kernels, n_matched) = self.kernels();
        if n_replays == 0 {
            return "The trace replays no GPU graph that a capture could explain.".to_owned();
        }
        if n_merged == 0 {
            return format!(
                "No capture explains {} of {}.",
                format::counted(n_replays, "graph replay"),
                format::counted(n_kernels, "kernel")
            );
        }
        let is_own = |file: &&FileUse| file.n_used > 0 && file.name.is_empty();
        let own = match self.files.iter().any(|file| is_own(&file)) {
            true if self
                .files
                .iter()
                .all(|file| file.n_used == 0 || is_own(&file)) =>
            {
                ", recorded in this trace itself"
            }
            true => ", some of them recorded in this trace itself",
            false => "",
        };
        let n_used: u64 = self.files.iter().map(|file| file.n_used).sum();
        let n_segments: u64 = self.files.iter().map(|file| file.n_segments).sum();
        let share = percent_of(n_matched as i64, n_kernels as i64);
        let share = share.filter(|_| n_matched < n_kernels).map(format::percent);
        let share = share.map_or(String::new(), |share| format!(" ({share})"));
        format!(
            "Operators and shapes of {} of {} kernels{share} in {} of {} graph replays come from {} of {} captured graphs{own}.",
            format::count(n_matched),
            format::count(n_kernels),
            format::count(n_merged),
            format::count(n_replays),
            format::count(n_used),
            format::count(n_segments)
        )
    }

    /// What was not merged and why, one sentence each.
    pub fn problems(&self) -> Vec<String> {
        /// At most this many graphs are listed individually.
        const MOST_LISTED: usize = 5;
        // If there are captures for all batch sizes, only a few are replayed.
        let is_spare = |file: &&FileUse| self.is_merged() && file.problem == Some(Problem::Unused);
        let files = self.files.iter().filter(|file| !is_spare(file));
        let mut problems: Vec<String> = files.filter_map(FileUse::sentence).collect();
        let spare: Vec<&FileUse> = self.files.iter().filter(is_spare).collect();
        problems.extend(match spare[..] {
            [] => None,
            [one] => Some(format!("No replay needs the capture {}.", one.name)),
            _ => Some(format!(
                "{} of {} capture files are needed by no replay.",
                format::count(spare.len() as u64),
                format::count(self.files.len() as u64)
            )),
        });
        let open = |graph: &&GraphUse| graph.why.is_some() || graph.n_matched < graph.n_kernels;
        let graphs: Vec<&GraphUse> = match self.files.iter().any(|file| file.n_segments > 0) {
            true => self.graphs.iter().filter(open).collect(),
            // The problems of the files already say why.
            false => Vec::new(),
        };
        problems.extend(
            graphs
                .iter()
                .take(MOST_LISTED)
                .map(|graph| graph.sentence()),
        );
        if let Some(rest) = graphs
            .len()
            .checked_sub(MOST_LISTED)
            .filter(|rest| *rest > 0)
        {
            problems.push(format!(
                "{} more are not explained, or not as a whole.",
                format::counted(rest as u64, "graph")
            ));
        }
        problems
    }

    /// Why nothing was merged, in sentences. `before` is what was merged earlier.
    pub fn refusal(&self, before: Option<&Coverage>) -> String {
        let problems = self.problems();
        if !problems.is_empty() {
            return problems.join(" ");
        }
        match before.filter(|before| before.is_merged()) {
            Some(_) => "All GPU graph replays of the trace have operators from captures already."
                .to_owned(),
            None => self.summary(),
        }
    }

    /// The merged files other than the trace: the name of each, and how much it explains.
    pub fn merged_files(&self) -> impl Iterator<Item = (&str, String)> {
        let (n_kernels, _) = self.kernels();
        let used = self.files.iter();
        let used = used.filter(|file| file.n_used > 0 && !file.name.is_empty());
        used.map(move |file| {
            let says = format!(
                "{} of {} matched",
                format::count(file.n_kernels),
                format::counted(n_kernels, "kernel")
            );
            (file.name.as_str(), says)
        })
    }

    /// Captured launches that replays lack, in a sentence; `None` if there are none.
    pub(crate) fn unrecorded(&self) -> Option<String> {
        let merged = self.graphs.iter().filter(|graph| graph.n_merged > 0);
        let lacking = merged.filter(|graph| graph.n_unrecorded > 0);
        let (n_launches, n_replays) = lacking.fold((0, 0), |(launches, replays), graph| {
            (
                launches + graph.n_unrecorded * graph.n_merged,
                replays + graph.n_merged,
            )
        });
        (n_launches > 0).then(|| {
            format!(
                "Of {} in {} no kernel was recorded: the profiler lost them, or they were not replayed.",
                format::counted(n_launches, "captured launch").replace("launchs", "launches"),
                format::counted(n_replays, "graph replay")
            )
        })
    }
}

impl GraphUse {
    fn sentence(&self) -> String {
        let graph = format!(
            "A graph of {}, replayed {}",
            format::counted(self.n_kernels, "kernel"),
            match self.n_replays {
                1 => "once".to_owned(),
                n => format!("{} times", format::count(n)),
            }
        );
        match &self.why {
            Some(why) if self.n_merged == 0 => {
                format!("{graph}, has no operators: {}.", why.clause())
            }
            Some(why) => format!(
                "{graph}, has operators in {} of them: {}.",
                format::count(self.n_merged),
                why.clause()
            ),
            None => format!(
                "{graph}, has operators for {} of its kernels; the others are in no capture.",
                format::count(self.n_matched)
            ),
        }
    }
}
