//! Memory of two traces: peaks, and how much of them operators hold.
//!
//! For each trace, the device with the highest peak counts; ranks and processes are not distinguished.

use std::collections::BTreeMap;

use super::pair::{Pair, Which};
use super::side::Side;
use crate::base::sort::Arranged;
use crate::profile::memory::DeviceMemory;

/// Maximum number of operators compared; those that hold or allocate most come first.
const MOST_OPERATORS: usize = 40;

/// A size in both traces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemorySize {
    /// What it is, for people.
    pub label: String,
    /// In bytes; `None` for a trace that has no such operator or did not record it.
    pub bytes: Pair<Option<u64>>,
}

impl MemorySize {
    /// Target minus reference, if both have it.
    pub fn difference(&self) -> Option<i64> {
        let Pair { reference, target } = self.bytes.both()?;
        i64::try_from(i128::from(target) - i128::from(reference)).ok()
    }

    /// Target over reference.
    pub fn ratio(&self) -> Option<f64> {
        let Pair { reference, target } = self.bytes.both()?;
        (reference > 0).then(|| target as f64 / reference as f64)
    }

    fn most(&self) -> u64 {
        let Pair { reference, target } = self.bytes;
        reference.unwrap_or(0).max(target.unwrap_or(0))
    }
}

/// The memory of two traces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryPair {
    /// Totals: the peak, earlier memory in it, memory reserved at that time, and all allocations.
    pub sizes: Vec<MemorySize>,
    /// What operators hold at the peak, largest first.
    pub at_peak: Vec<MemorySize>,
    /// What operators allocate in total, largest first.
    pub allocated: Vec<MemorySize>,
}

impl MemoryPair {
    /// Each size with its section.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, &MemorySize)> {
        let parts = [
            ("", &self.sizes),
            ("At the peak: ", &self.at_peak),
            ("Allocated: ", &self.allocated),
        ];
        let rows = parts.into_iter();
        rows.flat_map(|(part, sizes)| sizes.iter().map(move |size| (part, size)))
    }
}

/// What the operators of a trace hold or allocate.
type Sizes<'a> = &'a dyn Fn(&Side, &DeviceMemory) -> Vec<(String, u64)>;

/// The memory of both; `None` if one of them has no memory events.
pub(super) fn memory(sides: Pair<Side>) -> Option<MemoryPair> {
    let memories = sides.map(|side| side.profile.memory());
    let main = |which: Which| -> Option<&DeviceMemory> {
        let memory = memories.get(which);
        memory.main().max_by_key(|device| device.peak.allocated)
    };
    let devices = Pair {
        reference: main(Which::Reference)?,
        target: main(Which::Target)?,
    };
    let size = |label: &str, of: &dyn Fn(&DeviceMemory) -> Option<u64>| MemorySize {
        label: label.to_owned(),
        bytes: devices.map(of),
    };
    let reserved = |bytes: u64| Some(bytes).filter(|bytes| *bytes > 0);
    let operators = |of: Sizes| {
        let mut by_name: BTreeMap<String, Pair<Option<u64>>> = BTreeMap::new();
        let each = sides.zip(devices).map(|(side, device)| of(&side, device));
        for (name, bytes) in each.reference {
            by_name.entry(name).or_default().reference = Some(bytes);
        }
        for (name, bytes) in each.target {
            by_name.entry(name).or_default().target = Some(bytes);
        }
        let sizes = by_name.into_iter();
        let mut sizes = sizes
            .map(|(label, bytes)| MemorySize { label, bytes })
            .arranged_by_largest(|size| size.most());
        sizes.truncate(MOST_OPERATORS);
        sizes
    };
    let name = |side: &Side, name: Option<crate::trace::StringId>| {
        let name = name.map(|name| side.profile.trace.strings.get(name));
        name.unwrap_or("(outside operators)").to_owned()
    };
    Some(MemoryPair {
        sizes: vec![
            size("Peak in use", &|device| Some(device.peak.allocated)),
            size("Allocated before the recording", &|device| {
                Some(device.before_at_peak)
            }),
            size("Reserved at the peak", &|device| {
                reserved(device.peak.reserved)
            }),
            size("Allocated in all", &|device| Some(device.allocated_bytes)),
        ],
        at_peak: operators(&|side, device| {
            let held = device.peak_by_operator(&side.profile.trace).into_iter();
            held.map(|one| (name(side, one.operator), one.bytes))
                .collect()
        }),
        allocated: operators(&|side, device| {
            let all = device.by_operator(side.profile).into_iter();
            all.map(|one| (name(side, one.operator), one.bytes))
                .collect()
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::compared;
    use super::*;
    use crate::testing::Timetable;

    const MB: i64 = 1_000_000;

    fn trace(op: &str, megabytes: i64) -> Timetable {
        Timetable::new()
            .work("aten::mm", "gemm", 100..200)
            .memory(10 * MB, 80 * MB)
            .op(op, 300..310)
            .block(1, megabytes * MB, 305)
    }

    #[test]
    fn peaks_and_operators_of_both_stand_side_by_side() {
        let comparison = compared(&trace("aten::mul", 20), &trace("aten::add", 50), None);
        let memory = comparison.memory.unwrap();
        let rows: Vec<_> = memory
            .rows()
            .map(|(part, size)| {
                let Pair { reference, target } = size.bytes;
                let megabytes = |bytes: Option<u64>| bytes.map(|bytes| bytes / 1_000_000);
                let label = format!("{part}{}", size.label);
                (label, megabytes(reference), megabytes(target))
            })
            .collect();
        let row = |label: &str, reference, target| (label.to_owned(), reference, target);
        assert_eq!(
            rows,
            [
                row("Peak in use", Some(30), Some(60)),
                row("Allocated before the recording", Some(10), Some(10)),
                row("Reserved at the peak", Some(80), Some(80)),
                row("Allocated in all", Some(20), Some(50)),
                row("At the peak: aten::add", None, Some(50)),
                row("At the peak: aten::mul", Some(20), None),
                row("Allocated: aten::add", None, Some(50)),
                row("Allocated: aten::mul", Some(20), None),
            ]
        );
        assert_eq!(memory.sizes[0].difference(), Some(30_000_000));
    }

    #[test]
    fn without_memory_on_one_side_there_is_nothing_to_compare() {
        let without = Timetable::new().work("aten::mm", "gemm", 100..200);
        assert_eq!(
            compared(&trace("aten::mul", 20), &without, None).memory,
            None
        );
    }
}
