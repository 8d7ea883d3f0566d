//! How files are listed and made, whatever they are made from.

use super::{Artifact, Listed, mime};
use crate::base::labels::labelled;

labelled! {
    /// What a kind of file is there for.
    pub enum Group {
        /// To be read.
        Reports => "Reports to read",
        /// To be sorted, filtered and summed.
        Tables => "Tables",
        /// To be read by programs.
        Programs => "For programs",
        /// To be run.
        Reproducers => "Reproducers",
    }
}

/// A kind of file that is made from an `I`.
#[derive(Debug)]
pub struct Exporter<I> {
    /// What `--format` takes.
    pub format: &'static str,
    /// What it is, for people.
    pub title: &'static str,
    /// What it is there for.
    pub group: Group,
    /// Who opens it, and with what: a sentence.
    pub purpose: &'static str,
    /// Making one of its files takes no time that anybody would notice.
    pub is_quick: bool,
    /// Lists the files without making them: cheap, however large they are.
    pub list: fn(&I) -> Vec<Listed>,
    /// Makes the listed file of this path; `None` where it cannot be made.
    pub write: fn(&I, &str) -> Option<Vec<u8>>,
}

impl<I> Exporter<I> {
    /// Makes all files of this kind, one after the other as they are asked for.
    pub fn artifacts<'a>(&'a self, input: &'a I) -> impl Iterator<Item = Artifact> + 'a {
        let listed = (self.list)(input).into_iter();
        listed.filter_map(|file| self.artifact(input, file))
    }

    fn artifact(&self, input: &I, file: Listed) -> Option<Artifact> {
        Some(Artifact {
            bytes: (self.write)(input, &file.path)?,
            mime: mime(&file.path),
            path: file.path,
        })
    }
}

/// What files can be made from.
pub trait Source: Sized {
    /// Every kind of file, in the order in which they are offered.
    fn exporters() -> Vec<Exporter<Self>>;

    /// Whether a file may be larger than memory, and is handed on as it is made.
    fn is_streamed(&self, _path: &str) -> bool {
        false
    }

    /// Hands such a file on, piece by piece.
    fn stream(&self, _path: &str, _sink: &mut dyn FnMut(&[u8])) {}

    /// All files, none of them made yet.
    fn files(&self) -> Vec<Listed> {
        let exporters = Self::exporters().into_iter();
        exporters
            .flat_map(|exporter| (exporter.list)(self))
            .collect()
    }

    /// Makes one file; `None` where there is none of this path.
    fn artifact(&self, path: &str) -> Option<Artifact> {
        Self::exporters().iter().find_map(|exporter| {
            let mut files = (exporter.list)(self).into_iter();
            let file = files.find(|file| file.path == path)?;
            exporter.artifact(self, file)
        })
    }

    /// Makes all files.
    fn artifacts(&self) -> Vec<Artifact> {
        let exporters = Self::exporters();
        let files = exporters
            .iter()
            .flat_map(|exporter| exporter.artifacts(self));
        files.collect()
    }

    /// All files as one archive; `None` where it cannot be written.
    fn archive(&self) -> Option<Vec<u8>> {
        let exporters = Self::exporters();
        let files = exporters
            .iter()
            .flat_map(|exporter| exporter.artifacts(self));
        crate::output::archive::zip(&mut files.map(|file| (file.path, file.bytes)))
    }
}
