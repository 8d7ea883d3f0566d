//! Which launch of a capture each kernel of a replay comes from.
//!
//! If launches have names: on several streams, each stream takes its next launch of the same name; on one stream,
//! kernels and launches are paired in order, skipping surplus launches, or name by name; if none of these works, by the
//! shortest edit script between both sequences. If launches have no names, as with CUDA: by position, or by what their
//! operators can launch.

use super::names::{Class, Work};
use crate::base::map::Map;
use crate::base::sequence;
use crate::base::sort::Arranged;
use crate::trace::TrackId;

/// A launch of a capture.
#[derive(Debug, Clone, Copy)]
pub(super) struct Launched<'a> {
    pub(super) work: Work,
    pub(super) is_named: bool,
    pub(super) class: Class<'a>,
}

/// A kernel, copy or fill of a replay.
#[derive(Debug, Clone, Copy)]
pub(super) struct Replayed<'a> {
    pub(super) work: Work,
    pub(super) stream: TrackId,
    /// Its node number, in launch order, if the profiler records it.
    pub(super) node: Option<u64>,
    pub(super) class: Class<'a>,
}

/// By kernel: its launch.
pub(super) type Pairs = Vec<Option<u32>>;

/// At least this share of the kernels of a replay must be explained.
const LEAST_PERCENT: usize = 90;

/// Number of explained kernels.
pub(super) fn n_matched(pairs: &Pairs) -> usize {
    pairs.iter().filter(|pair| pair.is_some()).count()
}

/// Whether enough kernels are explained to merge.
pub(super) fn is_enough(n_matched: usize, n_kernels: usize) -> bool {
    n_kernels > 0 && n_matched * 100 >= n_kernels * LEAST_PERCENT
}

/// Pairs the kernels of a replay with the launches of a capture, both sorted by start. Poor matches may come back with
/// few pairs.
pub(super) fn pair(replay: &[Replayed], capture: &[Launched]) -> Pairs {
    let is_named = |launch: &Launched| launch.is_named || !is_kernel(launch.work);
    let n_streams_differ = replay.windows(2).any(|two| two[0].stream != two[1].stream);
    if !capture.iter().any(|launch| launch.is_named) {
        return match (n_streams_differ, by_node(replay)) {
            (false, _) => by_class(replay, capture),
            (true, Some(order)) => in_given_order(replay, capture, &order),
            // It is unknown what was captured for which stream.
            (true, None) => vec![None; replay.len()],
        };
    }
    let paired = match n_streams_differ {
        true if capture.iter().all(is_named) => by_stream(replay, capture),
        true => None,
        false if replay.len() != capture.len() => in_order(replay, capture),
        false => by_position(replay, capture).or_else(|| by_name(replay, capture)),
    };
    paired.unwrap_or_else(|| by_difference(replay, capture))
}

fn is_kernel(work: Work) -> bool {
    matches!(work, Work::Kernel(_))
}

/// One queue per stream; a launch goes to a queue whose next kernel it matches. All kernels have to be matched.
fn by_stream(replay: &[Replayed], capture: &[Launched]) -> Option<Pairs> {
    /// How far to look ahead.
    const LONGEST_RUN: usize = 4096;
    let mut streams: Vec<TrackId> = Vec::new();
    let mut queues: Vec<Vec<usize>> = Vec::new();
    for (at, kernel) in replay.iter().enumerate() {
        let queue = streams.iter().position(|stream| *stream == kernel.stream);
        let queue = queue.unwrap_or_else(|| {
            streams.push(kernel.stream);
            queues.push(Vec::new());
            queues.len() - 1
        });
        queues[queue].push(at);
    }
    let mut heads = vec![0; queues.len()];
    let mut pairs = vec![None; replay.len()];
    for (at, launch) in capture.iter().enumerate() {
        let run = |queue: usize| {
            let kernels = queues[queue].get(heads[queue]..).unwrap_or_default();
            let ahead = kernels.iter().zip(&capture[at..]).take(LONGEST_RUN);
            let equal = ahead.take_while(|(kernel, launch)| replay[**kernel].work == launch.work);
            equal.count()
        };
        let can_serve = |queue: &usize| {
            let head = queues[*queue].get(heads[*queue]);
            head.is_some_and(|kernel| replay[*kernel].work == launch.work)
        };
        let able: Vec<usize> = (0..queues.len()).filter(can_serve).collect();
        let chosen = match able[..] {
            [] => continue,
            [only] => only,
            // The first of the longest runs.
            _ => *able.iter().rev().max_by_key(|queue| run(**queue))?,
        };
        let kernel = queues[chosen][heads[chosen]];
        heads[chosen] += 1;
        pairs[kernel] = Some(at as u32);
    }
    pairs.iter().all(Option::is_some).then_some(pairs)
}

/// Each kernel takes the next launch of the same name; those in between are skipped.
fn in_order(replay: &[Replayed], capture: &[Launched]) -> Option<Pairs> {
    let mut launches = capture.iter().enumerate();
    let pairs = replay.iter().map(|kernel| {
        let (at, _) = launches.find(|(_, launch)| launch.work == kernel.work)?;
        Some(Some(at as u32))
    });
    pairs.collect()
}

/// Pairs the nth with the nth, if all names agree.
fn by_position(replay: &[Replayed], capture: &[Launched]) -> Option<Pairs> {
    let mut both = replay.iter().zip(capture);
    let agree = both.all(|(kernel, launch)| {
        kernel.work == launch.work || !launch.is_named && is_kernel(launch.work)
    });
    agree.then(|| (0..replay.len() as u32).map(Some).collect())
}

/// Pairs the nth with the nth within each name, if there are enough launches of every name.
fn by_name(replay: &[Replayed], capture: &[Launched]) -> Option<Pairs> {
    let mut places: Map<Work, Vec<u32>> = Map::default();
    for (at, launch) in capture.iter().enumerate().rev() {
        places.entry(launch.work).or_default().push(at as u32);
    }
    let pairs = replay
        .iter()
        .map(|kernel| Some(Some(places.get_mut(&kernel.work)?.pop()?)));
    pairs.collect()
}

fn by_difference(replay: &[Replayed], capture: &[Launched]) -> Pairs {
    let kernels: Vec<u64> = replay.iter().map(|kernel| kernel.work.key()).collect();
    let launches: Vec<u64> = capture.iter().map(|launch| launch.work.key()).collect();
    let mut pairs = vec![None; replay.len()];
    for (kernel, launch) in sequence::align(&kernels, &launches) {
        pairs[kernel] = Some(launch as u32);
    }
    pairs
}

/// The order of the graph nodes, if all node numbers are known.
fn by_node(replay: &[Replayed]) -> Option<Vec<usize>> {
    let nodes: Option<Vec<u64>> = replay.iter().map(|kernel| kernel.node).collect();
    let nodes = nodes?;
    let order = (0..replay.len()).arranged_by_key(|at| nodes[*at]);
    let are_distinct = order.windows(2).all(|two| nodes[two[0]] != nodes[two[1]]);
    are_distinct.then_some(order)
}

/// Pairs as on one stream, with the kernels in the given order.
fn in_given_order(replay: &[Replayed], capture: &[Launched], order: &[usize]) -> Pairs {
    let ordered: Vec<Replayed> = order.iter().map(|at| replay[*at]).collect();
    let mut pairs = vec![None; replay.len()];
    for (at, pair) in order.iter().zip(by_class(&ordered, capture)) {
        pairs[*at] = pair;
    }
    pairs
}

/// Pairs by what the operators above the launches can launch.
fn by_class(replay: &[Replayed], capture: &[Launched]) -> Pairs {
    let verdict =
        |kernel: usize, launch: usize| capture[launch].class.launches(replay[kernel].class);
    let n_with_verdict = |yes: bool, pairs: &Pairs| {
        let pairs = pairs.iter().enumerate();
        let pairs = pairs.filter_map(|(kernel, launch)| Some((kernel, (*launch)? as usize)));
        pairs
            .filter(|(kernel, launch)| verdict(*kernel, *launch) == Some(yes))
            .count()
    };
    let mut pairs: Pairs = match replay.len() == capture.len() {
        true => (0..replay.len() as u32).map(Some).collect(),
        false => vec![None; replay.len()],
    };
    if replay.len() != capture.len() || n_with_verdict(false, &pairs) > 0 {
        pairs = shortest(replay.len(), capture.len(), |kernel, launch| {
            verdict(kernel, launch) != Some(false)
        });
    }
    settle(&mut pairs, capture.len(), verdict);
    // If no pair is confirmed, equal counts may be a coincidence.
    let is_known = |kernel: &Replayed| kernel.class != Class::Any;
    let is_confirmed = n_with_verdict(true, &pairs) > 0 || !replay.iter().any(is_known);
    match is_confirmed {
        true => pairs,
        false => vec![None; replay.len()],
    }
}

/// Moves each gap between runs of pairs to where most adjacent pairs are confirmed: kernels of unknown class match
/// anywhere.
fn settle(pairs: &mut Pairs, n_launches: usize, verdict: impl Fn(usize, usize) -> Option<bool>) {
    let known = pairs.iter().enumerate();
    let known = known.filter_map(|(kernel, launch)| Some((kernel as isize, (*launch)? as isize)));
    let ends: [Pair; 2] = [(-1, -1), (pairs.len() as isize, n_launches as isize)];
    let mut all: Vec<Pair> = [ends[0]]
        .into_iter()
        .chain(known)
        .chain([ends[1]])
        .collect();
    let pair_verdict =
        |(kernel, launch): Pair| match (usize::try_from(kernel), usize::try_from(launch)) {
            (Ok(kernel), Ok(launch)) => verdict(kernel, launch),
            _ => Some(false),
        };
    let mut at = 1;
    while at < all.len() {
        let (before, after) = (all[at - 1], all[at]);
        if moved(before, 1) == after {
            at += 1;
            continue;
        }
        let shift = best_shift(&all, at, pair_verdict);
        for step in 1..=shift.abs() {
            match shift > 0 {
                true => all[at + step as usize - 1] = moved(before, step),
                false => all[at - step as usize] = moved(after, -step),
            }
        }
        at += 1 + shift.max(0) as usize;
    }
    pairs.fill(None);
    for (kernel, launch) in &all[1..all.len() - 1] {
        if let (Ok(kernel), Ok(launch)) = (usize::try_from(*kernel), u32::try_from(*launch)) {
            pairs[kernel] = Some(launch);
        }
    }
}

/// How far the gap before the pair at `at` moves, so that the most more pairs are confirmed.
fn best_shift(all: &[Pair], at: usize, verdict: impl Fn(Pair) -> Option<bool>) -> isize {
    /// The farthest that a gap moves.
    const FARTHEST: isize = 256;
    let (before, after) = (all[at - 1], all[at]);
    let (mut most, mut shift) = (0, 0);
    for (towards, from, to) in [(-1, before, after), (1, after, before)] {
        let mut gain = 0;
        for step in 0..FARTHEST {
            let place = match towards {
                1 => at as isize + step,
                _ => at as isize - 1 - step,
            };
            let is_inner = place > 0 && place + 1 < all.len() as isize;
            let old = moved(from, towards * step);
            if !is_inner || all[place as usize] != old {
                break;
            }
            let new = verdict(moved(to, towards * (step + 1)));
            if new == Some(false) {
                break;
            }
            gain += i32::from(new == Some(true)) - i32::from(verdict(old) == Some(true));
            if gain > most {
                (most, shift) = (gain, towards * (step + 1));
            }
        }
    }
    shift
}

/// A kernel and a launch, by index; before the first and after the last at the ends.
type Pair = (isize, isize);

fn moved((kernel, launch): Pair, by: isize) -> Pair {
    (kernel + by, launch + by)
}

/// The shortest edit script of two sequences, given which elements can be equal (Myers 1986); no pairs if they differ
/// too much.
fn shortest(n_a: usize, n_b: usize, is_equal: impl Fn(usize, usize) -> bool) -> Pairs {
    match edit_history(n_a, n_b, is_equal) {
        Some(history) => pairs_of(&history, n_a, n_b),
        None => vec![None; n_a],
    }
}

/// For each number of edits up to the least that suffices, the furthest positions in the first sequence with fewer
/// edits, by diagonal from −edits−1 to edits+1; `None` if too many are needed.
fn edit_history(
    n_a: usize,
    n_b: usize,
    is_equal: impl Fn(usize, usize) -> bool,
) -> Option<Vec<Vec<usize>>> {
    /// The cost is quadratic in this.
    const MOST_EDITS: usize = 2048;
    let limit = MOST_EDITS.min(n_a + n_b);
    let offset = limit + 1;
    let mut furthest = vec![0_usize; 2 * limit + 3];
    let mut history: Vec<Vec<usize>> = Vec::new();
    for edits in 0..=limit {
        history.push(furthest[offset - edits - 1..=offset + edits + 1].to_vec());
        for step in 0..=edits {
            let diagonal = offset + 2 * step - edits;
            let down = step == 0 || step < edits && furthest[diagonal - 1] < furthest[diagonal + 1];
            let mut a = match down {
                true => furthest[diagonal + 1],
                false => furthest[diagonal - 1] + 1,
            };
            // a − b is the distance of the diagonal from the middle one.
            let Some(mut b) = (a + offset).checked_sub(diagonal) else {
                continue;
            };
            while a < n_a && b < n_b && is_equal(a, b) {
                a += 1;
                b += 1;
            }
            furthest[diagonal] = a;
            if a >= n_a && b >= n_b {
                return Some(history);
            }
        }
    }
    None
}

/// The pairs of equal elements, followed back from the ends of both sequences.
fn pairs_of(history: &[Vec<usize>], n_a: usize, n_b: usize) -> Pairs {
    let mut pairs = vec![None; n_a];
    let (mut a, mut b) = (n_a, n_b);
    for (edits, before) in history.iter().enumerate().rev() {
        let at = |diagonal: isize| {
            before
                .get((diagonal + edits as isize + 1) as usize)
                .copied()
        };
        let diagonal = a as isize - b as isize;
        let (left, right) = (at(diagonal - 1).unwrap_or(0), at(diagonal + 1).unwrap_or(0));
        let is_down = diagonal == -(edits as isize) || diagonal != edits as isize && left < right;
        let from = match is_down {
            true => (right, diagonal + 1),
            false => (left, diagonal - 1),
        };
        let (from_a, from_b) = match edits {
            0 => (0, 0),
            _ => (from.0, (from.0 as isize - from.1).max(0) as usize),
        };
        // Where the run of equal elements starts.
        let start_a = match (edits, is_down) {
            (0, _) => 0,
            (_, true) => from_a,
            (_, false) => from_a + 1,
        };
        while a > start_a && b > 0 {
            a -= 1;
            b -= 1;
            pairs[a] = Some(b as u32);
        }
        (a, b) = (from_a, from_b);
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE_STREAM: TrackId = TrackId(7);

    fn kernels<'a>(names: &'a str) -> Vec<Replayed<'a>> {
        on_streams(names, |_| 7)
    }

    /// Each letter is a kernel; `.` is a copy.
    fn on_streams(names: &str, stream: impl Fn(usize) -> u32) -> Vec<Replayed<'_>> {
        let names = names.bytes().enumerate();
        names
            .map(|(at, name)| Replayed {
                work: work(name),
                stream: TrackId(stream(at)),
                node: None,
                class: class(name),
            })
            .collect()
    }

    fn launches(names: &str, is_named: bool) -> Vec<Launched<'_>> {
        let launch = |name: u8| Launched {
            work: match is_named {
                true => work(name),
                false => Work::Kernel(1000),
            },
            is_named: is_named && name != b'.',
            class: class(name),
        };
        names.bytes().map(launch).collect()
    }

    fn work(name: u8) -> Work {
        match name {
            b'.' => Work::Copy,
            name => Work::Kernel(u32::from(name)),
        }
    }

    /// Capital letters have known classes.
    fn class(name: u8) -> Class<'static> {
        match name {
            b'G' => Class::Of(crate::names::Family::Gemm),
            b'N' => Class::Of(crate::names::Family::Normalization),
            _ => Class::Any,
        }
    }

    fn shown(pairs: &Pairs) -> String {
        let shown = |pair: &Option<u32>| pair.map_or("-".to_owned(), |at| at.to_string());
        pairs.iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn names_tell_what_belongs_together() {
        for (replay, capture, expected) in [
            ("abc", "abc", "0 1 2"),
            // The last launch was not recorded, or one in between was skipped.
            ("abc", "abcd", "0 1 2"),
            ("a.c", "abx.c", "0 3 4"),
            // In another order.
            ("abca", "baca", "1 0 2 3"),
            // Both have an element that the other lacks; the rest is paired.
            ("abcdefghijk", "abcdXfghijkl", "0 1 2 3 - 5 6 7 8 9 10"),
            ("abc", "xyz", "- - -"),
            ("abc", "", "- - -"),
        ] {
            let pairs = pair(&kernels(replay), &launches(capture, true));
            assert_eq!(shown(&pairs), expected, "{replay} {capture}");
        }
    }

    #[test]
    fn each_stream_is_served_in_its_own_order() {
        // Two streams run a, b and c, d side by side; then both run the same kernels.
        let streams = |at: usize| at as u32 % 2;
        for (replay, capture, expected) in [
            ("acbd", "abcd", "0 2 1 3"),
            ("aabx", "abax", "0 2 1 3"),
            ("acb.", "abc.", "0 2 1 3"),
        ] {
            let replay = on_streams(replay, streams);
            let pairs = pair(&replay, &launches(capture, true));
            assert_eq!(shown(&pairs), expected, "{capture}");
        }
        let unnamed = |nodes: [Option<u64>; 4]| {
            let mut kernels = on_streams("GaNb", streams);
            for (kernel, node) in kernels.iter_mut().zip(nodes) {
                kernel.node = node;
            }
            shown(&pair(&kernels, &launches("GNxy", false)))
        };
        assert_eq!(unnamed([None; 4]), "- - - -");
        // Graph nodes are numbered in capture order.
        assert_eq!(unnamed([Some(8), Some(11), Some(9), Some(10)]), "0 3 1 2");
        assert_eq!(unnamed([Some(8), Some(11), Some(9), Some(9)]), "- - - -");
    }

    #[test]
    fn without_names_positions_and_classes_tell() {
        for (replay, capture, expected) in [
            ("aGN", "xGN", "0 1 2"),
            // A launch whose kernel was not recorded: the last, or one in between.
            ("aGN", "aGNx", "0 1 2"),
            ("aGN", "aGxN", "0 1 3"),
            ("GaN", "xGaN", "1 2 3"),
            // A kernel that is not from the capture.
            ("aGNG", "GNG", "- 0 1 2"),
            // Nothing is confirmed.
            ("aGa", "xyz", "- - -"),
            ("abc", "xyz", "0 1 2"),
        ] {
            let pairs = pair(&kernels(replay), &launches(capture, false));
            assert_eq!(shown(&pairs), expected, "{replay} {capture}");
        }
        assert_eq!(kernels("a")[0].stream, ONE_STREAM);
    }

    #[test]
    fn most_kernels_have_to_be_explained() {
        for (n, of, enough) in [
            (9, 10, true),
            (89, 100, false),
            (90, 100, true),
            (0, 0, false),
        ] {
            assert_eq!(is_enough(n, of), enough, "{n} of {of}");
        }
    }
}
