//! Events of streams and threads.

use std::borrow::Cow;

use super::line::{Line, PS};
use super::memory;
use super::operators::Instruction;
use super::plane::{Plane, Stat};
use crate::import::args_text::ArgsText;
use crate::import::wire::Fields;
use crate::trace::Category;

/// An event's time and name.
pub(super) struct Timed<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) start_ns: i64,
    pub(super) dur_ns: Option<i64>,
}

impl<'a> Timed<'a> {
    /// `None` for an event that aggregates several, which has no time.
    fn read<'p: 'a>(
        plane: &'a Plane<'p>,
        line: &Line,
        fields: &Fields,
    ) -> Option<(Timed<'a>, u64)> {
        let (mut id, mut offset_ps, mut dur_ps) = (0, Some(0), None);
        for (number, value) in fields.clone() {
            match number {
                1 => id = value.number(),
                2 => offset_ps = Some(value.signed()),
                3 => dur_ps = Some(value.signed()),
                5 => offset_ps = None,
                _ => {}
            }
        }
        let offset_ns = offset_ps?.div_euclid(PS);
        let name = plane
            .event(id)
            .map(|named| &*named.name)
            .unwrap_or_default();
        let timed = Timed {
            name: Cow::Borrowed(name),
            start_ns: line.start_ns.saturating_add(offset_ns),
            dur_ns: dur_ps.map(|ps| ps.div_euclid(PS)),
        };
        Some((timed, id))
    }
}

/// An activity of a GPU.
pub(super) struct GpuEvent<'a> {
    pub(super) timed: Option<Timed<'a>>,
    pub(super) category: Category,
    pub(super) correlation: Option<u64>,
    pub(super) instruction: Instruction,
    pub(super) args: ArgsText,
}

impl<'a> GpuEvent<'a> {
    pub(super) fn read<'p: 'a>(plane: &'a Plane<'p>, line: &Line, fields: Fields) -> GpuEvent<'a> {
        let timed = Timed::read(plane, line, &fields);
        let mut event = GpuEvent {
            timed: None,
            category: Category::Kernel,
            correlation: None,
            instruction: Instruction::default(),
            args: ArgsText::default(),
        };
        let mut add_stat = |name: &str, stat: Stat| event.stat(name, stat);
        if let Some(named) = timed.as_ref().and_then(|(_, id)| plane.event(*id)) {
            plane.stats_of_name(named, &mut add_stat);
        }
        plane.stats_of(&fields, 4, &mut add_stat);
        event.timed = timed.map(|(timed, _)| timed);
        event
    }

    fn stat(&mut self, name: &str, stat: Stat) {
        let text = stat.text();
        match (name, stat.number(), text.as_deref()) {
            ("correlation_id", Some(number), _) => self.correlation = Some(number),
            ("program_id", Some(number), _) => self.instruction.program = Some(number),
            ("hlo_op", _, Some(text)) => {
                self.instruction.name = text.to_owned();
                self.args.text(name, text);
            }
            ("hlo_module" | "tf_op", _, Some(text)) => self.args.text(name, text),
            ("kernel_details", _, Some(text)) => self.kernel(text),
            ("memcpy_details", _, Some(text)) => {
                self.category = Category::GpuMemcpy;
                self.details(text);
            }
            ("memset_details", _, Some(text)) => {
                self.category = Category::GpuMemset;
                self.details(text);
            }
            _ => {}
        }
    }

    /// `regs:40 static_shared:0 dynamic_shared:0 grid:64,1,1 block:128,1,1 occ_pct:50`
    fn kernel(&mut self, details: &str) {
        /// ROCm leaves registers unset: a value above what any GPU has per thread is not a register count.
        const MOST_REGISTERS: u64 = 1024;
        let number = |key: &str| detail(details, key)?.parse::<u64>().ok();
        for key in ["grid", "block"] {
            if let Some(sizes) = detail(details, key) {
                let sizes: Option<Vec<u64>> =
                    sizes.split(',').map(|size| size.parse().ok()).collect();
                if let Some([x, y, z]) = sizes.as_deref() {
                    self.args.raw(key, format_args!("[{x}, {y}, {z}]"));
                }
            }
        }
        if let Some(registers) = number("regs").filter(|of| *of <= MOST_REGISTERS) {
            self.args.raw("registers per thread", registers);
            let shared = ["static_shared", "dynamic_shared"].map(|key| number(key).unwrap_or(0));
            self.args
                .raw("shared memory", shared[0].saturating_add(shared[1]));
        }
    }

    /// `kind:D2H size:655360 dest:2 async:1`
    fn details(&mut self, details: &str) {
        if let Some(bytes) = detail(details, "size").and_then(|size| size.parse::<u64>().ok()) {
            self.args.raw("bytes", bytes);
        }
        if let Some(kind) = detail(details, "kind") {
            self.args.text("kind", kind);
        }
    }
}

/// The value after `key:`.
fn detail<'a>(details: &'a str, key: &str) -> Option<&'a str> {
    let mut all = details.split_ascii_whitespace();
    all.find_map(|one| one.strip_prefix(key)?.strip_prefix(':'))
}

/// An event of a CPU thread.
pub(super) struct HostEvent<'a> {
    pub(super) timed: Timed<'a>,
    pub(super) correlation: Option<u64>,
    pub(super) memory: memory::Report,
}

impl<'a> HostEvent<'a> {
    pub(super) fn read<'p: 'a>(
        plane: &'a Plane<'p>,
        line: &Line,
        fields: Fields,
    ) -> Option<HostEvent<'a>> {
        let (timed, _) = Timed::read(plane, line, &fields)?;
        let mut event = HostEvent {
            timed,
            correlation: None,
            memory: memory::Report::default(),
        };
        plane.stats_of(&fields, 4, &mut |name, stat| match name {
            "correlation_id" => event.correlation = stat.number(),
            _ => event.memory.stat(name, stat),
        });
        Some(event)
    }
}
