//! What several tests need: small traces as text, containers, CSV, the shared traces.

pub(crate) mod container;
pub(crate) mod csv;
pub(crate) mod shared;
pub(crate) mod text;
