//! Unknown categories: counted, so that their events are not dropped silently.

use serde::{Deserialize, Serialize};

use crate::base::format;
use crate::base::labels::labeled;
use crate::base::sort::Arrange;
use crate::import::warning::{WarningKind, Warnings};
use crate::trace::Category;

/// The categories of complete events that Dormer does not know, in order of appearance.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct UnknownCategories {
    named: Vec<Named>,
    /// Python frames: they dominate a trace that has them and are not evidence either way, so they are left out of the
    /// total.
    n_frames: u64,
    has_gpu_work: bool,
    /// The profiler that seems to have written the trace, if it is not PyTorch's.
    writer: Option<Writer>,
}

labeled! {
    /// Profilers whose traces look like PyTorch's.
    #[derive(Serialize, Deserialize)]
    enum Writer {
        Ascend => "an Ascend NPU",
        Jax => "JAX or XLA",
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Named {
    cat: Vec<u8>,
    events: u64,
    first_offset: u64,
}

/// A row of [`UnknownCategories`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnknownId(u8);

impl UnknownCategories {
    /// At most this many categories are distinguished; later ones count toward the last one.
    const MAX_NAMED: usize = 32;
    /// Below this percentage of events there is no warning: programs may add their own markers.
    const MIN_PERCENT: u64 = 5;
    /// This many are named in the warning, the most frequent first.
    const SHOWN: usize = 3;

    /// The row of a category; `None` for one that the profiler is known to write.
    pub(super) fn row(&mut self, cat: &[u8]) -> Option<UnknownId> {
        if std::str::from_utf8(cat).is_ok_and(Category::is_known) {
            return None;
        }
        self.row_of(cat)
    }

    fn row_of(&mut self, cat: &[u8]) -> Option<UnknownId> {
        let known = self.named.iter().position(|named| named.cat == cat);
        let row = known.unwrap_or_else(|| {
            if self.named.len() < Self::MAX_NAMED {
                self.named.push(Named {
                    cat: cat.to_vec(),
                    events: 0,
                    first_offset: 0,
                });
            }
            self.named.len() - 1
        });
        u8::try_from(row).ok().map(UnknownId)
    }

    /// Counts a complete event without a category.
    pub(super) fn count_without(&mut self, offset: u64) {
        if let Some(row) = self.row_of(b"") {
            self.count(row, offset);
        }
    }

    /// Records the category of a complete event.
    #[inline]
    pub(super) fn note(&mut self, category: Category) {
        self.n_frames += u64::from(category == Category::PythonFunction);
        self.has_gpu_work |= category.is_gpu();
    }

    /// Records the name of a process: other profilers use names of their own.
    pub(super) fn process(&mut self, name: &str) {
        let writer = match name {
            "Ascend Hardware" | "CANN" => Writer::Ascend,
            _ if name.starts_with("/device:") || name.starts_with("/host:") => Writer::Jax,
            _ => return,
        };
        self.writer.get_or_insert(writer);
    }

    /// Counts a complete event.
    pub(super) fn count(&mut self, UnknownId(row): UnknownId, offset: u64) {
        if let Some(named) = self.named.get_mut(usize::from(row)) {
            if named.events == 0 {
                named.first_offset = offset;
            }
            named.events += 1;
        }
    }

    /// Whether the categories of a part can still be distinguished, too.
    pub(super) fn has_room_for(&self, part: &UnknownCategories) -> bool {
        self.named.len() + part.named.len() < Self::MAX_NAMED
    }

    /// Adds the categories of a part that follows.
    pub(super) fn join(&mut self, part: &UnknownCategories) {
        for named in &part.named {
            let row = self.row_of(&named.cat);
            let own = row.and_then(|UnknownId(row)| self.named.get_mut(usize::from(row)));
            if let Some(own) = own {
                if own.events == 0 {
                    own.first_offset = named.first_offset;
                }
                own.events += named.events;
            }
        }
        self.n_frames += part.n_frames;
        self.has_gpu_work |= part.has_gpu_work;
        self.writer = self.writer.or(part.writer);
    }

    /// Warns if they make up a notable share of all complete events (Python frames aside), or if there is no GPU
    /// activity: it may be in the unknown categories.
    pub(super) fn warn(mut self, n_complete: usize, warnings: &mut Warnings) {
        // A category that only flow arrows have has no complete event.
        self.named.retain(|named| named.events > 0);
        let events: u64 = self.named.iter().map(|named| named.events).sum();
        let all = (n_complete as u64).saturating_sub(self.n_frames);
        let is_trifle = self.has_gpu_work && events * 100 < all * Self::MIN_PERCENT;
        if events == 0 || is_trifle {
            return;
        }
        let first_offset = self.named.iter().map(|named| named.first_offset).min();
        self.named.arrange_by_largest(|named| named.events);
        let mut parts: Vec<String> = self.named.iter().take(Self::SHOWN).map(named).collect();
        let rest = self.named.len().saturating_sub(Self::SHOWN) as u64;
        if rest > 0 {
            parts.push(format!("{} more", format::count(rest)));
        }
        let mut detail = format!("Their categories: {}.", parts.join(", "));
        if let Some(writer) = self.writer {
            detail.push_str(&format!(
                " It looks like a trace of {}, which Dormer does not read.",
                writer.label()
            ));
        }
        warnings.add_with(WarningKind::UnknownCategory, events, first_offset, detail);
    }
}

/// "`Foo` (3 000 events)"
fn named(of: &Named) -> String {
    const MAX_LETTERS: usize = 40;
    let events = format::counted(of.events, "event");
    if of.cat.is_empty() {
        return format!("none ({events})");
    }
    let cat = String::from_utf8_lossy(&of.cat);
    // It is shown between backticks, on one line.
    let letter = |letter: char| match letter {
        '`' => '\'',
        letter if letter.is_control() => ' ',
        letter => letter,
    };
    let mut shown: String = cat.chars().take(MAX_LETTERS).map(letter).collect();
    if cat.chars().nth(MAX_LETTERS).is_some() {
        shown.push('…');
    }
    format!("`{shown}` ({events})")
}

#[cfg(test)]
mod tests {
    use crate::import::warning::WarningKind::UnknownCategory;
    use crate::testing::Timetable;

    fn event(cat: &str) -> String {
        format!(
            r#"{{"ph": "X", "cat": "{cat}", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}}"#
        )
    }

    #[test]
    fn a_large_share_of_unknown_categories_is_named() {
        let mut timetable = Timetable::new();
        for cat in [
            "vendor_op",
            "Acme",
            "vendor_op",
            "Trace",
            "cuda_sync",
            "cpu_op",
        ] {
            timetable = timetable.raw(&event(cat));
        }
        let warnings = timetable.profile().warnings;
        let warning = warnings.get(UnknownCategory).unwrap();
        assert_eq!(warning.count, 3);
        assert_eq!(
            warning.sentence(),
            "Some events have no category, or one that Dormer does not know; they are in no total. Their categories: `vendor_op` (2 events), `Acme` (1 event)."
        );
    }

    #[test]
    fn another_profilers_trace_is_named() {
        let device =
            r#"{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:GPU:0"}}"#;
        let fusion = r#"{"ph": "X", "name": "fusion.1", "pid": 1, "tid": 20, "ts": 1, "dur": 2}"#;
        let timetable = Timetable::new().raw(device).raw(fusion).raw("{}");
        let warnings = timetable.profile().warnings;
        assert_eq!(
            warnings.get(UnknownCategory).unwrap().detail,
            "Their categories: none (1 event). It looks like a trace of JAX or XLA, which Dormer does not read."
        );
    }

    /// What `EventList.export_chrome_trace` writes.
    #[test]
    fn the_autograd_profiler_names_its_processes() {
        let event = |name: &str, pid: &str| {
            format!(
                r#"{{"name": "{name}", "ph": "X", "ts": 10, "dur": 6, "tid": 1, "pid": "{pid}", "args": {{}}}}"#
            )
        };
        let profile = Timetable::new()
            .raw(&event("aten::mul", "CPU functions"))
            .raw(&event("mul_kernel", "CUDA functions"))
            .profile();
        assert_eq!(profile.warnings.count(UnknownCategory), 0);
        assert_eq!((profile.gpu.len(), profile.cpu_ops.len()), (1, 1));
    }

    /// 1 of 21 is 4.8 % and 1 of 20 is 5 %, regardless of 100 Python frames among them. Without GPU activity, the
    /// unknown categories may be what is missing.
    #[test]
    fn a_few_events_of_the_programs_own_are_not() {
        let warned = |n_ops: usize, rest: &str| {
            let mut timetable = Timetable::new().raw(&event("marks")).raw(&event(rest));
            let others = vec!["cpu_op"; n_ops].into_iter();
            for cat in others.chain(vec!["python_function"; 100]) {
                timetable = timetable.raw(&event(cat));
            }
            timetable.profile().warnings.count(UnknownCategory)
        };
        assert_eq!(warned(19, "kernel"), 0);
        assert_eq!(warned(18, "kernel"), 1);
        assert_eq!(warned(19, "cpu_op"), 1);
    }
}
