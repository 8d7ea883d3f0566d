//! Reproducers of the operations that are worth one.

use super::Listed;
use crate::profile::Profile;
use crate::replay::Package;
use crate::report::Report;

const PACKAGE: &str = "replay_package.zip";
const IR: &str = "replay_ir.json";

pub(super) fn list(profile: &Profile, _: &Report) -> Vec<Listed> {
    if profile.operations().is_empty() {
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

pub(super) fn write(profile: &Profile, report: &Report, path: &str) -> Option<Vec<u8>> {
    let package = Package::new(profile, report);
    match path {
        PACKAGE => package.zip(),
        _ => Some(package.ir()),
    }
}
