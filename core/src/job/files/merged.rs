//! Splits traces that a tool merged from several ranks.
//!
//! | tool | what it writes |
//! |---|---|
//! | TraceFusion | `args.rank` on every event; `pid`, flow id and `correlation` offset by the rank times a power of ten, original values as `…_raw`; processes named "RANK 3 - GPU" |
//! | SGLang | `pid` prefixed with the rank's coordinates, `[TP00-DP01-PP00-EP00] 1234`; link ids unchanged, so that those of several ranks collide |
//!
//! Each rank becomes a trace with its own processes and link ids. The metadata of the file is that of one rank; only
//! what is the same for all ranks is kept.

mod part;

use std::fmt;

use serde_json::Value;

use crate::base::map::{Map, Set};
use crate::base::sort::Arrange;
use crate::import::Imported;
use crate::job::digest::coordinates::Coordinates;
use crate::job::digest::{Digest, RankFrom, SourceFile};
use crate::profile::Profile;
use crate::trace::event_args::arg;
use crate::trace::{EventId, FlowPoint, FlowTable, Trace, TrackId};
use part::Part;

/// If a tool adds ranks, this many events at the beginning all have one.
const N_SAMPLED: usize = 16;

/// Identifies a rank of a merged trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum MergedRank {
    /// Its number.
    Rank(u32),
    /// Its coordinates in the layout of a server.
    At(Coordinates),
}

impl fmt::Display for MergedRank {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            MergedRank::Rank(rank) => write!(f, "rank {rank}"),
            MergedRank::At(at) => write!(f, "{at}"),
        }
    }
}

/// A trace of several ranks.
#[derive(Debug)]
pub(crate) struct Merged<'a> {
    imported: &'a Imported,
    /// Sorted.
    pub(crate) ranks: Vec<MergedRank>,
    /// For each event, its rank as an index into `ranks`.
    of_events: Vec<Option<u32>>,
    /// The same for each track.
    of_tracks: Vec<Option<u32>>,
}

/// Reduces a trace to one digest or, if a tool merged several ranks into the file, to one for each.
pub fn digests(imported: Imported, file: SourceFile) -> Vec<Digest> {
    let Some(merged) = Merged::new(&imported) else {
        return vec![Digest::new(&Profile::new(imported), file)];
    };
    let ranks = merged.ranks.iter().zip(0..).map(|(who, nth)| {
        let part = SourceFile {
            name: format!("{}, {who}", file.name),
            bytes: file.bytes,
        };
        let mut digest = Digest::new(&Profile::new(merged.trace(nth)), part);
        let identity = &mut digest.identity;
        (identity.rank, identity.rank_from) = match who {
            MergedRank::Rank(rank) => (Some(*rank), RankFrom::Merged),
            MergedRank::At(_) => (None, RankFrom::Unknown),
        };
        identity.coordinates = match who {
            MergedRank::Rank(_) => None,
            MergedRank::At(at) => Some(*at),
        };
        digest
    });
    ranks.collect()
}

/// The trace of one rank: the whole file or, if it contains several ranks, the one that `name` ends with, as the names
/// of [`digests`] do. `None` if there are several and the name matches none of them.
pub fn one_rank(imported: Imported, name: &str) -> Option<Imported> {
    let Some(merged) = Merged::new(&imported) else {
        return Some(imported);
    };
    let called = |who: &MergedRank| name.ends_with(&format!(", {who}"));
    let nth = merged.ranks.iter().position(called)?;
    Some(merged.trace(u32::try_from(nth).ok()?))
}

impl<'a> Merged<'a> {
    /// `None` for a trace of a single rank.
    pub(crate) fn new(imported: &'a Imported) -> Option<Merged<'a>> {
        let trace = &imported.trace;
        let of_args = |event| {
            arg(trace, event, "rank")?
                .parse()
                .ok()
                .map(MergedRank::Rank)
        };
        let mut first = trace.events.ids().take(N_SAMPLED);
        let has_args = first.all(|event| of_args(event).is_some());
        let mut tracks: Vec<Option<MergedRank>> = (trace.tracks.iter())
            .map(|(id, _)| of_track(trace, id))
            .collect();
        if !has_args && tracks.iter().flatten().next().is_none() {
            return None;
        }
        let mut events: Vec<Option<MergedRank>> = Vec::with_capacity(trace.events.len());
        for event in trace.events.ids() {
            let track = trace.events.track(event).0 as usize;
            let known = tracks.get(track).copied().flatten();
            let own = if has_args { of_args(event) } else { None };
            let who = own.or(known);
            if let (None, Some(track)) = (known, tracks.get_mut(track)) {
                *track = who;
            }
            events.push(who);
        }
        let ranks: Set<MergedRank> = events.iter().flatten().copied().collect();
        let mut ranks: Vec<MergedRank> = ranks.into_iter().collect();
        if ranks.len() < 2 {
            return None;
        }
        ranks.arrange_by_key(|who| *who);
        let numbers: Map<MergedRank, u32> = ranks.iter().copied().zip(0..).collect();
        let number = |who: Option<MergedRank>| numbers.get(&who?).copied();
        Some(Merged {
            imported,
            of_events: events.into_iter().map(number).collect(),
            of_tracks: tracks.into_iter().map(number).collect(),
            ranks,
        })
    }

    /// The trace of one of the ranks.
    pub(crate) fn trace(&self, nth: u32) -> Imported {
        let Imported {
            trace, warnings, ..
        } = self.imported;
        let n_ranks = self.ranks.len().max(1) as u64;
        Imported {
            trace: self.part(trace, nth),
            warnings: warnings.clone(),
            text_bytes: self.imported.text_bytes / n_ranks,
        }
    }

    fn part(&self, trace: &Trace, nth: u32) -> Trace {
        let mut part = Part::new(trace);
        let is_own = |of: &[Option<u32>], at: usize| of.get(at).copied().flatten() == Some(nth);
        let mut new_ids: Map<EventId, EventId> = Map::default();
        let kept = trace.events.ids();
        for event in kept.filter(|event| is_own(&self.of_events, event.0 as usize)) {
            let new = part.event(trace, event);
            new_ids.insert(event, new);
        }
        let by = match self.ranks.get(nth as usize) {
            Some(MergedRank::Rank(rank)) => part.moved_by(trace, *rank, |track| {
                is_own(&self.of_tracks, track.0 as usize)
            }),
            _ => 0,
        };
        let flows = |points: &[FlowPoint], part: &mut Part| -> Vec<FlowPoint> {
            let own = points.iter();
            let own = own.filter(|point| is_own(&self.of_tracks, point.track.0 as usize));
            own.map(|point| FlowPoint {
                id: part.unmoved(trace, point.id, by),
                track: part.track(trace, point.track, None),
            })
            .collect()
        };
        let starts: Vec<FlowPoint> = trace.flows.starts.iter().collect();
        let ends: Vec<FlowPoint> = trace.flows.ends.iter().collect();
        let (starts, ends) = (flows(&starts, &mut part), flows(&ends, &mut part));
        let mut table = FlowTable::default();
        table.starts.extend(starts.into_iter());
        table.ends.extend(ends.into_iter());
        let numbers = trace.sequence_numbers.iter();
        let numbers = numbers.filter_map(|(event, number)| Some((*new_ids.get(event)?, *number)));
        let untrue = trace.unreliable_durations.iter();
        let untrue = untrue.filter_map(|(event, ns)| Some((*new_ids.get(event)?, *ns)));
        let mut devices = Vec::new();
        for device in &trace.devices {
            if !devices.contains(device) {
                devices.push(device.clone());
            }
        }
        part.name_tracks(trace);
        Trace {
            source: trace.source,
            flows: table,
            sequence_numbers: numbers.collect(),
            unreliable_durations: untrue.collect(),
            n_events_read: part.events.len() as u64,
            metadata: self.metadata(trace),
            devices,
            args: trace.args.clone(),
            strings: part.strings,
            events: part.events,
            tracks: part.tracks,
            link_ids: part.link_ids,
            ..Trace::default()
        }
    }

    /// The metadata that is the same for all ranks: without the rank and its groups.
    fn metadata(&self, trace: &Trace) -> Vec<(String, String)> {
        let all = trace.metadata.iter();
        let all = all.filter(|(key, _)| key != "trace_id" && key != "host_name");
        let all = all.filter_map(|(key, json)| {
            if key != "distributedInfo" {
                return Some((key.clone(), json.clone()));
            }
            let info: Value = serde_json::from_str(json).ok()?;
            let info = info.as_object()?.iter();
            let of_all = info.filter(|(key, _)| *key == "backend" || *key == "world_size");
            let of_all = of_all.map(|(key, value)| (key.clone(), value.clone()));
            Some((key.clone(), Value::Object(of_all.collect()).to_string()))
        });
        all.collect()
    }
}

/// The rank named by the process of a track.
fn of_track(trace: &Trace, id: TrackId) -> Option<MergedRank> {
    let track = trace.tracks.get(id)?;
    if let Some((coordinates, _)) = prefixed(trace.strings.get(track.pid)) {
        return Some(MergedRank::At(coordinates));
    }
    let name = trace.strings.get(track.process_name?);
    let (number, device) = name.strip_prefix("RANK ")?.split_once(" - ")?;
    let is_device = device.starts_with("CPU") || device.starts_with("GPU");
    let number = number.trim().parse().ok().filter(|_| is_device)?;
    Some(MergedRank::Rank(number))
}

/// The coordinates that prefix a process, and the process itself: `[TP00-DP01] 1234`.
fn prefixed(pid: &str) -> Option<(Coordinates, &str)> {
    let (label, rest) = pid.strip_prefix('[')?.split_once("] ")?;
    Some((Coordinates::of(label)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::import;
    use crate::job::Job;
    use crate::job::files::JobFiles;
    use crate::trace::LinkId;

    /// An all-reduce of rank 0 or 1 with the call that launched it, as TraceFusion writes them: `pid` of rank 1 offset
    /// by 10⁴, its correlation by 10³, its flow by 10².
    fn fused(rank: u64, start: u64) -> String {
        let pid = 100 + rank * 10_000;
        let gpu = rank * 10_000;
        let (correlation, flow) = (7 + rank * 1_000, 7 + rank * 100);
        let raw = format!(r#""rank": {rank}, "correlation_raw": 7"#);
        format!(
            r#"
            {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": {pid}, "tid": 1, "ts": {start}, "dur": 2,
              "args": {{{raw}, "pid_raw": 100, "correlation": {correlation}}}}},
            {{"ph": "s", "cat": "ac2g", "name": "ac2g", "pid": {pid}, "tid": 1, "ts": {start}, "id": {flow}, "args": {{"rank": {rank}}}}},
            {{"ph": "f", "cat": "ac2g", "name": "ac2g", "pid": {gpu}, "tid": 3, "ts": {start}, "id": {flow}, "bp": "e", "args": {{"rank": {rank}}}}},
            {{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": {gpu}, "tid": 3, "ts": {}, "dur": 50,
              "args": {{{raw}, "pid_raw": 0, "correlation": {correlation}, "device": 0, "stream": 3,
                "Collective name": "allreduce", "In msg nelems": 8, "Out msg nelems": 8, "dtype": "Float", "Group size": 2,
                "Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1]"}}}}"#,
            start + 10
        )
    }

    fn read(events: &[String], metadata: &str) -> Imported {
        let text = format!(r#"{{{metadata}"traceEvents": [{}]}}"#, events.join(","));
        import(text.as_bytes()).unwrap()
    }

    fn digests(imported: Imported) -> Vec<Digest> {
        let name = "merged.json".to_owned();
        super::digests(imported, SourceFile { name, bytes: 1 })
    }

    #[test]
    fn one_rank_is_the_one_that_is_named() {
        let n_events = |imported: Imported, name| {
            one_rank(imported, name).map(|imported| imported.trace.events.len())
        };
        let alone = || read(&[fused(0, 100), fused(0, 120)], "");
        let both = || read(&[fused(0, 100), fused(1, 120), fused(1, 180)], "");
        assert_eq!(n_events(alone(), "rank0.json"), Some(4));
        assert_eq!(n_events(both(), "merged.json"), None);
        assert_eq!(n_events(both(), "merged.json, rank 1"), Some(4));
        assert_eq!(n_events(both(), "merged.json, rank 11"), None);
    }

    #[test]
    fn ranks_of_args_are_taken_apart_with_their_links_as_they_were() {
        let imported = read(&[fused(0, 100), fused(1, 120)], "");
        let merged = Merged::new(&imported).unwrap();
        assert_eq!(merged.ranks, [MergedRank::Rank(0), MergedRank::Rank(1)]);
        let trace = merged.trace(1).trace;
        let pids = trace
            .tracks
            .iter()
            .map(|(_, track)| trace.strings.get(track.pid));
        assert_eq!(pids.collect::<Vec<&str>>(), ["100", "0"]);
        let links = trace
            .events
            .ids()
            .map(|event| trace.events.correlation(event));
        assert_eq!(links.collect::<Vec<_>>(), [Some(LinkId(7)); 2]);
        assert_eq!(trace.flows.starts.get(0).unwrap().id, LinkId(7));
        assert_eq!(trace.flows.ends.get(0).unwrap().id, LinkId(7));

        let job_files = JobFiles::new(digests(imported));
        assert_eq!(job_files.excluded, []);
        let job = Job::new(job_files.windows.into_iter().next().unwrap());
        let ranks = job.ranks.iter();
        let ranks = ranks.map(|rank| (rank.number, rank.digest.file.name.as_str()));
        assert_eq!(
            ranks.collect::<Vec<_>>(),
            [(0, "merged.json, rank 0"), (1, "merged.json, rank 1")]
        );
        assert_eq!(job.collectives.len(), 1);
        assert!(job.collectives[0].is_complete());
    }

    /// A kernel of a rank of a server; all ranks have the same link ids.
    fn served(tensor: u32, start: u32) -> String {
        let at = format!("[TP{tensor:02}-DP00-PP00-EP{tensor:02}]");
        format!(
            r#"
            {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": "{at} 500", "tid": 1, "ts": {start}, "dur": 2, "args": {{"correlation": 7}}}},
            {{"ph": "X", "cat": "kernel", "name": "gemm", "pid": "{at} {tensor}", "tid": 3, "ts": {}, "dur": 50, "args": {{"correlation": 7, "device": {tensor}, "stream": 3}}}}"#,
            start + 10
        )
    }

    #[test]
    fn ranks_of_prefixes_are_numbered_by_their_coordinates() {
        let metadata = r#""distributedInfo": {"rank": 0, "world_size": 2, "pg_config": []}, "#;
        let imported = read(&[served(0, 100), served(1, 120)], metadata);
        let digests = digests(imported);
        // The metadata of the file is that of its first rank.
        assert!(digests.iter().all(|digest| digest.identity.rank.is_none()));
        let job_files = JobFiles::new(digests);
        assert_eq!(job_files.excluded, []);
        let mut window = job_files.windows.into_iter().next().unwrap();
        window.ranks.arrange_by_key(|rank| rank.number);
        let identities = window.ranks.iter().map(|rank| {
            let identity = &rank.digest.identity;
            (rank.number, identity.rank_from, identity.world_size)
        });
        assert_eq!(
            identities.collect::<Vec<_>>(),
            [
                (0, RankFrom::Coordinates, Some(2)),
                (1, RankFrom::Coordinates, Some(2))
            ]
        );
    }

    #[test]
    fn a_trace_of_one_rank_is_left_as_it_is() {
        let one = read(&[fused(3, 100)], "");
        assert!(Merged::new(&one).is_none());
        assert_eq!(digests(one)[0].file.name, "merged.json");
        let none = read(&[], "");
        assert!(Merged::new(&none).is_none());
    }
}
