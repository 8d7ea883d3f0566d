//! The `dormer` command.
fn main() {}
