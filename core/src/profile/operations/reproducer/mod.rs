//! Turns a recorded operation into a call that can be replayed: an operator and its arguments.

pub(crate) mod arguments;
pub(crate) mod entry;
pub(crate) mod fill;
pub(crate) mod reason;

pub(crate) use entry::is_callable;
pub use reason::Reason;
