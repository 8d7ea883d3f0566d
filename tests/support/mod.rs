//! What several tests need: small traces as text, containers, the shared traces.

pub(crate) mod container;
pub(crate) mod shared;
pub(crate) mod text;
