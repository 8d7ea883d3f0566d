//! What several tests need: small traces as text, containers, CSV, the shared traces,
//! and reports.

pub(crate) mod container;
pub(crate) mod csv;
pub(crate) mod opened;
pub(crate) mod shared;
pub(crate) mod text;
