//! A program that runs a single operation with the arguments that the trace recorded.

use dormer_core::output::archive;
use dormer_core::output::replay::{Entry, Package};
use dormer_core::{Profile, Report};

use crate::protocol::{MadeArtifact, Reproducer, ReproducerQuery};

/// Whether an operation can be reproduced, and the package if requested; `None` if there is no such operation.
pub(super) fn reproducer(
    profile: &Profile,
    report: &Report,
    query: ReproducerQuery,
) -> Option<(Reproducer, Option<Vec<u8>>)> {
    let operation = query.row as usize;
    let name = profile.operations().get(operation)?.name(profile);
    let package = Package::of_operation(profile, report, operation);
    let reason = package.left_out.first().map(|left| left.reason.label());
    let bytes = match query.make && reason.is_none() {
        true => package.zip(),
        false => None,
    };
    let reproducer = Reproducer {
        file_name: file_name(&name),
        python: package.entries.first().and_then(Entry::python),
        reason,
        made: bytes
            .as_ref()
            .map(|zip| MadeArtifact::new(archive::MIME, zip)),
    };
    Some((reproducer, bytes))
}

/// `aten::addmm` as `replay_aten_addmm.zip`.
fn file_name(operation: &str) -> String {
    /// The operation's part of a file name is cut to this length.
    const MAX_CHARS: usize = 60;
    let plain = operation.replace("::", "_");
    let letters = plain.chars().take(MAX_CHARS).map(|letter| match letter {
        letter if letter.is_ascii_alphanumeric() => letter,
        _ => '_',
    });
    format!("replay_{}.zip", letters.collect::<String>())
}

#[cfg(test)]
mod tests {
    use dormer_core::ReportOptions;
    use dormer_core::testing::Timetable;

    use super::*;

    /// A GEMM with its arguments, and an operator without.
    fn profile() -> Profile {
        let mm = r#""Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"], "Input Strides": [[64, 1], [64, 1]], "Concrete Inputs": ["", ""]"#;
        Timetable::new()
            .call("aten::mm", mm, "gemm", 100..130)
            .work("aten::relu", "relu", 140..150)
            .profile()
    }

    fn ask(row: u32, make: bool) -> Option<(Reproducer, Option<Vec<u8>>)> {
        let profile = profile();
        let report = Report::new(&profile, &ReportOptions::default());
        reproducer(&profile, &report, ReproducerQuery { row, make })
    }

    #[test]
    fn what_was_recorded_whole_is_made_when_it_is_asked_for() {
        let (offered, bytes) = ask(0, false).unwrap();
        assert_eq!(offered.file_name, "replay_aten_mm.zip");
        let python = offered.python.unwrap();
        assert!(
            python.contains("torch.ops.aten.mm.default(self, mat2)"),
            "{python}"
        );
        assert_eq!((offered.reason, offered.made, bytes), (None, None, None));
        let (made, bytes) = ask(0, true).unwrap();
        assert_eq!(
            made.made.map(|made| made.mime).as_deref(),
            Some(archive::MIME)
        );
        assert!(bytes.unwrap().starts_with(b"PK"));
    }

    #[test]
    fn what_cannot_be_rebuilt_says_why() {
        let (offered, bytes) = ask(1, true).unwrap();
        let reason = offered.reason.unwrap();
        assert!(reason.contains("record_shapes=True"), "{reason}");
        assert_eq!((offered.python, offered.made, bytes), (None, None, None));
        assert_eq!(ask(2, false), None);
    }
}
