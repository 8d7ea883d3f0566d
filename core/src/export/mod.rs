//! Files that Dormer writes.

pub mod csv;
