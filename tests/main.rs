//! Tests of Dormer as a whole, in one binary, so that it is linked once.
//!
//! | module | content |
//! |---|---|
//! | `corpus` | one small broken input per kind of damage, and how Dormer handles it |
//! | `properties` | properties that hold for every input: chunk splits, intervals, shifted times |
//! | `facts` | every number of a trace's documents by label, and no label with two values |
//! | `diagnosis` | why operations of real traces are slow, and expected findings of small ones |
//! | `planted` | causes planted in an operation of a real trace, which are found with their size |
//! | `formats` | traces in other formats than Kineto's JSON: real ones compared with the reference, and damage |
//! | `faults` | faults inserted into real traces: each is detected with its size, and changes no number silently |
//! | `fuzzing` | the shared code of the fuzz targets, and their seeds |
//! | `golden` | real traces compared with the sheets of the reference |
//! | `jobs` | ranks of one job, real and synthetic, compared with the sheets of the reference |
//! | `layers` | which module of the core crate uses which |
//! | `outputs` | reproducible output: the same bytes twice, the same cells in every form |
//! | `redaction` | real traces with replaced names give the same results |
//! | `gpu_choice` | what depends on the GPU, and what does not |
//! | `checks` | the reports of every trace satisfy their rules |
//! | `requirements` | the page of requirements matches the source tree |
//! | `compare` | comparisons of real traces of the same model |
//! | `idle` | the code behind the idle time of real traces, and of causes planted in them |
//! | `memory` | memory of real traces to the byte, by operator and step |
//! | `models` | how much of the GPU time of real traces has a model |
//! | `serving` | steps of serving engines and diffusion pipelines, with and without a capture |
//! | `step_findings` | findings about such steps |
//! | `tables` | the tables of real traces compared with their sheets, and dependencies of the core and the page |
//! | `trees` | consistency of the call trees of real traces, with themselves and each other |
//! | `words` | the vocabulary of everything that a user reads |
//! | `windows` | analyses of parts of real traces |
//! | `spellings` | real arguments in every spelling: the same figures |
//! | `measuring` | the benchmark's figures: medians, tables, and what counts as slower |
//! | `tiling` | the large traces that the benchmark generates |
//! | `browser` | the built page in a real Chromium |
//! | `support` | what they share: traces as text, CSV, the shared traces, the source tree |

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says on standard error what it skips"
)]

mod browser;
mod checks;
mod compare;
mod corpus;
mod diagnosis;
mod facts;
mod faults;
mod formats;
mod fuzzing;
mod golden;
mod gpu_choice;
mod idle;
mod jobs;
mod layers;
mod measuring;
mod memory;
mod models;
mod outputs;
mod planted;
mod properties;
mod redaction;
mod requirements;
mod serving;
mod spellings;
mod step_findings;
mod support;
mod tables;
mod tiling;
mod trees;
mod windows;
mod words;

#[test]
fn the_table_lists_every_module_once() {
    let source = include_str!("main.rs");
    let lines = |start: &str, end: &str| -> Vec<&str> {
        let lines = source.lines().filter_map(|line| line.strip_prefix(start));
        let mut names: Vec<&str> = lines
            .filter_map(|line| Some(line.split_once(end)?.0))
            .collect();
        names.sort_unstable();
        names
    };
    assert_eq!(lines("//! | `", "`"), lines("mod ", ";"));
}
