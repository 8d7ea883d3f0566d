//! Shared test code: small traces as text, containers, CSV, the shared traces, reports, a slower sample, the source
//! tree, `dormer open` as a process, and messages of tests that cannot run.

pub(crate) mod command;
pub(crate) mod container;
pub(crate) mod csv;
pub(crate) mod opened;
pub(crate) mod page;
pub(crate) mod protobuf;
pub(crate) mod rocprof;
pub(crate) mod shared;
pub(crate) mod skipped;
pub(crate) mod slower;
pub(crate) mod source;
pub(crate) mod text;
