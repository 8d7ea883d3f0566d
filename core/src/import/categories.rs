//! Categories that nothing is known of: counted, so that what they hold is not missed in silence.

use crate::format;
use crate::sort::Arrange;
use crate::trace::Category;
use crate::warning::{WarningKind, Warnings};

/// The categories of complete events that Dormer does not know, in order of appearance.
#[derive(Debug, Default)]
pub(super) struct UnknownCategories {
    named: Vec<Named>,
}

#[derive(Debug)]
struct Named {
    cat: Vec<u8>,
    events: u64,
    first_offset: u64,
}

/// A row of [`UnknownCategories`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnknownId(u8);

impl UnknownCategories {
    /// So many are told apart; what appears later counts as the last one.
    const MAX_NAMED: usize = 32;
    /// With fewer of a hundred events nothing is said: programs may add marks of their own.
    const MIN_PERCENT: u64 = 5;
    /// So many are named, the most frequent first.
    const SHOWN: usize = 3;

    /// The row of a category; `None` for one that the profiler is known to write.
    pub(super) fn row(&mut self, cat: &[u8]) -> Option<UnknownId> {
        if std::str::from_utf8(cat).is_ok_and(Category::is_known) {
            return None;
        }
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

    /// Counts a complete event.
    pub(super) fn count(&mut self, UnknownId(row): UnknownId, offset: u64) {
        if let Some(named) = self.named.get_mut(usize::from(row)) {
            if named.events == 0 {
                named.first_offset = offset;
            }
            named.events += 1;
        }
    }

    /// Warns where they make up more than a trifle of all complete events.
    pub(super) fn warn(mut self, n_complete: usize, warnings: &mut Warnings) {
        // A category of arrows alone has no complete event.
        self.named.retain(|named| named.events > 0);
        let events: u64 = self.named.iter().map(|named| named.events).sum();
        if events == 0 || events * 100 < n_complete as u64 * Self::MIN_PERCENT {
            return;
        }
        let first_offset = self.named.iter().map(|named| named.first_offset).min();
        self.named
            .arrange_by_key(|named| std::cmp::Reverse(named.events));
        let mut parts: Vec<String> = self.named.iter().take(Self::SHOWN).map(named).collect();
        let rest = self.named.len().saturating_sub(Self::SHOWN) as u64;
        if rest > 0 {
            parts.push(format!("{} more", format::count(rest)));
        }
        let detail = format!("Their categories: {}.", parts.join(", "));
        warnings.add_with(WarningKind::UnknownCategory, events, first_offset, detail);
    }
}

/// "`Foo` (3 000 events)"
fn named(of: &Named) -> String {
    const MAX_LETTERS: usize = 40;
    let cat = String::from_utf8_lossy(&of.cat);
    // It stands between backticks, on one line.
    let letter = |letter: char| match letter {
        '`' => '\'',
        letter if letter.is_control() => ' ',
        letter => letter,
    };
    let mut shown: String = cat.chars().take(MAX_LETTERS).map(letter).collect();
    if cat.chars().nth(MAX_LETTERS).is_some() {
        shown.push('…');
    }
    format!("`{shown}` ({})", format::counted(of.events, "event"))
}

#[cfg(test)]
mod tests {
    use crate::testing::Timetable;
    use crate::warning::WarningKind::UnknownCategory;

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
            "Many events have a category that Dormer does not know, so no number counts them. Their categories: `vendor_op` (2 events), `Acme` (1 event)."
        );
    }

    /// 1 of 21 is 4.8 %, 1 of 20 is 5 %.
    #[test]
    fn a_few_events_of_the_programs_own_are_not() {
        let warned = |n_known: usize| {
            let mut timetable = Timetable::new().raw(&event("marks"));
            for _ in 0..n_known {
                timetable = timetable.raw(&event("cpu_op"));
            }
            timetable.profile().warnings.count(UnknownCategory)
        };
        assert_eq!(warned(20), 0);
        assert_eq!(warned(19), 1);
    }
}
