//! Opening files that came together, and adding files to what is open.

use std::sync::Arc;

use dormer_core::Profile;
use dormer_core::import::Imported;
use dormer_core::profile::capture::{CaptureFile, has_bare_replays};

use super::analysis::configured;
use super::incoming::{Group, Incoming, NO_REPLAYS};
use super::{Analysis, Traces};
use crate::protocol::{
    Choice, Failure, FileNames, LeftOut, Opened, OpeningStep, TOO_MANY, TakeOff,
};

/// Why captures alone are no trace.
const ALONE: &str = "all of them are captures of GPU graphs; drop the trace that replays the graphs together with them";
const BESIDE: &str = "it is a capture of a GPU graph, and the open trace replays no graph that a capture could explain";
const NO_REFERENCE: &str = "it is a capture of a GPU graph and no run to compare with; dropped on the left half of the page, it is merged with the open trace";

/// What is said while files are being opened.
pub enum Told {
    /// What is being done.
    Step(OpeningStep),
    /// What can be shown until the trace is judged.
    First(Box<Opened>),
}

/// What came of files that were added to open traces.
pub enum Added {
    /// They are merged: what the target is now.
    Merged(Box<Opened>),
    /// There was a trace among them, which is open instead.
    Replaced(Box<Opened>),
    /// Nothing has changed.
    Refused(Vec<LeftOut>),
}

impl Analysis {
    /// A file that another trace is to be compared with.
    pub fn of_run(files: Vec<Incoming>, choice: &Choice) -> Result<Analysis, Failure> {
        let group = Group::new(files).with_a_run(false, NO_REFERENCE)?;
        let run = group.runs.into_iter().next();
        let run = run.map(|(_, run)| run).unwrap_or_default();
        Ok(Analysis::new(Profile::new(run), choice))
    }
}

impl Traces {
    /// Opens files that came together: a run with the captures of its graphs, or two runs to compare.
    /// A capture alone is opened where nothing else is open. `told` hears what is being done.
    pub fn open(
        files: Vec<Incoming>,
        choice: &Choice,
        is_beside: bool,
        told: impl FnMut(Told),
    ) -> Result<(Traces, Opened), Failure> {
        let why_not = if is_beside { BESIDE } else { ALONE };
        let group = Group::new(files).with_a_run(!is_beside, why_not)?;
        Traces::of_group(group, choice, told)
    }

    fn of_group(
        mut group: Group,
        choice: &Choice,
        mut told: impl FnMut(Told),
    ) -> Result<(Traces, Opened), Failure> {
        let captures = group.files();
        let mut runs = std::mem::take(&mut group.runs).into_iter();
        let (Some((name, target)), reference, None) = (runs.next(), runs.next(), runs.next())
        else {
            return Err(Failure {
                sentence: TOO_MANY.to_owned(),
                at_byte: None,
            });
        };
        told(Told::Step(OpeningStep::Profiling));
        let (target, why) = merged(target, &captures);
        let reference = reference.map(|(name, run)| (name, merged(run, &captures)));
        // What one of them needs is of use.
        let other = reference.as_ref().map(|(_, (_, why))| why.is_some());
        if let Some(why) = why.filter(|_| other != Some(false)) {
            group.left_out.push(LeftOut::captures(&why));
        }
        told(Told::Step(OpeningStep::Reporting));
        let config = group.config.take();
        let (config_name, config) = config.unzip();
        let config = config.map(Arc::new);
        let given = |profile: Profile| match takes_shapes(&profile) {
            true => configured(profile, config.as_ref()),
            false => profile,
        };
        let is_alone = reference.is_none() && captures.is_empty() && group.left_out.is_empty();
        let mut first = |opened: Opened| {
            let file_name = name.clone();
            told(Told::First(Box::new(Opened {
                file_name,
                ..opened
            })));
        };
        let first = is_alone.then_some(&mut first as &mut dyn FnMut(Opened));
        let mut traces = Traces::new(Analysis::telling(given(target), choice, first));
        traces.name.clone_from(&name);
        let reference = reference.map(|(of_reference, (profile, _))| {
            let files = FileNames {
                target: name,
                reference: of_reference.clone(),
            };
            let analysis = Analysis::new(given(profile), &choice.of_reference());
            (of_reference, traces.compare_with(analysis, files))
        });
        let is_given = traces
            .sides_mut()
            .any(|side| side.captures().model.is_some());
        if let Some(name) = config_name.filter(|_| !is_given) {
            group.leave_out(name, NO_REPLAYS);
        }
        traces.config = config;
        traces.keep(captures);
        let opened = Opened {
            reference,
            left_out: group.left_out,
            ..traces.opened()
        };
        Ok((traces, opened))
    }

    /// Adds files: captures are merged with the target, and with the reference where that replays
    /// graphs of theirs; a run is opened in the target's place. Whatever cannot be used leaves all
    /// as it is.
    pub fn add(
        &mut self,
        files: Vec<Incoming>,
        choice: &Choice,
        mut told: impl FnMut(OpeningStep),
    ) -> Added {
        let mut group = Group::new(files).beside_replays();
        group.add_executions();
        if !group.runs.is_empty() {
            // What is open stays on screen until the other one is judged.
            let told = |one| match one {
                Told::Step(step) => told(step),
                Told::First(_) => {}
            };
            return match Traces::of_group(group, choice, told) {
                Ok((traces, opened)) => {
                    *self = traces;
                    Added::Replaced(Box::new(opened))
                }
                Err(failure) => Added::Refused(vec![LeftOut {
                    name: None,
                    failure,
                }]),
            };
        }
        let captures = group.files();
        let config = group.config.take();
        let mut left_out = group.left_out;
        let mut is_used = config.is_some();
        if let Some((_, config)) = config {
            self.config = Some(Arc::new(config));
            self.configure(choice);
        }
        if !captures.is_empty() {
            match self.merge(&captures, choice, told) {
                Ok(()) => {
                    is_used = true;
                    self.keep(captures);
                }
                Err(why) => left_out.push(LeftOut::captures(&why)),
            }
        }
        match is_used {
            true => Added::Merged(Box::new(Opened {
                left_out,
                ..self.opened()
            })),
            false => Added::Refused(left_out),
        }
    }

    /// The target, and the reference where there is one.
    fn sides_mut(&mut self) -> impl Iterator<Item = &mut Analysis> {
        let reference = self.reference.as_mut().map(|of| &mut of.analysis);
        std::iter::once(&mut self.target).chain(reference)
    }

    fn merge(
        &mut self,
        captures: &[CaptureFile],
        choice: &Choice,
        mut told: impl FnMut(OpeningStep),
    ) -> Result<(), String> {
        told(OpeningStep::Profiling);
        let choices = [choice.clone(), choice.of_reference()];
        let sides = self.sides_mut().zip(&choices);
        let merged: Vec<_> = sides
            .map(|(side, choice)| side.merge(captures, choice))
            .collect();
        if merged.iter().all(Result::is_err) {
            return merged.into_iter().next().unwrap_or(Ok(()));
        }
        self.judge_reference(choice);
        Ok(())
    }

    /// Gives the sizes of the model to what replays graphs.
    fn configure(&mut self, choice: &Choice) {
        let config = self.config.clone();
        let choices = [choice.clone(), choice.of_reference()];
        for (side, choice) in self.sides_mut().zip(&choices) {
            if takes_shapes(&side.whole) {
                side.configure(config.as_ref(), choice);
            }
        }
        self.judge_reference(choice);
    }

    /// Takes off a capture, or the sizes of the model; `None` where they are not used.
    pub fn take_off(&mut self, query: &TakeOff) -> Option<Opened> {
        let Some(name) = &query.name else {
            self.config.take()?;
            self.configure(&query.choice);
            return Some(self.opened());
        };
        let mut names = self.captures.iter();
        let at = names.position(|capture| capture.name == *name)?;
        self.captures.remove(at);
        let captures = std::mem::take(&mut self.captures);
        let choices = [query.choice.clone(), query.choice.of_reference()];
        for (side, choice) in self.sides_mut().zip(&choices) {
            side.merge_only(&captures, choice);
        }
        self.captures = captures;
        self.judge_reference(&query.choice);
        Some(self.opened())
    }

    fn judge_reference(&mut self, choice: &Choice) {
        self.forget();
        if let Some(reference) = &mut self.reference {
            let choice = choice.of_reference();
            reference
                .analysis
                .choose_beside(&self.target, Some(&choice));
        }
    }

    /// Keeps the captures that something was merged of.
    fn keep(&mut self, captures: Vec<CaptureFile>) {
        let used: Vec<String> = self
            .sides_mut()
            .flat_map(|side| side.captures().merged)
            .map(|(name, _)| name)
            .collect();
        let used = |capture: &CaptureFile| used.contains(&capture.name);
        self.captures.extend(captures.into_iter().filter(used));
    }

    /// What the page shows first of the target.
    pub(super) fn opened(&self) -> Opened {
        Opened {
            file_name: self.name.clone(),
            ..self.target.opened()
        }
    }
}

/// Whether graphs are replayed, the shapes of whose kernels may be told from elsewhere.
fn takes_shapes(profile: &Profile) -> bool {
    profile.coverage.is_some() || has_bare_replays(&profile.trace, &profile.launches)
}

/// What a run means with the captures of its graphs; and why none of them is merged, where that is so.
fn merged(run: Imported, captures: &[CaptureFile]) -> (Profile, Option<String>) {
    let mut profile = Profile::with_captures(run, captures);
    let coverage = profile.coverage.as_ref();
    let why = coverage
        .filter(|coverage| !coverage.is_merged())
        .map(|coverage| coverage.refusal(None));
    if why.is_some() {
        profile.coverage = None;
    }
    (profile, why)
}

#[cfg(test)]
mod tests {
    use dormer_core::import::import;
    use dormer_core::testing::Timetable;

    use super::*;
    use crate::worker::Content;

    /// A graph of a GEMM and a norm, replayed once.
    fn replay() -> Timetable {
        Timetable::new()
            .without_flows()
            .runtime("hipGraphLaunch", 1, 0..10)
            .kernel(1, "gemm", 20..60)
            .kernel(1, "norm", 60..70)
    }

    /// The capture of a graph of these operators and kernels.
    fn capture(launches: &[(&str, &str)]) -> Timetable {
        let start = Timetable::new()
            .without_flows()
            .frame("model.py(3): forward", 1..900)
            .runtime("hipStreamBeginCapture", 1, 2..3);
        let all = launches.iter().zip(1..);
        let all = all.fold(start, |all, ((op, kernel), nth)| {
            let at = 20 * nth;
            all.op(op, at..at + 15)
                .args("32x64, 64x16")
                .runtime("hipModuleLaunchKernel", 100 + nth, at + 1..at + 5)
                .args(&format!(r#""kernel": "{kernel}""#))
        });
        all.runtime("hipStreamEndCapture", 2, 850..851)
    }

    const LAUNCHES: [(&str, &str); 2] = [("aten::mm", "gemm"), ("my::norm", "norm")];

    fn incoming(name: &str, text: &str) -> Incoming {
        let content = Content::aside(text.as_bytes()).map_or_else(
            || {
                let imported = import(text.as_bytes());
                let imported = imported.map(|run| Content::Recording(Box::new(run)));
                imported.map_err(|error| crate::worker::analysis::failure(&error))
            },
            Ok,
        );
        Incoming {
            name: name.to_owned(),
            content,
        }
    }

    fn opened(files: &[(&str, &str)]) -> Result<(Traces, Opened), Failure> {
        let files = files.iter().map(|(name, text)| incoming(name, text));
        Traces::open(files.collect(), &Choice::default(), false, |_| {})
    }

    fn add(traces: &mut Traces, name: &str, text: &str) -> Added {
        traces.add(vec![incoming(name, text)], &Choice::default(), |_| {})
    }

    /// What is said of files that are not used.
    fn said(left_out: &[LeftOut]) -> Vec<String> {
        let each = left_out.iter().map(|LeftOut { name, failure }| {
            let name = name.as_ref().map(|name| format!("{name}: "));
            format!("{}{}", name.unwrap_or_default(), failure.sentence)
        });
        each.collect()
    }

    const NOTES: &str = r#"[{"file": "capture.json", "batch_size": 32, "mode": "FULL"}]"#;

    fn top(opened: &Opened) -> Vec<&str> {
        let top = opened.overview.top.iter();
        top.map(|one| one.time.name.as_str()).collect()
    }

    #[test]
    fn a_trace_and_its_capture_come_together_in_any_order() {
        let (trace, capture) = (replay().json(), capture(&LAUNCHES).json());
        let mut files = [
            ("trace.json", &*trace),
            ("capture.json", &capture),
            ("execution_details.json", NOTES),
        ];
        for _ in 0..files.len() {
            files.rotate_left(1);
            let (_, opened) = opened(&files).unwrap();
            assert_eq!(opened.file_name, "trace.json");
            assert_eq!(top(&opened), ["aten::mm", "my::norm"]);
            let captures = &opened.overview.captures;
            assert!(!captures.is_wanted);
            let matched = "2 of 2 kernels matched".to_owned();
            assert_eq!(captures.merged, [("capture.json".to_owned(), matched)]);
            assert_eq!(said(&opened.left_out), [""; 0]);
        }
    }

    /// A recording of a whole start of an engine captures its graphs, and replays them.
    #[test]
    fn a_recording_that_captures_and_replays_needs_no_other_file() {
        let both = capture(&LAUNCHES)
            .runtime("hipGraphLaunch", 900, 1_000..1_010)
            .kernel(900, "gemm", 1_020..1_060)
            .kernel(900, "norm", 1_060..1_070);
        let (_, opened) = opened(&[("both.json", &both.json())]).unwrap();
        assert_eq!(top(&opened), ["aten::mm", "my::norm"]);
        let captures = &opened.overview.captures;
        assert!(!captures.is_wanted && !opened.is_capture);
        assert_eq!(captures.merged, []);
    }

    #[test]
    fn a_capture_is_merged_with_the_open_trace_and_taken_off_again() {
        let (mut traces, bare) = opened(&[("trace.json", &replay().json())]).unwrap();
        assert!(bare.overview.captures.is_wanted);
        let Added::Merged(merged) = add(&mut traces, "c.json", &capture(&LAUNCHES).json()) else {
            panic!("not merged")
        };
        assert_eq!(top(&merged), ["aten::mm", "my::norm"]);
        // A GPU or a threshold that is chosen later changes nothing of it.
        let chosen = traces.choose(&Choice::default());
        assert_eq!(chosen.captures, merged.overview.captures);

        let take_off = |name: &str| TakeOff {
            name: Some(name.to_owned()),
            choice: Choice::default(),
        };
        assert!(traces.take_off(&take_off("other.json")).is_none());
        let without = traces.take_off(&take_off("c.json")).unwrap();
        assert_eq!(without.overview, bare.overview);
    }

    #[test]
    fn what_cannot_be_merged_leaves_everything_as_it_is() {
        let good = capture(&LAUNCHES).json();
        let other = capture(&[("aten::relu", "relu")]).json();
        let half = &good[..good.len() - 150];
        let (mut traces, open) = opened(&[("trace.json", &replay().json())]).unwrap();
        for (name, text, sentence) in [
            (
                "foreign.json",
                &*other,
                "No replay of this trace comes from the capture foreign.json",
            ),
            (
                "half.json",
                half,
                "The capture half.json ends before 1 graph did",
            ),
            (
                "start.json",
                &half[..half.find("hipStreamBegin").unwrap()],
                "The capture start.json is cut off before the launches of any graph",
            ),
            (
                "empty.json",
                r#"{"traceEvents": []}"#,
                "The capture empty.json has no events",
            ),
            ("no.json", "no JSON", "no.json: "),
            (
                "execution_details.json",
                NOTES,
                "execution_details.json: it says what captures of GPU graphs are of",
            ),
            (
                "config.json",
                r#"{"architectures": ["LlamaForCausalLM"]}"#,
                "config.json: ",
            ),
        ] {
            let Added::Refused(left_out) = add(&mut traces, name, text) else {
                panic!("{name} is used")
            };
            let said = said(&left_out);
            assert!(said.len() == 1 && said[0].starts_with(sentence), "{said:?}");
            assert_eq!(traces.opened().overview, open.overview, "{name}");
        }

        // A second one for the same replays, too.
        assert!(matches!(
            add(&mut traces, "c.json", &good),
            Added::Merged(_)
        ));
        let Added::Refused(left_out) = add(&mut traces, "d.json", &good) else {
            panic!("merged twice")
        };
        assert_eq!(
            said(&left_out),
            ["All GPU graph replays of the trace have operators from captures already"]
        );
    }

    const CONFIG: &str = r#"{
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
        "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "vocab_size": 128256, "hidden_act": "silu", "torch_dtype": "bfloat16"
    }"#;

    #[test]
    fn the_configuration_of_the_model_is_given_and_taken_off() {
        let (trace, capture) = (replay().json(), capture(&LAUNCHES).json());
        let (mut traces, bare) = opened(&[("trace.json", &trace)]).unwrap();
        let Added::Merged(with) = add(&mut traces, "config.json", CONFIG) else {
            panic!("not used")
        };
        let model = |opened: &Opened| opened.overview.captures.model.clone();
        assert!(model(&with).is_some());
        // A capture that comes later leaves it.
        let Added::Merged(both) = add(&mut traces, "c.json", &capture) else {
            panic!("not merged")
        };
        assert_eq!(model(&both), model(&with));
        let take_off = |name: Option<&str>| TakeOff {
            name: name.map(str::to_owned),
            choice: Choice::default(),
        };
        let without = traces.take_off(&take_off(Some("c.json"))).unwrap();
        assert_eq!(model(&without), model(&with));
        let without = traces.take_off(&take_off(None)).unwrap();
        assert_eq!(without.overview, bare.overview);

        // Together with the trace; a trace that replays no graph has no use for it.
        let (_, together) = opened(&[("config.json", CONFIG), ("trace.json", &trace)]).unwrap();
        assert_eq!(model(&together), model(&with));
        let eager = Timetable::new().work("my::op", "kernel", 10..20).json();
        let (_, eager) = opened(&[("config.json", CONFIG), ("eager.json", &eager)]).unwrap();
        assert_eq!(
            said(&eager.left_out),
            [format!("config.json: {NO_REPLAYS}")]
        );
    }

    #[test]
    fn another_trace_replaces_the_open_one() {
        let (mut traces, _) = opened(&[("trace.json", &replay().json())]).unwrap();
        let eager = Timetable::new().work("my::op", "kernel", 10..20).json();
        let Added::Replaced(opened) = add(&mut traces, "eager.json", &eager) else {
            panic!("not opened")
        };
        assert_eq!(
            (opened.file_name.as_str(), top(&opened)),
            ("eager.json", vec!["my::op"])
        );
    }

    #[test]
    fn two_traces_are_compared_each_with_its_captures() {
        let (trace, of_trace) = (replay().json(), capture(&LAUNCHES).json());
        let both = [
            ("old.json", &*trace),
            ("c.json", &of_trace),
            ("new.json", &trace),
        ];
        let (mut traces, opened) = opened(&both).unwrap();
        let (name, _) = opened.reference.as_ref().unwrap();
        assert_eq!(
            (opened.file_name.as_str(), name.as_str()),
            ("old.json", "new.json")
        );
        let sides = traces.compare().sides;
        assert_eq!(sides.len(), 2);
        let query = TakeOff {
            name: Some("c.json".to_owned()),
            choice: Choice::default(),
        };
        assert!(traces.take_off(&query).unwrap().overview.captures.is_wanted);
    }

    #[test]
    fn captures_without_a_trace_are_opened_alone_or_not_at_all() {
        let good = capture(&LAUNCHES).json();
        let (_, alone) = opened(&[("c.json", &good)]).unwrap();
        assert!(alone.is_capture);
        let two = opened(&[("c.json", &good), ("d.json", &good)]);
        assert_eq!(two.err().unwrap().sentence, ALONE);
        let beside = Traces::open(
            vec![incoming("c.json", &good)],
            &Choice::default(),
            true,
            |_| {},
        );
        assert_eq!(beside.err().unwrap().sentence, BESIDE);
    }
}
