//! A recorded operation as a call that can be made again: its operator, and the arguments to call
//! it with.

pub(crate) mod entry;
pub(crate) mod fill;
pub(crate) mod reason;
pub(crate) mod recorded;

pub use entry::is_callable;
pub use reason::Reason;
