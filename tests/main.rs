//! Tests of Dormer as a whole; one binary, so that it links once.
//!
//! | module | what it holds |
//! |---|---|
//! | `corpus` | one small broken input per kind of damage, and what Dormer says to it |
//! | `properties` | laws that hold for every input: chunk splits, intervals, shifted times |
//! | `facts` | every number of the documents of a trace under its label, and no label with two of them |
//! | `diagnosis` | why operations of real traces are slow, and what small ones must say |
//! | `planted` | causes planted in an operation of a real trace, which are found with their size |
//! | `formats` | traces that are not Kineto's JSON: real ones against the reference, and damage |
//! | `fuzzing` | what the fuzz targets share, and their seeds |
//! | `golden` | real traces against the sheets of the reference |
//! | `jobs` | ranks of one job, real and made, against the sheets of the reference |
//! | `layers` | which module of the core uses which |
//! | `outputs` | what is written: the same bytes twice, the same cells in every form |
//! | `redaction` | real traces without their names say the same |
//! | `rocprof` | what rocprofv3 writes: small files, damaged ones, and a real one to the nanosecond |
//! | `gpu_choice` | what another GPU changes, and all that it does not |
//! | `checks` | the reports of every trace, held to their rules |
//! | `requirements` | the page of requirements, held to the source tree |
//! | `compare` | two real traces of the same model, held against each other |
//! | `idle` | the code behind the idle time of real traces, and of causes planted in them |
//! | `memory` | memory of real traces to the byte, by operator and step |
//! | `models` | how much of the GPU time of real traces has a model |
//! | `tables` | the tables of real traces against their sheets, and what the core and the page link |
//! | `trees` | the call trees of real traces against themselves and each other |
//! | `words` | the vocabulary of everything that a user reads |
//! | `windows` | parts of the time of real traces, analysed alone |
//! | `spellings` | real arguments in every spelling: the same figures |
//! | `measuring` | the benchmark's figures: medians, tables, and what counts as slower |
//! | `tiling` | the large traces that the benchmark makes |
//! | `browser` | the built page in a real Chromium |

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
mod job_inputs;
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
mod rocprof;
mod serving;
mod spellings;
mod step_findings;
mod support;
mod tables;
mod tiling;
mod trees;
mod windows;
mod words;
