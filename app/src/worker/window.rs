//! The analyzed part of a trace, as the page specifies it: nanoseconds after the first event, or a GPU.

use std::cell::OnceCell;

use dormer_core::base::interval::Interval;
use dormer_core::names::batch;
use dormer_core::profile::gpu::timeline::GpuTimeline;
use dormer_core::profile::lanes::range_timeline;
use dormer_core::profile::serving::Steady;
use dormer_core::profile::window::{
    StepWindow, Window, WindowOf, gpu_windows, of_all_steps, of_steps, recorded_span, step_windows,
};
use dormer_core::{Profile, base::format};

use crate::protocol::{Choice, GpuLine, StepLine, WindowChoice, WindowFacts};

const MOST_STEPS: usize = 200;

/// The steps of a trace, with their time windows, and its GPUs.
pub(super) struct Steps {
    start_ns: i64,
    length_ns: i64,
    steps: Vec<StepWindow>,
    /// Consecutive steps of a serving engine under a steady load.
    pub(super) runs: Vec<(Steady, Window)>,
    /// A window for each single GPU.
    gpus: Vec<Window>,
    /// What is analyzed if nothing is chosen; `None` for the whole trace.
    pub(super) usual: Option<Window>,
    /// How the time of each of [`Steps::windows`] splits, once requested.
    timelines: OnceCell<Vec<GpuTimeline>>,
}

impl Steps {
    pub(super) fn new(whole: &Profile) -> Steps {
        let recorded = recorded_span(&whole.trace);
        Steps {
            start_ns: recorded.map_or(0, |span| span.start_ns),
            length_ns: recorded.map_or(0, Interval::length),
            steps: step_windows(whole),
            runs: runs(whole),
            gpus: gpu_windows(whole),
            usual: of_all_steps(whole),
            timelines: OnceCell::new(),
        }
    }

    /// What is analyzed for a choice; `None` for the whole trace.
    pub(super) fn requested(&self, choice: &Choice) -> Option<Window> {
        let gpu = choice.device.as_deref().and_then(|device| self.gpu(device));
        let chosen = || choice.window.map(|window| self.window(window));
        gpu.or_else(chosen).or_else(|| self.usual.clone())
    }

    /// What is analyzed, given the choice, and what else can be chosen.
    pub(super) fn facts(
        &self,
        chosen: Option<&Window>,
        analyzed: Option<&WindowOf>,
    ) -> Option<WindowFacts> {
        let usual = self.usual.as_ref();
        match analyzed {
            Some(window) => Some(WindowFacts {
                name: window.name(),
                length: window.length(),
                is_whole: false,
                steps: usual
                    .filter(|usual| chosen != Some(usual))
                    .map(|_| WindowChoice { window: None }),
                whole: Some(self.whole()),
            }),
            None => usual.map(|_| WindowFacts {
                name: "the whole trace".to_owned(),
                length: format::time_ns(self.length_ns),
                is_whole: true,
                steps: Some(WindowChoice { window: None }),
                whole: None,
            }),
        }
    }

    /// The choice of the whole trace.
    fn whole(&self) -> WindowChoice {
        let all = (0, self.length_ns.max(0) as u64);
        WindowChoice {
            window: self.usual.is_some().then_some(all),
        }
    }

    /// The steps that are shown.
    pub(super) fn windows(&self) -> &[StepWindow] {
        &self.steps[..self.steps.len().min(MOST_STEPS)]
    }

    /// How the time of each of [`Steps::windows`] splits, regardless of the choice.
    pub(super) fn timelines(&self, whole: &Profile) -> &[GpuTimeline] {
        let of = |step: &StepWindow| range_timeline(whole, step.window.span);
        self.timelines
            .get_or_init(|| self.windows().iter().map(of).collect())
    }

    /// The steps as displayed choices.
    pub(super) fn lines(&self) -> Vec<StepLine> {
        let edges = |span| self.edges(span);
        self.windows()
            .iter()
            .zip(1_u32..)
            .map(|(StepWindow { step, window }, number)| {
                let (from_ns, to_ns) = edges(step.span);
                StepLine {
                    name: line_name(number, &step.name),
                    from_ns: from_ns as f64,
                    to_ns: to_ns as f64,
                    window: edges(window.span),
                    window_length: format::time_ns(window.span.length()),
                }
            })
            .collect()
    }

    /// The GPUs as displayed choices, if there are several.
    pub(super) fn gpu_lines(&self) -> Vec<GpuLine> {
        let gpus = self.gpus.iter().filter(|_| self.gpus.len() > 1);
        let lines = gpus.filter_map(|window| {
            let device = window.device.clone()?;
            Some(GpuLine {
                name: format!("GPU {device}"),
                length: format::time_ns(window.span.length()),
                device,
            })
        });
        lines.collect()
    }

    /// A GPU by its number.
    fn gpu(&self, device: &str) -> Option<Window> {
        let mut gpus = self.gpus.iter();
        let found = gpus.find(|window| window.device.as_deref() == Some(device));
        found.cloned()
    }

    /// All steps, including those not shown.
    pub(super) fn all(&self) -> &[StepWindow] {
        &self.steps
    }

    /// The number of steps that are not shown.
    pub(super) fn n_more(&self) -> usize {
        self.steps.len() - self.windows().len()
    }

    /// The window in the units of a choice.
    pub(super) fn edges(&self, span: Interval) -> (u64, u64) {
        let since_start = |ns: i64| ns.saturating_sub(self.start_ns).max(0) as u64;
        (since_start(span.start_ns), since_start(span.end_ns))
    }

    /// The window between two times; the step, if they are those of one.
    pub(super) fn window(&self, (from_ns, to_ns): (u64, u64)) -> Window {
        let at = |ns: u64| {
            let ns = i64::try_from(ns).unwrap_or(i64::MAX);
            self.start_ns.saturating_add(ns)
        };
        let span = Interval::new(at(from_ns), at(to_ns));
        let steps = self.steps.iter().map(|step| &step.window);
        let runs = self.runs.iter().map(|(_, window)| window);
        let mut known = steps.chain(runs);
        let known = known.find(|window| window.span == span);
        known.cloned().unwrap_or_else(|| Window::range(span))
    }

    /// The corresponding window of another trace: the step of the same name, the second one if this is the second; for
    /// steps under a steady load, those of the same kind; the GPU with the same number. `None` for a time range.
    pub(super) fn same_step(&self, of: &Window, other: &Steps) -> Option<Window> {
        if let Some((steady, _)) = self.runs.iter().find(|(_, window)| window == of) {
            let mut same = other.runs.iter().filter(|(one, _)| one.kind == steady.kind);
            return same.next().map(|(_, window)| window.clone());
        }
        if let Some(device) = &of.device {
            return other.gpu(device);
        }
        let name = of.step.as_deref()?;
        let at = self.named(name).position(|window| window == of)?;
        other.named(name).nth(at).cloned()
    }

    fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Window> {
        let windows = self.steps.iter().map(|step| &step.window);
        windows.filter(move |window| window.step.as_deref() == Some(name))
    }
}

fn runs(whole: &Profile) -> Vec<(Steady, Window)> {
    let serving = whole.serving();
    let steady = serving.map(|serving| serving.steady()).unwrap_or_default();
    let runs = steady.into_iter().filter_map(|one| {
        let window = of_steps(whole, one.steps.clone())?;
        Some((one, window))
    });
    runs.collect()
}

/// A step's number and batch, if its name has them; otherwise its name.
fn line_name(number: u32, name: &str) -> String {
    let Some(batch) = batch::parse(name) else {
        return name.to_owned();
    };
    let requests = batch.requests();
    let requests = requests.map(|n| format!(", {}", format::counted(n, "request")));
    let phase = batch.phase.label();
    format!("Step {number}: {phase}{}", requests.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use dormer_core::output::markup::markdown;
    use dormer_core::testing::Timetable;

    use crate::protocol::{Choice, DocumentQuery, FileNames, RowsQuery, TreeStep};
    use crate::worker::{Analysis, Traces};

    /// Two steps with a kernel each.
    fn two_steps() -> Analysis {
        steps(["ProfilerStep#1", "ProfilerStep#2"])
    }

    fn steps([first, second]: [&str; 2]) -> Analysis {
        let trace = Timetable::new()
            .annotation(first, 1000..1020)
            .op("aten::mm", 1002..1012)
            .launched("gemm", 1004..1006, 1030..1040)
            .annotation(second, 1020..1040)
            .op("aten::add", 1022..1032)
            .launched("add", 1024..1026, 1050..1080);
        Analysis::new(trace.profile(), &Choice::default())
    }

    #[test]
    fn a_step_is_analyzed_alone_and_the_whole_again() {
        let mut analysis = two_steps();
        let steps = analysis.opened().steps;
        let second = &steps[1];
        assert_eq!(second.window, (40_000, 80_000));
        assert_eq!(second.window_length, "40.0 µs");
        assert_eq!((second.from_ns, second.to_ns), (20_000.0, 40_000.0));

        let whole = analysis.choose(&Choice::default());
        assert_eq!(whole.window, None);
        let of_step = Choice {
            window: Some(second.window),
            ..Choice::default()
        };
        let part = analysis.choose(&of_step);
        let window = part.window.unwrap();
        assert_eq!((&*window.name, &*window.length), ("Step 2", "40.0 µs"));
        let names: Vec<String> = part.top.into_iter().map(|top| top.time.name).collect();
        assert_eq!(names, ["aten::add"]);
        let (tree, profile) = analysis.tree();
        // Only the second operator: nothing else starts while its kernel runs.
        assert_eq!(tree.step(profile, &TreeStep::ToDepth(1)).total, 2);

        assert_eq!(analysis.choose(&Choice::default()), whole);
    }

    /// Two GPUs with a kernel each; the second kernel overlaps the first and has this length.
    fn two_gpus(us: u32) -> Analysis {
        let trace = Timetable::new()
            .op("aten::mm", 1000..1010)
            .launched("gemm", 1004..1006, 1030..1060)
            .gpu(5)
            .op("aten::add", 1012..1022)
            .launched("add", 1014..1016, 1040..1040 + us);
        Analysis::new(trace.profile(), &Choice::default())
    }

    #[test]
    fn one_of_several_gpus_is_analyzed_alone() {
        let mut analysis = two_gpus(10);
        let lines = analysis.opened().gpus_alone;
        let lines = lines.iter().map(|line| (&*line.name, &*line.length));
        let lines: Vec<_> = lines.collect();
        assert_eq!(lines, [("GPU 0", "30.0 µs"), ("GPU 5", "10.0 µs")]);
        let of_gpu = |device: &str| Choice {
            device: Some(device.to_owned()),
            ..Choice::default()
        };
        let part = analysis.choose(&of_gpu("5"));
        let window = part.window.unwrap();
        assert_eq!((&*window.name, &*window.length), ("GPU 5", "10.0 µs"));
        let names: Vec<String> = part.top.into_iter().map(|top| top.time.name).collect();
        assert_eq!(names, ["aten::add"]);
        assert_eq!(
            analysis.timeline().unwrap().outline().lead,
            "60.0 µs recorded. Only GPU 5 is analyzed (10.0 µs); the rest of the time is dimmed."
        );
        // A link may name a GPU that this trace does not have.
        assert_eq!(analysis.choose(&of_gpu("1")).window, None);
        // A single GPU is not a choice.
        assert_eq!(two_steps().opened().gpus_alone, []);
    }

    #[test]
    fn a_gpu_is_compared_with_the_gpu_of_its_number() {
        let mut traces = Traces::new(two_gpus(10));
        traces.choose(&Choice {
            device: Some("5".to_owned()),
            ..Choice::default()
        });
        let names = FileNames {
            target: "new.json".to_owned(),
            reference: "old.json".to_owned(),
        };
        traces.compare_with(two_gpus(15), names.clone());
        let sentences = traces.compare().sentences.join(" ");
        let expected = "The comparison covers `GPU 5` alone (15.0 µs) of the reference and `GPU 5` alone (10.0 µs) of the target.";
        assert!(sentences.contains(expected), "{sentences}");
        traces.compare_with(two_steps(), names);
        let sentences = traces.compare().sentences.join(" ");
        let expected = "The reference has no such GPU among several";
        assert!(sentences.contains(expected), "{sentences}");
    }

    #[test]
    fn the_steps_of_a_serving_engine_are_analyzed_until_the_whole_is_chosen() {
        let trace = Timetable::new()
            .op("aten::copy_", 0..10)
            .launched("copy", 2..3, 5..9)
            .annotation("step[DECODE bs=4]", 20..30)
            .op("aten::mm", 21..29)
            .launched("gemm", 22..23, 40..60)
            .annotation("step[DECODE bs=4]", 30..50)
            .op("aten::mm", 31..39)
            .launched("gemm", 32..33, 60..80);
        let mut analysis = Analysis::new(trace.profile(), &Choice::default());
        let steps = analysis.opened();
        let window = steps.overview.window.unwrap();
        assert_eq!((&*window.name, window.is_whole), ("2 steps", false));
        assert_eq!(steps.steps[1].name, "Step 2: decode, 4 requests");
        // The whole trace is a click away, and the steps from there; tables cover the whole trace.
        let choice = |window: crate::protocol::WindowChoice| Choice {
            window: window.window,
            ..Choice::default()
        };
        let tables = analysis.files().tables.0.gpu.len();
        assert_eq!((tables, analysis.files().profile.gpu.len()), (3, 2));
        let whole = analysis
            .choose(&choice(window.whole.unwrap()))
            .window
            .unwrap();
        assert!(whole.is_whole && whole.whole.is_none());
        let again = analysis
            .choose(&choice(whole.steps.unwrap()))
            .window
            .unwrap();
        assert_eq!(again.name, "2 steps");
    }

    #[test]
    fn a_step_is_compared_with_the_step_of_its_name_in_the_reference() {
        let mut traces = Traces::new(two_steps());
        let window = |at: usize| Choice {
            window: Some(two_steps().opened().steps[at].window),
            ..Choice::default()
        };
        traces.choose(&window(1));
        let names = FileNames {
            target: "new.json".to_owned(),
            reference: "old.json".to_owned(),
        };
        let sides = |traces: &mut Traces| -> Vec<String> {
            let sides = traces.compare().sides.into_iter();
            sides.map(|side| side.total).collect()
        };
        // Opened beside a step, then another step is chosen.
        traces.compare_with(steps(["ProfilerStep#2", "ProfilerStep#3"]), names.clone());
        assert_eq!(sides(&mut traces), ["40.0 µs", "40.0 µs"]);
        let sentences = traces.compare().sentences.join(" ");
        let expected = "The comparison covers `Step 2` alone (40.0 µs) of the reference and `Step 2` alone (40.0 µs) of the target.";
        assert!(sentences.contains(expected), "{sentences}");
        // It has no first step: all of it is compared.
        traces.choose(&window(0));
        assert_eq!(sides(&mut traces), ["50.0 µs", "40.0 µs"]);
        let sentences = traces.compare().sentences.join(" ");
        let expected = "The reference has no step of that name";
        assert!(sentences.contains(expected), "{sentences}");
        traces.choose(&Choice::default());
        assert_eq!(sides(&mut traces), ["50.0 µs", "50.0 µs"]);
        // Parts with the same name are compared in order.
        traces.compare_with(steps(["ProfilerStep#1", "ProfilerStep#1"]), names);
        traces.choose(&window(0));
        assert_eq!(sides(&mut traces), ["40.0 µs", "40.0 µs"]);
    }

    #[test]
    fn tables_and_documents_are_of_the_window() {
        let mut analysis = two_steps();
        analysis.choose(&Choice {
            window: Some((0, 49_000)),
            ..Choice::default()
        });
        let page = analysis.rows(&RowsQuery {
            sheet: "ops_summary".to_owned(),
            columns: vec!["name".to_owned()],
            count: 10,
            ..RowsQuery::default()
        });
        assert_eq!(page.rows.len(), 1);
        assert_eq!(page.rows[0].cells[0].text, "aten::mm");
        let report = markdown(&analysis.document(DocumentQuery::Report));
        let expected = "Only a part of the trace is analyzed: 49.0 µs";
        assert!(report.contains(expected), "{report}");
    }

    #[test]
    fn the_timeline_shows_the_whole_with_the_window_marked() {
        let mut analysis = two_steps();
        let all = analysis.timeline().unwrap().outline();
        assert_eq!(all.window, None);
        analysis.choose(&Choice {
            window: Some((40_000, 80_000)),
            ..Choice::default()
        });
        let marked = analysis.timeline().unwrap().outline();
        assert_eq!(marked.window, Some((40_000.0, 80_000.0)));
        assert_eq!(marked.lanes, all.lanes);
        assert_eq!(
            marked.lead,
            "80.0 µs recorded. Only Step 2 is analyzed (40.0 µs); the rest is dimmed."
        );
    }
}
