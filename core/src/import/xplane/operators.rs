//! Operators: the instructions of the programs that ran, placed around the calls that launched their kernels.

use super::hlo::Program;
use crate::base::map::Map;
use crate::import::args_text::ArgsText;
use crate::import::unordered::Unordered;
use crate::trace::{
    Category, EventId, EventTable, LinkId, NewEvent, OpArgsText, StringId, TrackId,
};

/// The instruction that a kernel belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) program: Option<u64>,
    pub(super) name: String,
}

/// More kernels per run are damage.
const MOST_KERNELS: usize = 256;

/// Maximum total size of programs.
const MOST_PROGRAM_BYTES: usize = 1 << 30;

/// The data needed to derive the operators.
#[derive(Debug, Default)]
pub(super) struct Operators {
    programs: Map<u64, Vec<u8>>,
    program_bytes: usize,
    /// By the id that joins a call and its kernels; `None` if the kernels belong to several instructions.
    launched: Map<LinkId, Option<(Instruction, StringId)>>,
    calls: Vec<(LinkId, EventId)>,
}

/// One execution of an instruction: consecutive calls of one thread.
struct Run<'a> {
    instruction: &'a Instruction,
    /// The kernels that the calls launched.
    kernels: Vec<StringId>,
    track: TrackId,
    start_ns: i64,
    end_ns: i64,
}

impl Operators {
    /// Keeps a program; false if it exceeds the limit.
    pub(super) fn program(&mut self, id: u64, proto: &[u8]) -> bool {
        self.program_bytes = self.program_bytes.saturating_add(proto.len());
        let has_room = self.program_bytes <= MOST_PROGRAM_BYTES;
        if has_room {
            self.programs.insert(id, proto.to_vec());
        }
        has_room
    }

    /// Records a kernel.
    pub(super) fn kernel(&mut self, id: LinkId, instruction: Instruction, kernel: StringId) {
        if instruction.program.is_none() || instruction.name.is_empty() {
            return;
        }
        let launched = Some((instruction, kernel));
        match self.launched.get_mut(&id) {
            None => {
                self.launched.insert(id, launched);
            }
            Some(known) if *known != launched => *known = None,
            Some(_) => {}
        }
    }

    /// Records a call.
    pub(super) fn call(&mut self, id: LinkId, event: EventId) {
        self.calls.push((id, event));
    }

    /// Adds the operators, after the last plane.
    pub(super) fn add(mut self, events: &mut Unordered) {
        let called = &events.builder.trace.events;
        self.calls
            .sort_by_key(|(_, call)| (called.track(*call), called.ts_ns(*call)));
        let runs = self.runs(called);
        let mut read: Map<u64, Program> = Map::default();
        let mut args = ArgsText::default();
        for run in runs {
            let Instruction { program, name } = run.instruction;
            let proto = program.and_then(|id| Some((id, self.programs.get(&id)?)));
            let Some((id, proto)) = proto else { continue };
            let program = read.entry(id).or_insert_with(|| Program::read(proto));
            let Some(operator) = program.operator(name) else {
                continue;
            };
            args.clear();
            args.text("hlo_op", name);
            for (key, text) in [("op_name", &operator.path), ("source_file", &operator.file)] {
                if !text.is_empty() {
                    args.text(key, text);
                }
            }
            if operator.line > 0 {
                args.raw("source_line", operator.line);
            }
            let builder = &mut events.builder;
            let (op_args, _) = builder.op_args(OpArgsText {
                dims: &operator.dims,
                types: &operator.types,
                strides: "",
                concrete: &operator.concrete,
            });
            let new = NewEvent {
                uid: 0,
                category: Category::CpuOp,
                name: builder.string(&operator.name),
                track: run.track,
                ts_ns: run.start_ns,
                dur_ns: Some(run.end_ns.saturating_sub(run.start_ns)),
                external_id: None,
                correlation: None,
                op_args: Some(op_args),
                extra_args: args.get().map(|text| builder.string(text)),
            };
            events.add(new, None, 0);
        }
    }

    /// The executions, ordered by thread and time. An instruction that launches several kernels is one run; when a
    /// kernel repeats, the next run starts.
    fn runs(&self, events: &EventTable) -> Vec<Run<'_>> {
        let mut runs: Vec<Run> = Vec::new();
        let mut goes_on = false;
        for (id, call) in &self.calls {
            let launched = self.launched.get(id);
            let Some(Some((instruction, kernel))) = launched else {
                goes_on &= launched.is_none();
                continue;
            };
            let (track, end_ns) = (events.track(*call), events.end_ns(*call));
            let last = runs.last_mut().filter(|run| {
                goes_on
                    && run.instruction == instruction
                    && run.track == track
                    && run.kernels.len() < MOST_KERNELS
                    && !run.kernels.contains(kernel)
            });
            goes_on = true;
            match last {
                Some(run) => {
                    run.kernels.push(*kernel);
                    run.end_ns = run.end_ns.max(end_ns);
                }
                None => runs.push(Run {
                    instruction,
                    kernels: vec![*kernel],
                    track,
                    start_ns: events.ts_ns(*call),
                    end_ns,
                }),
            }
        }
        runs
    }
}
