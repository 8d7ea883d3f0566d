//! The files that can be downloaded, and their generation.

use dormer_core::output::documents::Documents;
use dormer_core::output::export::{self, Group, Source, pair};
use dormer_core::output::markup::html;
use dormer_core::output::{archive, kineto};

use crate::protocol::{About, ArtifactGroup, ArtifactKind, ArtifactLine, MadeArtifact, Offer};

/// The input of the files.
pub(super) struct Files<'a> {
    pub(super) target: export::Input<'a>,
    /// Set if there is a reference.
    pub(super) comparison: Option<pair::Input<'a>>,
    /// Whether names are replaced.
    pub(super) is_redacted: bool,
}

impl Files<'_> {
    /// Makes one of the tables that decide which files there are; `false` when all are made.
    pub(super) fn make_one_table(&self) -> bool {
        let (profile, report) = self.target.tables;
        let sides = self.comparison.iter();
        let mut sides = sides.flat_map(|both| [both.reference, both.target]);
        report.make_one_sheet(profile) || sides.any(|side| side.report.make_one_sheet(side.profile))
    }

    /// The files on offer, first those about the comparison, if there is one. Nothing is generated yet.
    pub(super) fn offers(&self) -> Vec<Offer> {
        let comparison = self.comparison.as_ref();
        let comparison = comparison.map(|of| offer(of, About::Comparison, self.is_redacted));
        let target = offer(&self.target, About::Target, self.is_redacted);
        comparison.into_iter().chain([target]).collect()
    }

    /// Generates a file about the target or the comparison, or an archive of all.
    pub(super) fn make(&self, about: About, path: Option<&str>) -> Option<(MadeArtifact, Vec<u8>)> {
        match about {
            About::Target => make(&self.target, path),
            About::Comparison => make(self.comparison.as_ref()?, path),
        }
    }

    /// The report about the target or the comparison, as a part of an HTML page.
    pub(super) fn report(&self, about: About) -> String {
        let compared = self
            .comparison
            .as_ref()
            .filter(|_| about == About::Comparison);
        html::part(&match compared {
            Some(compared) => compared.comparison().illustrated(),
            None => self.target.illustrated(),
        })
    }

    /// The trace of the target or of the reference as compressed profiler JSON.
    pub(super) fn written(&self, is_reference: bool) -> Option<Vec<u8>> {
        let profile = match is_reference {
            true => self.comparison.as_ref()?.reference.profile,
            false => self.target.profile,
        };
        kineto::gzipped(&profile.trace)
    }
}

/// All files of a source by group; none is generated yet.
fn offer<S: Source>(source: &S, about: About, is_redacted: bool) -> Offer {
    let exporters = S::exporters();
    let kinds = |group: Group| -> Vec<ArtifactKind> {
        let of_group = exporters.iter().filter(|exporter| exporter.group == group);
        let kinds = of_group.map(|exporter| ArtifactKind {
            format: exporter.format.to_owned(),
            title: exporter.title.to_owned(),
            purpose: exporter.purpose.to_owned(),
            is_quick: exporter.is_quick,
            lines: (exporter.list)(source)
                .into_iter()
                .map(|file| ArtifactLine {
                    about,
                    path: file.path,
                    title: file.title.to_owned(),
                })
                .collect(),
        });
        kinds.filter(|kind| !kind.lines.is_empty()).collect()
    };
    let groups = Group::ALL.into_iter().map(|group| ArtifactGroup {
        title: group.label().to_owned(),
        kinds: kinds(group),
    });
    Offer {
        about,
        is_redacted,
        groups: groups.filter(|group| !group.kinds.is_empty()).collect(),
    }
}

/// Generates one file, or an archive of all: its description, and its bytes.
fn make<S: Source>(source: &S, path: Option<&str>) -> Option<(MadeArtifact, Vec<u8>)> {
    let (mime, bytes) = match path {
        Some(path) => {
            let artifact = source.artifact(path)?;
            (artifact.mime, artifact.bytes)
        }
        None => (archive::MIME, source.archive()?),
    };
    Some((MadeArtifact::new(mime, &bytes), bytes))
}
