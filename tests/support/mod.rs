//! What several tests need: small traces as text, containers, CSV, the shared traces, reports, a
//! slower sample, and the source tree.

pub(crate) mod container;
pub(crate) mod csv;
pub(crate) mod opened;
pub(crate) mod page;
pub(crate) mod shared;
pub(crate) mod slower;
pub(crate) mod source;
pub(crate) mod text;
