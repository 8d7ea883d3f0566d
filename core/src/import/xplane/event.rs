//! Events of streams and threads.

use std::borrow::Cow;

use super::memory;
use super::operators::Instruction;
use super::plane::{Plane, Stat};
use super::reader::{Line, PS, Reader};
use crate::import::args_text::ArgsText;
use crate::import::wire::Fields;
use crate::trace::{Category, NewEvent, TrackId};

/// When an event ran, and what it is called.
struct Timed<'a> {
    name: Cow<'a, str>,
    start_ns: i64,
    dur_ns: Option<i64>,
}

impl<'a> Timed<'a> {
    /// `None` for what stands for several events, which have no time.
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
        let start_ps = line.start_ps.saturating_add(offset_ps?);
        let name = plane
            .event(id)
            .map(|named| &*named.name)
            .unwrap_or_default();
        let timed = Timed {
            name: Cow::Borrowed(name),
            start_ns: start_ps.div_euclid(PS),
            dur_ns: dur_ps.map(|ps| ps.div_euclid(PS)),
        };
        Some((timed, id))
    }
}

/// What a GPU did.
pub(super) struct GpuEvent<'a> {
    timed: Option<Timed<'a>>,
    category: Category,
    correlation: Option<u64>,
    instruction: Instruction,
    args: ArgsText,
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
        let mut told = |name: &str, stat: Stat| event.stat(name, stat);
        if let Some(named) = timed.as_ref().and_then(|(_, id)| plane.event(*id)) {
            plane.stats_of_name(named, &mut told);
        }
        plane.stats_of(&fields, 4, &mut told);
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
        /// More registers of a thread than any GPU has are no registers: ROCm leaves them unset.
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

/// The value behind `key:`.
fn detail<'a>(details: &'a str, key: &str) -> Option<&'a str> {
    let mut all = details.split_ascii_whitespace();
    all.find_map(|one| one.strip_prefix(key)?.strip_prefix(':'))
}

/// What a thread did.
pub(super) struct HostEvent<'a> {
    timed: Timed<'a>,
    correlation: Option<u64>,
    memory: memory::Report,
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

impl Reader {
    pub(super) fn gpu_event(
        &mut self,
        mut event: GpuEvent,
        (gpu, stream): (u64, &str),
        track: TrackId,
        offset: u64,
    ) {
        let Some(timed) = event.timed else { return };
        event.args.raw("device", gpu);
        event.args.raw("stream", stream);
        let builder = &mut self.events.builder;
        let name = builder.string(&timed.name);
        let correlation = event.correlation.map(|id| builder.link(id));
        if let Some(id) = correlation {
            builder.flow_end(id, track);
            self.operators.kernel(id, event.instruction, name);
        }
        let new = NewEvent {
            uid: 0,
            category: event.category,
            name,
            track,
            ts_ns: timed.start_ns,
            // One that is not written is zero.
            dur_ns: Some(timed.dur_ns.unwrap_or(0)),
            external_id: None,
            correlation,
            op_args: None,
            extra_args: event.args.get().map(|text| builder.string(text)),
        };
        self.events.add(new, None, offset);
    }

    pub(super) fn host_event(&mut self, event: HostEvent, track: TrackId, offset: u64) {
        let HostEvent {
            timed,
            correlation,
            memory,
        } = event;
        if memory.add(&timed.name, timed.start_ns, track, &mut self.events.builder) {
            return;
        }
        // A mark, which takes no time.
        let Some(dur_ns) = timed.dur_ns else { return };
        let builder = &mut self.events.builder;
        let correlation = correlation.map(|id| builder.link(id));
        let (category, name) = match (correlation, frame(&timed.name)) {
            (Some(id), _) => {
                builder.flow_start(id, track);
                (Category::Runtime, timed.name)
            }
            (None, Some(frame)) => (Category::PythonFunction, Cow::Owned(frame)),
            (None, None) => (Category::CpuOp, timed.name),
        };
        let new = NewEvent {
            uid: 0,
            category,
            name: builder.string(&name),
            track,
            ts_ns: timed.start_ns,
            dur_ns: Some(dur_ns),
            external_id: None,
            correlation,
            op_args: None,
            extra_args: None,
        };
        let added = self.events.add(new, None, offset);
        if let (Some(event), Some(id)) = (added, correlation) {
            self.operators.call(id, event);
        }
    }
}

/// A Python frame as PyTorch calls it: `$api.py:2754 wait` is `api.py(2754): wait`.
fn frame(name: &str) -> Option<String> {
    let name = name.strip_prefix('$')?;
    let framed = || {
        let (place, function) = name.split_once(' ')?;
        let (file, line) = place.rsplit_once(':')?;
        let is_line = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
        is_line.then(|| format!("{file}({line}): {function}"))
    };
    // One that is built in has no place.
    Some(framed().unwrap_or_else(|| format!("<built-in {name}>")))
}
