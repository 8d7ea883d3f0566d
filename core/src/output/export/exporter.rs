//! How files are listed and made, independent of their source.

use super::{Artifact, Listed, mime};
use crate::base::labels::labeled;

labeled! {
    /// The purpose of a kind of file.
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

/// A kind of file, made from an `I`.
#[derive(Debug)]
pub struct Exporter<I> {
    /// Its name for `--format`.
    pub format: &'static str,
    /// What it is, for people.
    pub title: &'static str,
    /// Its purpose.
    pub group: Group,
    /// Who opens it, and with what, in a sentence.
    pub purpose: &'static str,
    /// Whether making one of its files takes no noticeable time.
    pub is_quick: bool,
    /// Lists the files without making them: cheap, no matter how large they are.
    pub list: fn(&I) -> Vec<Listed>,
    /// Makes the listed file with this path; `None` if it cannot be made.
    pub write: fn(&I, &str) -> Option<Vec<u8>>,
}

impl<I> Exporter<I> {
    /// Makes all files of this kind lazily, one after the other.
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
    /// Every kind of file, in display order.
    fn exporters() -> Vec<Exporter<Self>>;

    /// Whether a file may be larger than memory and is written while it is made.
    fn is_streamed(&self, _path: &str) -> bool {
        false
    }

    /// Writes such a file, piece by piece.
    fn stream(&self, _path: &str, _sink: &mut dyn FnMut(&[u8])) {}

    /// Lists all files without making them.
    fn files(&self) -> Vec<Listed> {
        let exporters = Self::exporters().into_iter();
        exporters
            .flat_map(|exporter| (exporter.list)(self))
            .collect()
    }

    /// Makes one file; `None` if there is none with this path.
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

    /// Each listed file, made alone.
    #[cfg(test)]
    fn each_alone(&self) -> Vec<Artifact> {
        let listed = self.files();
        let untitled = listed.iter().find(|file| file.title.is_empty());
        assert_eq!(untitled, None);
        let alone = listed.iter().map(|file| self.artifact(&file.path));
        let alone: Vec<Artifact> = alone.map(Option::unwrap).collect();
        assert!(alone == self.artifacts());
        assert!(alone.iter().all(|file| !file.mime.contains("octet")));
        alone
    }

    /// All files as one archive; `None` if it cannot be written.
    fn archive(&self) -> Option<Vec<u8>> {
        let exporters = Self::exporters();
        let files = exporters
            .iter()
            .flat_map(|exporter| exporter.artifacts(self));
        crate::output::archive::zip(&mut files.map(|file| (file.path, file.bytes)))
    }
}
