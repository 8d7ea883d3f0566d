//! A question about builds and its answer.

use super::builds::Builds;
use super::metric::Metric;
use super::regressions::Regressions;
use super::rows::Fleet;
use super::texts::Text;
use crate::base::format;

/// The question and the answer.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// The traces.
    pub fleet: &'a Fleet,
    /// Their builds.
    pub builds: &'a Builds,
    /// The tag that identifies builds.
    pub by: &'a str,
    /// The newest build that was considered; `None` for all.
    pub newest: Option<Text>,
    /// The metrics that were compared.
    pub metrics: &'a [Metric],
    /// What changed.
    pub found: &'a Regressions,
}

impl Answer<'_> {
    /// A text of the rows.
    pub fn text(&self, text: Text) -> &str {
        self.fleet.texts.get(text)
    }

    /// Sentences on how much was compared and what was left out.
    pub fn notes(&self) -> Vec<String> {
        let n_builds = format::counted(self.builds.list.len() as u64, "build");
        let n_series = match self.found.n_series {
            1 => "1 series".to_owned(),
            n => format!("{} series", format::count(n as u64)),
        };
        let mut notes = vec![format!("Compared: {n_series} over {n_builds}.")];
        let left_out = self.found.left_out;
        let reasons = [
            (left_out.partial, "from a file that was read in part"),
            (left_out.without_build, "without a build"),
            (
                left_out.without_model,
                "without a model; --tag model=NAME names it",
            ),
        ];
        let reasons = reasons.into_iter().filter(|(n_runs, _)| *n_runs > 0);
        notes.extend(reasons.map(|(n_runs, reason)| {
            format!(
                "Left out: {} {reason}.",
                format::counted(u64::from(n_runs), "run")
            )
        }));
        notes.extend(self.fleet.note_on_names());
        notes
    }
}
