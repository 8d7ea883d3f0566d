//! What can be downloaded, and making it.

use dormer_core::base::format;
use dormer_core::output::archive;
use dormer_core::output::export::{Group, Source};

use crate::protocol::{About, ArtifactGroup, ArtifactKind, ArtifactLine, MadeArtifact, Offer};

/// What can be downloaded: about the comparison first, where there is one.
pub(super) fn offers(
    target: &impl Source,
    comparison: Option<&impl Source>,
    is_redacted: bool,
) -> Vec<Offer> {
    let comparison = comparison.map(|source| offer(source, About::Comparison, is_redacted));
    let target = offer(target, About::Target, is_redacted);
    comparison.into_iter().chain([target]).collect()
}

/// All files of a source by group; nothing of them is made yet.
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

/// Makes one file, or all of them as an archive: what is said of it, and its bytes.
pub(super) fn make<S: Source>(source: &S, path: Option<&str>) -> Option<(MadeArtifact, Vec<u8>)> {
    let (mime, bytes) = match path {
        Some(path) => {
            let artifact = source.artifact(path)?;
            (artifact.mime, artifact.bytes)
        }
        None => (archive::MIME, source.archive()?),
    };
    let made = MadeArtifact {
        mime: mime.to_owned(),
        size: format::bytes(bytes.len() as u64),
    };
    Some((made, bytes))
}
