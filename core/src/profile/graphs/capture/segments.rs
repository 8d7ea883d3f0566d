//! Reads the captures in a file: the calls between the start and the end of each graph capture.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::names::{self, Symbols};
use crate::base::interval::Interval;
use crate::base::map::Map;
use crate::base::sort::{Arrange, first_not};
use crate::profile::cpu::tree::{CallTree, Frames, NodeId};
use crate::profile::launch::Launches;
use crate::trace::{Category, EventId, Trace, event_args};

/// A call of a segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) event: EventId,
    /// Number of calls above it within the segment.
    pub(super) depth: u16,
}

/// A launch of a segment: what a kernel, copy or fill of a replay may come from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Launch {
    /// Its row of [`Segment::calls`].
    pub(super) row: u32,
    /// What it launches.
    pub(super) work: names::Work,
    /// Whether the kernel name is known; CUDA launches do not record it.
    pub(super) is_named: bool,
    /// The nearest operator above it.
    pub(super) op: Option<EventId>,
}

/// The calls of one graph capture.
#[derive(Debug, Default)]
pub(super) struct Segment {
    /// The calls, parents before children.
    pub(super) calls: Vec<Call>,
    /// The calls that launch something, sorted by start.
    pub(super) launches: Vec<Launch>,
    /// The batch size it was captured for, in tokens or requests, from annotations or notes.
    pub(super) size: Option<u64>,
    /// The most frequent first dimension in its operators' shapes.
    pub(super) rows: Option<u64>,
    /// Whether any operator has a first dimension equal to the size in the notes; `None` without such notes or without
    /// shapes.
    has_noted: Option<bool>,
    /// Hash of the shapes of all operators; segments with equal hashes are interchangeable.
    pub(super) shapes: u64,
}

impl Segment {
    /// Sort key for finding the smallest segment that holds this many tokens, smallest first; `None` if it is too
    /// small.
    pub(super) fn capacity(&self, tokens: u64) -> Option<(bool, u64)> {
        /// The most tokens per request in speculative decoding.
        const MOST_OF_REQUEST: u64 = 32;
        // The size counts requests or tokens; rows that are not a multiple of it are not token rows.
        let is_of_size = |rows: &u64| {
            let size = self.size.unwrap_or(0);
            size > 0 && rows.is_multiple_of(size) && rows / size <= MOST_OF_REQUEST
        };
        let Some(known) = self.known_size() else {
            return Some((false, u64::MAX));
        };
        let of_requests = self.rows.filter(is_of_size).unwrap_or(0);
        match (known >= tokens, of_requests >= tokens) {
            (true, _) => Some((false, known)),
            (false, true) => Some((true, of_requests)),
            (false, false) => None,
        }
    }

    /// The batch size it was captured for, if known.
    pub(super) fn known_size(&self) -> Option<u64> {
        self.size.or(self.rows)
    }
}

/// Whether a call starts the capture of a graph.
pub(super) fn is_begin(name: &str) -> bool {
    name.contains("StreamBeginCapture")
}

/// The captures found in a file.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) segments: Vec<Segment>,
    /// Captures whose end was not recorded.
    pub(super) n_unfinished: u32,
    /// The size in the notes and the actual size, if annotations or shapes contradict the notes.
    pub(super) contradiction: Option<(u64, u64)>,
}

/// Finds the segments of a capture file, in order.
pub(super) fn find<'a>(
    trace: &'a Trace,
    expected: ExpectedSize,
    symbols: &mut Symbols<'a>,
) -> Found {
    let (begins, ends) = bounds(trace);
    let spans = spans(trace, &begins, &ends);
    let mut found = Found {
        n_unfinished: begins.len().saturating_sub(spans.len()) as u32,
        ..Found::default()
    };
    if spans.is_empty() {
        return found;
    }
    let tree = CallTree::new(trace, Frames::With, &Launches::default());
    let sizes = annotated_sizes(trace);
    for span in spans {
        let around = sizes
            .iter()
            .filter(|(around, _)| around.contains(span.start_ns));
        let around = around.max_by_key(|(around, _)| around.start_ns);
        let own = around.map(|(_, size)| *size);
        let reader = Reader {
            trace,
            tree: &tree,
            span,
            noted: expected.noted,
        };
        found.segments.push(reader.read(own, symbols));
    }
    found.believe(expected);
    found
}

impl Found {
    /// Adopts the size known from outside the file, unless the file contradicts it.
    fn believe(&mut self, expected: ExpectedSize) {
        let own = self.segments.iter().find_map(|segment| segment.size);
        let rows = self.segments.iter().find_map(|segment| segment.rows);
        let mut seen = self.segments.iter().filter_map(|segment| segment.has_noted);
        let is_seen = seen.next().is_none_or(|first| first || seen.any(|has| has));
        self.contradiction = match (expected.noted, own) {
            // One may count requests and the other tokens.
            (Some(noted), Some(own)) if own % noted.max(1) != 0 && noted % own.max(1) != 0 => {
                Some((noted, own))
            }
            (Some(noted), None) if !is_seen => rows.map(|rows| (noted, rows)),
            _ => None,
        };
        let noted = expected.noted.filter(|_| self.contradiction.is_none());
        for segment in &mut self.segments {
            segment.size = segment.size.or(noted).or(expected.named);
        }
    }
}

/// What is known from outside the file about the batch size it was captured for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ExpectedSize {
    /// From a notes file.
    pub(super) noted: Option<u64>,
    /// From its name.
    pub(super) named: Option<u64>,
}

/// From the end of the call that starts a capture to the call that ends it, paired in file order. In a file that starts
/// or ends in the middle of a capture, each start is paired with the next end.
fn spans(trace: &Trace, begins: &[EventId], ends: &[EventId]) -> Vec<Interval> {
    let events = &trace.events;
    let span = |begin: EventId, end: EventId| {
        (events.end_ns(begin) <= events.ts_ns(end))
            .then(|| Interval::new(events.end_ns(begin), events.ts_ns(end)))
    };
    let pairs = || {
        begins
            .iter()
            .zip(ends)
            .map(|(begin, end)| span(*begin, *end))
    };
    if pairs().all(|pair| pair.is_some()) {
        return pairs().flatten().collect();
    }
    let (mut begins, mut ends) = (begins.to_vec(), ends.to_vec());
    begins.arrange_by_key(|event| (events.ts_ns(*event), *event));
    ends.arrange_by_key(|event| (events.ts_ns(*event), *event));
    let next = |begin: &EventId| {
        let at = ends.partition_point(|end| events.ts_ns(*end) < events.end_ns(*begin));
        ends.get(at).copied()
    };
    let pairs = begins.iter().enumerate().filter_map(|(at, begin)| {
        let end = next(begin)?;
        let is_own = begins
            .get(at + 1)
            .is_none_or(|other| events.ts_ns(*other) >= events.ts_ns(end));
        span(*begin, end).filter(|_| is_own)
    });
    pairs.collect()
}

/// The calls that start and that end captures, in file order.
fn bounds(trace: &Trace) -> (Vec<EventId>, Vec<EventId>) {
    let (mut begins, mut ends) = (Vec::new(), Vec::new());
    for event in trace.events.of_category(Category::is_runtime) {
        if trace.captured.has(event) {
            continue;
        }
        let name = trace.name(event);
        if is_begin(name) {
            begins.push(event);
        } else if name.contains("StreamEndCapture") {
            ends.push(event);
        }
    }
    (begins, ends)
}

/// Annotations around captures that contain the size: `capture_32_FULL`, `capture_graph_bs_8`.
fn annotated_sizes(trace: &Trace) -> Vec<(Interval, u64)> {
    let events = &trace.events;
    let annotations = events.in_category(Category::UserAnnotation);
    let sized = annotations.filter_map(|event| {
        let size = names::captured_size(trace.name(event))?;
        Some((events.span(event), size))
    });
    sized.collect()
}

struct Reader<'a, 't> {
    trace: &'a Trace,
    tree: &'t CallTree,
    span: Interval,
    noted: Option<u64>,
}

impl<'a> Reader<'a, '_> {
    fn read(&self, size: Option<u64>, symbols: &mut Symbols<'a>) -> Segment {
        let mut segment = Segment {
            size,
            ..Segment::default()
        };
        for root in self.roots() {
            self.add(root, &mut segment, symbols);
        }
        let start_of = |launch: &Launch| {
            let call = segment.calls.get(launch.row as usize);
            call.map(|call| self.trace.events.ts_ns(call.event))
        };
        segment
            .launches
            .arrange_by_key(|launch| (start_of(launch), launch.row));
        self.describe(&mut segment);
        segment
    }

    /// Whether a call lies entirely inside the span.
    fn is_inside(&self, node: NodeId) -> bool {
        self.tree.span(self.trace, node).is_some_and(|call| {
            call.start_ns >= self.span.start_ns && call.end_ns <= self.span.end_ns
        })
    }

    /// The outermost calls inside the span.
    fn roots(&self) -> Vec<NodeId> {
        let tree = self.tree;
        let mut roots = Vec::new();
        let start_ns = |node: u32| {
            let span = tree.span(self.trace, NodeId(node));
            span.map_or(i64::MIN, |span| span.start_ns)
        };
        for track in tree.tracks() {
            // Nodes of a thread are sorted by start.
            let nodes = track.nodes.clone();
            let is_before = |node: usize| start_ns(node as u32) < self.span.start_ns;
            let mut node = first_not(nodes.start as usize..nodes.end as usize, is_before) as u32;
            while node < nodes.end && start_ns(node) <= self.span.end_ns {
                let id = NodeId(node);
                let is_root = self.is_inside(id);
                node = match is_root {
                    true => {
                        roots.push(id);
                        tree.subtree(id).end.max(node + 1)
                    }
                    false => node + 1,
                };
            }
        }
        // Across threads, by start.
        roots.arrange_by_key(|root| (start_ns(root.0), root.0));
        roots
    }

    fn is_launch(&self, node: NodeId) -> bool {
        let Some(event) = self.tree.event(node) else {
            return false;
        };
        self.trace.events.category(event).is_runtime() && names::is_launch(self.trace.name(event))
    }

    fn add(&self, root: NodeId, segment: &mut Segment, symbols: &mut Symbols<'a>) {
        let (trace, tree) = (self.trace, self.tree);
        let root_depth = tree.depth(root);
        for node in tree.subtree(root).map(NodeId) {
            let Some(event) = tree.event(node) else {
                continue;
            };
            let row = segment.calls.len() as u32;
            segment.calls.push(Call {
                event,
                depth: tree.depth(node).saturating_sub(root_depth),
            });
            if !self.is_launch(node) {
                continue;
            }
            let kernel = event_args::arg(trace, event, "kernel").filter(|name| !name.is_empty());
            let above = tree.ancestors(node).take_while(|above| above.0 >= root.0);
            let op = above
                .filter(|above| tree.category(trace, *above) == Category::CpuOp)
                .find_map(|above| tree.event(above));
            segment.launches.push(Launch {
                row,
                work: symbols.work(kernel.unwrap_or(trace.name(event))),
                is_named: kernel.is_some(),
                op,
            });
        }
    }

    /// Adds what is known from the operators' shapes.
    fn describe(&self, segment: &mut Segment) {
        let mut hasher = FxHasher::default();
        let mut rows: Map<i64, u32> = Map::default();
        for call in &segment.calls {
            let events = &self.trace.events;
            if events.category(call.event) != Category::CpuOp {
                continue;
            }
            let args = events.op_args(call.event);
            let args = args.and_then(|args| self.trace.args.get(args));
            self.trace.name(call.event).hash(&mut hasher);
            let dims = args.and_then(|args| args.dims.as_deref());
            for dims in dims.unwrap_or_default() {
                for shape in dims.shapes() {
                    let sizes = self.trace.args.shape(*shape);
                    sizes.hash(&mut hasher);
                    if let Some(first) = sizes.first() {
                        *rows.entry(*first).or_default() += 1;
                    }
                }
            }
        }
        segment.shapes = hasher.finish();
        let noted = self.noted.and_then(|size| i64::try_from(size).ok());
        segment.has_noted = noted
            .filter(|_| !rows.is_empty())
            .map(|size| rows.contains_key(&size));
        let most = rows.into_iter().max_by_key(|(size, n)| (*n, *size));
        segment.rows = most.and_then(|(size, _)| u64::try_from(size).ok());
    }
}
