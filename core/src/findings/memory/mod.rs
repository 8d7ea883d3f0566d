//! GPU memory: what is held at the peak, what is reserved but unused, calls to the driver.
//!
//! Based on what allocators reported (`profile_memory=True`); calls to the driver are in any trace. Blocks are
//! identified by the operator that allocated them. Their purpose (parameters, gradients, activations saved for the
//! backward pass) is not in the trace, and findings make no claim about it.

mod driver;
mod holders;
mod levels;
mod rules;
mod tables;
#[cfg(test)]
mod tests;

use crate::findings::prelude::*;
use crate::profile::memory::steps::memory_by_step;
use crate::profile::memory::{DeviceMemory, Memory};
use crate::trace::EventId;
use holders::Remedy;

/// The kind of issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// An allocation failed.
    Failed,
    /// Much of the memory is reserved but unused at the peak.
    Unused,
    /// Memory is requested from the driver, or returned, in steady steps.
    Driver,
    /// Memory use grows with each step.
    Growth,
    /// One operator holds a large part of the peak.
    Holder(Remedy),
    /// Large blocks that are repeatedly released immediately.
    Churn,
}

/// An issue with its figures.
struct Issue {
    kind: Kind,
    priority: Priority,
    /// The memory that it is about; `None` if no allocator reported any.
    bytes: Option<u64>,
    /// The measured time that it is about.
    time_ns: i64,
    impact: Option<Impact>,
    /// The calls that show it.
    events: Vec<EventId>,
    words: Words,
    tables: Vec<Table>,
    /// Other devices with the same issue, with the amount: "GPU 1 (3 GB)".
    others: Vec<String>,
}

impl Issue {
    /// An issue about this much memory of a device, which costs no time.
    fn new(kind: Kind, device: &DeviceMemory, bytes: u64) -> Issue {
        Issue {
            kind,
            priority: Priority::Medium,
            bytes: Some(bytes),
            time_ns: 0,
            impact: None,
            events: Vec::new(),
            words: vec![
                ("device", device.label.clone()),
                ("size", format::bytes(bytes)),
                ("peak", format::bytes(device.peak.allocated)),
            ],
            tables: Vec::new(),
            others: Vec::new(),
        }
    }

    fn word(&self, name: &str) -> Option<&str> {
        let word = self.words.iter().find(|(known, _)| *known == name);
        word.map(|(_, text)| text.as_str())
    }

    /// Whether it is the same issue on another device.
    fn is_alike(&self, other: &Issue) -> bool {
        self.kind == other.kind && self.word("operator") == other.word("operator")
    }

    /// Merges the same issue on another device: the one with more memory is described, and the other is named.
    fn merge(&mut self, mut other: Issue) {
        if other.bytes > self.bytes {
            std::mem::swap(self, &mut other);
        }
        let device = other.word("device").unwrap_or_default();
        let size = other.word("size").unwrap_or_default();
        let one = format!("{device} ({size})");
        self.others.append(&mut other.others);
        self.others.push(one);
        self.events.append(&mut other.events);
    }
}

/// Merges issues that are the same on several devices.
fn of_all_devices(all: Vec<Issue>) -> Vec<Issue> {
    let mut merged: Vec<Issue> = Vec::new();
    for issue in all {
        match merged.iter_mut().find(|one| one.is_alike(&issue)) {
            Some(one) => one.merge(issue),
            None => merged.push(issue),
        }
    }
    merged
}

impl Subject for Issue {
    type Of<'a> = Issue;

    fn evidence(group: &Group<Self>, _: &Rule<Self>) -> Option<Evidence> {
        let issue = group.first();
        Some(Evidence {
            memory_bytes: issue.bytes,
            impact: issue.impact,
            // GPU idle time during such calls has findings by its cause and by its code.
            counted_in: match issue.kind {
                Kind::Driver => &["allocation", "memory_allocation"],
                _ => &[],
            },
            events: issue.events.clone(),
            tables: issue.tables.clone(),
            ..Evidence::new(issue.priority, issue.time_ns)
        })
    }

    fn words(group: &Group<Self>) -> Words {
        let mut words = group.first().words.clone();
        words.push(("others", group.first().others.join(", ")));
        words
    }

    fn reasoning(_: &Group<Self>) -> Vec<String> {
        vec![
            "Memory is listed by the operator that allocated it; memory outside the caching allocator, such as that of communication libraries and workspaces, is not included."
                .to_owned(),
        ]
    }
}

pub(super) const DOCS: Docs = || rule::docs(rules::RULES);

pub(super) fn run(input: &Input, _: &[Row], outcome: &mut Outcome) {
    let memory = input.profile.memory();
    let mut all: Vec<Issue> = levels::failed(&memory);
    let gpus = || memory.main().filter(|device| !device.device.is_cpu());
    for device in gpus() {
        let steps = memory_by_step(input.profile, device);
        all.extend(levels::growth(input, device, &steps));
        if levels::is_little(input, device) {
            continue;
        }
        all.extend(levels::unused(input, device));
        all.extend(holders::large(input, device));
        all.extend(holders::churn(input, device));
    }
    all.extend(driver::issue(input, gpus().next()));
    if memory.is_empty() && all.is_empty() {
        return;
    }
    outcome.status = Status::Done;
    facts(outcome, &memory);
    for device in memory.main().filter(|device| device.check.holds()) {
        outcome.tables.push(tables::at_peak(input.profile, device));
        let steps = memory_by_step(input.profile, device);
        if steps.len() > 1 {
            let steps: Vec<_> = steps.iter().collect();
            outcome.tables.push(tables::steps(&steps));
        }
    }
    let all = of_all_devices(all);
    for issue in &all {
        let mut findings = rule::find(input, rules::RULES, vec![issue]);
        outcome.findings.append(&mut findings);
    }
    for device in memory.devices.iter().filter(|device| !device.check.holds()) {
        outcome.note(format!(
            "{}: totals and blocks do not agree ({}), so only totals are told.",
            device.label,
            tables::disagreement(device)
        ));
    }
    if !memory.is_empty() && all.is_empty() {
        let nothing =
            "Little of the reserved memory is unused, and no operator holds much of the peak.";
        outcome.nothing_found = Some(nothing.to_owned());
    }
}

/// Figures of the device with the highest peak; the tables have all devices.
fn facts(outcome: &mut Outcome, memory: &Memory) {
    let main = memory.main().max_by_key(|device| device.peak.allocated);
    if let Some(device) = main {
        outcome.facts([
            ("device", "Device", Value::Text(device.label.clone())),
            ("peak", "Peak in use", Value::Bytes(device.peak.allocated)),
            (
                "before",
                "Allocated before the recording",
                Value::Bytes(device.before_at_peak),
            ),
            (
                "reserved",
                "Reserved at the peak",
                Value::Bytes(device.peak.reserved),
            ),
            (
                "unused",
                "Reserved and not in use at the peak",
                Value::bytes(device.peak.unused_bytes()),
            ),
            (
                "allocation_count",
                "Allocations",
                Value::Count(device.n_allocations),
            ),
            (
                "allocated",
                "Allocated in all",
                Value::Bytes(device.allocated_bytes),
            ),
        ]);
    }
    if !memory.devices.is_empty() {
        outcome.tables.push(tables::devices(memory));
    }
}
