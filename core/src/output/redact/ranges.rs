//! Names of annotations and of other ranges.

use super::operators::is_collective;
use super::placeholder::Placeholders;
use crate::names::batch;
use crate::trace::annotations::step_number;

/// Ranges named by the framework.
#[rustfmt::skip]
const FRAMEWORK: &[&str] = &[
    "DistributedDataParallel.forward", "Python GC", "gc.collect", "PyTorch Profiler (0)",
    "Activity Buffer Request", "Buffer Flush", "Command Buffer Full", "Instrumentation",
    "Lazy Function Loading", "Resource", "Runtime Triggered Module Loading",
    "Iteration Start: PyTorch Profiler", "Record Window End",
];

/// Prefixes of ranges named by the framework that continue with names from the program.
const STARTS: &[&str] = &[
    "CachingAutotuner.benchmark_all_configs",
    "_compile.compile_inner",
    "entire_frame_compile",
    "enumerate(DataLoader)",
];

#[rustfmt::skip]
const OPTIMIZERS: &[&str] = &[
    "ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam", "RAdam",
    "RMSprop", "Rprop", "SGD", "SparseAdam",
];

/// An annotation on the CPU or on the GPU.
pub(super) fn name(name: &str, placeholders: &mut Placeholders) -> String {
    if let Some(known) = of_framework(name) {
        return known;
    }
    if let Some((step, class)) = optimizer(name) {
        let class = placeholders.known_or(OPTIMIZERS.contains(&class), "optimizer", class);
        return format!("Optimizer.{step}#{class}.{step}");
    }
    if let Some(batch) = batch::without_own_words(name) {
        return batch;
    }
    placeholders.of("annotation", name)
}

/// Anything else that was recorded.
pub(super) fn other(name: &str, placeholders: &mut Placeholders) -> String {
    of_framework(name).unwrap_or_else(|| placeholders.of("event", name))
}

fn of_framework(name: &str) -> Option<String> {
    let is_step = step_number(name).is_some();
    let is_nccl = name.strip_prefix("nccl:").is_some_and(is_collective);
    if is_step || is_nccl || FRAMEWORK.contains(&name) {
        return Some(name.to_owned());
    }
    let start = STARTS.iter().find(|start| name.starts_with(**start));
    start.map(|start| (*start).to_owned())
}

/// `Optimizer.step#AdamW.step`: the action, and the optimizer class.
fn optimizer(name: &str) -> Option<(&str, &str)> {
    let (step, class) = name.strip_prefix("Optimizer.")?.split_once('#')?;
    let class = class.strip_suffix(step)?.strip_suffix('.')?;
    ["step", "zero_grad"]
        .contains(&step)
        .then_some((step, class))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_of_the_framework_stay_and_others_go() {
        #[rustfmt::skip]
        let cases = [
            ("ProfilerStep#17", None),
            ("nccl:all_reduce", None),
            ("Optimizer.step#AdamW.step", None),
            ("Optimizer.step#Acme.step", Some("Optimizer.step#optimizer_1.step")),
            ("ProfilerStep#acme", Some("annotation_1")),
            ("enumerate(DataLoader)#AcmeIter.__next__", Some("enumerate(DataLoader)")),
            ("acme warmup", Some("annotation_2")),
        ];
        let mut placeholders = Placeholders::default();
        for (range, expected) in cases {
            assert_eq!(name(range, &mut placeholders), expected.unwrap_or(range));
        }
    }

    #[test]
    fn of_a_batch_its_figures_stay() {
        let cases = [
            (
                "execute_9_context_2(sq8sk8sqsq32sqsk32)_generation_1(sq1sk9sqsq1sqsk9)",
                "",
            ),
            (
                "step[MIXED bs=3 acme=7 c_sq=8 g_sq=1]",
                "step[MIXED bs=3 c_sq=8 g_sq=1]",
            ),
        ];
        for (written, expected) in cases {
            let shown = name(written, &mut Placeholders::default());
            assert_eq!(
                shown,
                if expected.is_empty() {
                    written
                } else {
                    expected
                }
            );
            assert_eq!(batch::parse(&shown), batch::parse(written));
        }
    }
}
