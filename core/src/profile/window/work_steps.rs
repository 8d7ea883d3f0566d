//! Which step each piece of GPU activity belongs to.

use super::StepWindow;
use crate::base::interval::Interval;
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::profile::Profile;
use crate::profile::launch::{GpuId, process};
use crate::trace::{StringId, TrackId};

/// The step of each piece of GPU activity: the first one whose window contains it. Each piece is therefore in one step
/// or outside of all.
#[derive(Debug, Default)]
pub struct WorkSteps {
    /// By GPU activity.
    of: Vec<Option<u32>>,
}

/// What launches the work of a step: one thread, or all threads of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Launcher {
    Thread(TrackId),
    Process(Option<StringId>),
    /// Unknown: only the time decides.
    Unknown,
}

/// Time spans with the positions of their steps, sorted by start.
#[derive(Debug, Default)]
struct Spans(Vec<Span>);

#[derive(Debug)]
struct Span {
    span: Interval,
    step: u32,
    /// The latest end of all spans so far, including this one.
    until_ns: i64,
}

impl WorkSteps {
    /// Assigns the GPU activity of a profile to steps.
    pub fn new(profile: &Profile, steps: &[StepWindow]) -> WorkSteps {
        let trace = &profile.trace;
        let mut known: Map<Launcher, Spans> = Map::default();
        for (step, position) in steps.iter().zip(0_u32..) {
            let mut add = |launcher, span| {
                let spans = &mut known.entry(launcher).or_default().0;
                spans.push(Span {
                    span,
                    step: position,
                    until_ns: span.end_ns,
                });
            };
            // Work launched by an unknown call counts by its start.
            add(Launcher::Unknown, step.window.span);
            if let Some(on_host) = step.window.on_host {
                let launcher = match on_host.of_thread {
                    true => Launcher::Thread(on_host.track),
                    false => {
                        let track = trace.tracks.get(on_host.track);
                        Launcher::Process(track.map(|track| track.pid))
                    }
                };
                add(launcher, on_host.span);
            }
        }
        for spans in known.values_mut() {
            spans.settle();
        }
        let find = |launcher: Launcher, ns: i64| known.get(&launcher)?.find(ns);
        let of = profile.gpu.all().map(|work| match work.launched_by {
            Some(call) => {
                let ns = trace.events.ts_ns(call);
                let thread = find(Launcher::Thread(trace.events.track(call)), ns);
                let process = find(Launcher::Process(process(trace, call)), ns);
                thread.into_iter().chain(process).min()
            }
            None => find(Launcher::Unknown, work.span.start_ns),
        });
        WorkSteps { of: of.collect() }
    }

    /// The position of the step that a piece of GPU activity belongs to; `None` if it is outside of all steps.
    pub fn of(&self, work: GpuId) -> Option<usize> {
        usize::try_from(self.of.get(work.index()).copied().flatten()?).ok()
    }
}

impl Spans {
    fn settle(&mut self) {
        self.0.arrange_by_key(|one| (one.span.start_ns, one.step));
        let mut until_ns = i64::MIN;
        for one in &mut self.0 {
            until_ns = until_ns.max(one.until_ns);
            one.until_ns = until_ns;
        }
    }

    /// The first step that contains a time.
    fn find(&self, ns: i64) -> Option<u32> {
        let begun = self.0.partition_point(|one| one.span.start_ns <= ns);
        let begun = self.0.get(..begun)?.iter().rev();
        let lasting = begun.take_while(|one| one.until_ns > ns);
        let holding = lasting.filter(|one| one.span.contains(ns));
        holding.map(|one| one.step).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::window::step_windows;
    use crate::testing::Timetable;

    /// The name of each piece of GPU activity, with the name of its step.
    fn work_with_steps(trace: Timetable) -> Vec<String> {
        let profile = trace.profile();
        let steps = step_windows(&profile);
        let of = WorkSteps::new(&profile, &steps);
        let lines = profile.gpu.iter().map(|(id, work)| {
            let step = of.of(id).and_then(|at| steps.get(at));
            let step = step.map_or("none", |step| step.step.name.as_str());
            format!("{}: {step}", profile.trace.strings.get(work.name))
        });
        lines.collect()
    }

    /// The second kernel of the first step runs while the CPU is in the second.
    #[test]
    fn work_belongs_to_the_step_that_launched_it() {
        let trace = Timetable::new()
            .op("aten::copy_", 0..8)
            .launched("before", 2..4, 5..8)
            .annotation("ProfilerStep#0", 10..30)
            .op("aten::mm", 12..18)
            .launched("a", 13..14, 20..28)
            .op("aten::mm", 20..26)
            .launched("b", 21..22, 34..44)
            .annotation("ProfilerStep#1", 30..50)
            .op("aten::mm", 32..38)
            .launched("c", 33..34, 44..60);
        assert_eq!(
            work_with_steps(trace),
            [
                "before: none",
                "a: ProfilerStep#0",
                "b: ProfilerStep#0",
                "c: ProfilerStep#1"
            ]
        );
    }

    #[test]
    fn work_of_an_unknown_call_counts_by_its_start() {
        let trace = Timetable::new()
            .annotation("ProfilerStep#0", 10..30)
            .op("aten::mm", 12..18)
            .launched("a", 13..14, 20..28)
            .kernel(99, "left_over", 22..24)
            .kernel(98, "after", 70..74);
        assert_eq!(
            work_with_steps(trace),
            [
                "a: ProfilerStep#0",
                "left_over: ProfilerStep#0",
                "after: none"
            ]
        );
    }

    #[test]
    fn a_trace_without_steps_has_all_work_outside_of_them() {
        let trace = Timetable::new().work("aten::mm", "gemm", 100..130);
        assert_eq!(work_with_steps(trace), ["gemm: none"]);
    }
}
