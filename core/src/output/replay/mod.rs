//! Reproducers: operations of a trace as a package that anybody with PyTorch can run, without the model and without the
//! trace.
//!
//! ```text
//! Report ─candidates→ Operation ─entry→ Call: operator + arguments ─package→ zip
//! ```
//!
//! The arguments of a call are recorded as shapes, types, strides and values by position; `schema` gives the arguments
//! their names. Data that the trace does not contain (the contents of tensors) is made up in `fill` so that the call is
//! valid. An operation that cannot be rebuilt is listed with its `reason`. A single operation is also available as a
//! few lines of Python.
//!
//! A package holds names of operators and kernels, shapes, strides, types, numbers and times: no names of modules,
//! files or functions, and no weights.

mod candidates;
mod package;
mod python;
#[cfg(test)]
mod tests;

pub use crate::profile::operations::reproducer::Reason;
pub use candidates::{Candidate, candidates};
pub(crate) use package::mark;
pub use package::{Entry, LeftOut, Package, README};
