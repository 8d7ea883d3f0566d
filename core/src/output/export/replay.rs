//! Reproducers of the operations that are worth one.

use super::{Input, Listed};
use crate::output::replay::Package;

pub(crate) const PACKAGE: &str = "replay_package.zip";
const IR: &str = "replay_ir.json";

pub(super) fn list(input: &Input) -> Vec<Listed> {
    if input.profile.operations().is_empty() {
        return Vec::new();
    }
    let file = |path: &str, title| Listed {
        path: path.to_owned(),
        title,
    };
    vec![
        file(PACKAGE, "Reproducers with the program that runs them"),
        file(IR, "Reproducers, the calls alone"),
    ]
}

pub(super) fn write(input: &Input, path: &str) -> Option<Vec<u8>> {
    let package = Package::new(input.profile, input.report);
    match path {
        PACKAGE => package.zip(),
        _ => Some(package.ir()),
    }
}
