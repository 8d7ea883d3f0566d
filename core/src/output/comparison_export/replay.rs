//! Reproducers of the operations of the target that are worth one.

use super::Input;
use crate::output::export::{self, Listed, Source, replay::PACKAGE};

pub(super) fn list(input: &Input) -> Vec<Listed> {
    let files = of_target(input).files().into_iter();
    files.filter(|file| file.path == PACKAGE).collect()
}

pub(super) fn write(input: &Input, path: &str) -> Option<Vec<u8>> {
    Some(of_target(input).artifact(path)?.bytes)
}

fn of_target<'a>(input: &Input<'a>) -> export::Input<'a> {
    export::Input::new(input.target.profile, input.target.report)
}
