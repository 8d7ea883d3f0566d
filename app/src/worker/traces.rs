//! The open traces: the one to improve, and the reference.
//!
//! All views except Compare show the target. Without a reference, nothing here does more than [`Analysis`].

use std::sync::Arc;

use dormer_core::compare::{self, Pair, Side};
use dormer_core::output::embedded::Parts;
use dormer_core::output::export::pair as export;
use dormer_core::perf::model_config::ModelConfig;
use dormer_core::profile::graphs::capture::CaptureFile;
use dormer_core::report::sheet::Field;
use dormer_core::{Profile, base::format};

use super::Analysis;
use super::compare::Compared;
use super::files::Files;
use super::pivot::groups;
use super::redacted::Redacted;
use super::rows::totals;
use super::step_pivot::groups_by_step;
use super::timeline::{Below, Timelines};
use crate::protocol::{
    About, Align, ArtifactQuery, ArtifactsQuery, BelowRequest, Choice, CompareFacts, DiffRow,
    DiffRowsQuery, EmbedQuery, FileNames, GroupsQuery, MadeArtifact, MomentQuery, Offer, Overview,
    ReferenceOpened, RowGroup, RowQuery, RowsPage, RowsQuery, STEP, Swapped, Total, TotalsQuery,
    TraceSide, TreeChange, TreePage, TreeStep, WrittenTraceQuery,
};

/// The traces that are open.
pub struct Traces {
    pub(super) target: Analysis,
    /// The name of its file.
    pub(super) name: String,
    /// The files merged with it or with the reference.
    pub(super) captures: Vec<CaptureFile>,
    /// The model's sizes.
    pub(super) config: Option<Arc<ModelConfig>>,
    pub(super) reference: Option<Reference>,
    /// If set, the reference is shown below the target's timeline.
    pub(super) below: Option<Align>,
    /// A moment in both, if they are ranks of a job.
    pub(super) moment: Option<MomentQuery>,
    /// Further ranks of the job, of which only timelines are shown.
    ranks: Vec<(Analysis, BelowRequest)>,
    /// Built on first use.
    compared: Option<Compared>,
    /// Kept while redacted files are requested.
    redacted: Option<Redacted>,
}

pub(super) struct Reference {
    pub(super) analysis: Analysis,
    /// The names of both traces, which differ.
    names: [String; 2],
    files: FileNames,
}

impl Reference {
    fn new(analysis: Analysis, target: &Analysis, files: FileNames) -> Reference {
        let devices = [&analysis, target].map(|side| {
            let hardware = &side.report.overview.hardware;
            hardware.recorded_on.as_deref()
        });
        Reference {
            names: compare::names([&files.reference, &files.target], devices),
            analysis,
            files,
        }
    }
}

impl Traces {
    /// One trace.
    pub fn new(target: Analysis) -> Traces {
        Traces {
            target,
            name: String::new(),
            captures: Vec::new(),
            config: None,
            reference: None,
            below: None,
            moment: None,
            ranks: Vec::new(),
            compared: None,
            redacted: None,
        }
    }

    /// The trace to improve.
    pub fn target(&mut self) -> &mut Analysis {
        &mut self.target
    }

    /// The timeline of the target, with that of the reference below it if shown, and those of further ranks of their
    /// job below both.
    pub(super) fn timelines(&mut self) -> Timelines<'_> {
        let target = self.target.timeline();
        let shown = self.reference.as_mut().zip(self.below);
        let Some((reference, align)) = shown else {
            return Timelines::of_one(target);
        };
        let Reference {
            analysis,
            names: [name, target_name],
            ..
        } = reference;
        let reference = Below {
            timeline: analysis.timeline(),
            name,
            moment: self.moment,
        };
        let ranks = self.ranks.iter_mut().map(|(analysis, rank)| Below {
            timeline: analysis.timeline(),
            name: &rank.name,
            moment: Some(rank.moment),
        });
        let below = std::iter::once(reference).chain(ranks).collect();
        Timelines::of_several(target, target_name, below, align)
    }

    /// Shows the timeline of a further rank below those of the target and the reference, while both are open.
    pub(super) fn show_below(&mut self, analysis: Analysis, request: BelowRequest) {
        if self.reference.is_some() && self.ranks.len() + 2 < TraceSide::ALL.len() {
            self.ranks.push((analysis, request));
        }
    }

    /// Compares the target with another trace.
    pub fn compare_with(&mut self, mut analysis: Analysis, files: FileNames) -> ReferenceOpened {
        analysis.choose_as_reference_of(&self.target, None);
        let reference = Reference::new(analysis, &self.target, files);
        let opened = reference_opened(&reference.analysis);
        self.reference = Some(reference);
        self.moment = None;
        self.ranks.clear();
        self.forget();
        opened
    }

    /// Closes the reference.
    pub fn close_reference(&mut self) {
        self.reference = None;
        self.ranks.clear();
        self.forget();
    }

    /// Swaps the target and the reference; `None` without a reference.
    pub fn swap(&mut self, choice: &Choice) -> Option<Swapped> {
        let Reference {
            analysis, files, ..
        } = self.reference.take()?;
        let old_target = std::mem::replace(&mut self.target, analysis);
        self.name.clone_from(&files.reference);
        self.moment = self.moment.map(|moment| MomentQuery {
            target_ns: moment.reference_ns,
            reference_ns: moment.target_ns,
        });
        // The others refer to the old target's moment; both traces share one.
        for (_, rank) in &mut self.ranks {
            if let Some(moment) = self.moment {
                let later_ns = rank.moment.target_ns.saturating_sub(moment.reference_ns);
                rank.moment.target_ns = moment.target_ns.saturating_add(later_ns);
            }
        }
        let files = FileNames {
            target: files.reference,
            reference: files.target,
        };
        self.reference = Some(Reference::new(old_target, &self.target, files));
        self.choose(choice);
        let reference = &self.reference.as_ref()?.analysis;
        Some(Swapped {
            target: self.opened(),
            reference: reference_opened(reference),
        })
    }

    /// Drops cached results that depend on the previous state.
    pub(super) fn forget(&mut self) {
        self.compared = None;
        self.redacted = None;
    }

    /// Analyzes both with another choice. A step is compared with the reference's step of the same name.
    pub fn choose(&mut self, choice: &Choice) -> Overview {
        self.forget();
        let overview = self.target.choose(choice);
        if let Some(Reference { analysis, .. }) = &mut self.reference {
            analysis.choose_as_reference_of(&self.target, Some(&choice.of_reference()));
        }
        overview
    }

    /// What the Compare view shows; empty without a reference.
    pub fn compare(&mut self) -> CompareFacts {
        let facts = self.compared().map(|compared| compared.facts());
        facts.unwrap_or_default()
    }

    /// A window of rows of a table, of the comparison or of the target.
    pub fn rows(&mut self, query: &RowsQuery) -> RowsPage {
        if !Compared::has(&query.sheet) {
            return self.target.rows(query);
        }
        let compared = self.compared();
        compared.map_or_else(RowsPage::default, |compared| compared.rows(query))
    }

    /// All fields of one row of a table.
    pub fn row(&mut self, query: &RowQuery) -> Vec<Field> {
        if !Compared::has(&query.sheet) {
            return self.target.row(&query.sheet, query.row);
        }
        let compared = self.compared();
        compared.map_or_else(Vec::new, |compared| compared.row(&query.sheet, query.row))
    }

    /// The totals of some rows of a table.
    pub fn totals(&mut self, query: &TotalsQuery) -> Vec<Total> {
        if !Compared::has(&query.sheet) {
            let table = self.target.table(&query.sheet);
            return table.map_or_else(Vec::new, |table| totals(&table, query));
        }
        let compared = self.compared();
        compared.map_or_else(Vec::new, |compared| compared.totals(query))
    }

    /// A table's rows, grouped by one of their fields or by step; only for tables of the target.
    pub fn groups(&mut self, query: &GroupsQuery) -> Vec<RowGroup> {
        let Some(table) = self.target.table(&query.sheet) else {
            return Vec::new();
        };
        match query.by == STEP {
            true => groups_by_step(&table, &self.target.steps, query),
            false => groups(&table, query),
        }
    }

    /// A window of both call trees.
    pub fn diff_rows(&mut self, query: &DiffRowsQuery) -> TreePage<DiffRow> {
        let both = self.compared_profiles();
        both.map_or_else(TreePage::default, |(compared, profiles)| {
            compared.trees().rows(profiles, query)
        })
    }

    /// Opens, closes or finds nodes of both call trees.
    pub fn diff_step(&mut self, step: &TreeStep) -> TreeChange {
        let both = self.compared_profiles();
        both.map_or_else(TreeChange::default, |(compared, profiles)| {
            compared.trees().step(profiles, step)
        })
    }

    /// The files on offer; `None` as long as their tables are being made, one each time.
    pub fn artifacts(&mut self, query: ArtifactsQuery) -> Option<Vec<Offer>> {
        if !query.is_redacted {
            self.redacted = None;
        }
        let files = self.files(query.is_redacted, About::Comparison);
        (!files.make_one_table()).then(|| files.offers())
    }

    /// Generates a file, or an archive of all.
    pub fn artifact(&mut self, query: &ArtifactQuery) -> Option<(MadeArtifact, Vec<u8>)> {
        let files = self.files(query.is_redacted, query.about);
        files.make(query.about, query.path.as_deref())
    }

    /// The parts around the traces in a one-file page.
    pub fn embedded(&mut self, query: &EmbedQuery) -> Parts {
        let about = match self.reference {
            Some(_) => About::Comparison,
            None => About::Target,
        };
        let files = self.files(query.is_redacted, about);
        Parts::new(&files.report(about), &query.view, query.is_redacted)
    }

    /// One of the traces as compressed profiler JSON.
    pub fn written(&mut self, query: WrittenTraceQuery) -> Option<Vec<u8>> {
        let about = match query.is_reference {
            true => About::Comparison,
            false => About::Target,
        };
        self.files(query.is_redacted, about)
            .written(query.is_reference)
    }

    /// The input of files; traces are not compared for files about the target.
    fn files(&mut self, is_redacted: bool, about: About) -> Files<'_> {
        if is_redacted {
            return self.redacted().files();
        }
        if about == About::Comparison {
            // Built before it is borrowed together with the target.
            self.compared();
        }
        Files {
            target: self.target.files(),
            comparison: self.compare_input(),
            is_redacted: false,
        }
    }

    /// The traces without their names, built on first use.
    fn redacted(&mut self) -> &Redacted {
        let Traces {
            target,
            reference,
            redacted,
            ..
        } = self;
        redacted.get_or_insert_with(|| {
            let reference = reference.as_ref().map(|reference| &reference.analysis);
            Redacted::new(target, reference)
        })
    }

    /// The input of the comparison's files; `None` without a reference.
    fn compare_input(&self) -> Option<export::Input<'_>> {
        Some(self.compared.as_ref()?.input(self.sides()?))
    }

    fn compared(&mut self) -> Option<&mut Compared> {
        if self.compared.is_none() {
            let [reference, target] = self.sides()?;
            self.compared = Some(Compared::new(reference, target));
        }
        self.compared.as_mut()
    }

    fn compared_profiles(&mut self) -> Option<(&mut Compared, Pair<&Profile>)> {
        self.compared()?;
        let profiles = Pair {
            reference: self.reference.as_ref()?.analysis.analyzed(),
            target: self.target.analyzed(),
        };
        Some((self.compared.as_mut()?, profiles))
    }

    /// Reference and target.
    fn sides<'a>(&'a self) -> Option<[Side<'a>; 2]> {
        let Reference {
            analysis, names, ..
        } = self.reference.as_ref()?;
        let [reference, target] = names;
        let side = |name, of: &'a Analysis| Side::new(name, of.analyzed(), &of.report);
        Some([side(reference, analysis), side(target, &self.target)])
    }
}

fn reference_opened(analysis: &Analysis) -> ReferenceOpened {
    ReferenceOpened {
        rank: analysis.whole.trace.rank(),
        detected: analysis.detected.map(|gpu| gpu.name.to_string()),
        events: format::count(analysis.whole.trace.n_events_read),
        takes_captures: analysis.captures().are_taken(),
    }
}

#[cfg(test)]
mod tests {
    use dormer_core::testing::Timetable;

    use std::iter;

    use super::*;
    use crate::protocol::{column, sheet};

    /// One operation with this name, with a kernel of this many microseconds.
    fn open(name: &str, us: u32) -> Analysis {
        let trace = Timetable::new().work(name, "gemm", 100..100 + us);
        Analysis::new(trace.profile(), &Choice::default())
    }

    const PLAIN: ArtifactsQuery = ArtifactsQuery { is_redacted: false };

    fn files() -> FileNames {
        FileNames {
            target: "new.json".to_owned(),
            reference: "old.json.gz".to_owned(),
        }
    }

    #[test]
    fn target_and_reference_change_places() {
        let mut traces = Traces::new(open("my::new", 30));
        assert_eq!(traces.compare(), CompareFacts::default());
        assert!(traces.swap(&Choice::default()).is_none());

        traces.compare_with(open("my::old", 20), files());
        let names = |traces: &mut Traces| -> Vec<(String, String)> {
            let sides = traces.compare().sides.into_iter();
            sides.map(|side| (side.name, side.total)).collect()
        };
        let side = |name: &str, total: &str| (name.to_owned(), total.to_owned());
        let (old, new) = (side("old", "20.0 µs"), side("new", "30.0 µs"));
        assert_eq!(names(&mut traces), [old.clone(), new.clone()]);
        let swapped = traces.swap(&Choice::default()).unwrap();
        assert_eq!(names(&mut traces), [new, old]);
        // The other views show the new target.
        assert_eq!(swapped.target.overview.top[0].time.name, "my::old");
        let chosen = traces.choose(&Choice::default());
        assert_eq!(chosen.top[0].time.name, "my::old");

        traces.close_reference();
        assert_eq!(traces.compare(), CompareFacts::default());
    }

    /// The files on offer, asked for until all tables are made.
    fn offers(traces: &mut Traces, query: ArtifactsQuery) -> Vec<Offer> {
        let mut asked = iter::repeat_with(|| traces.artifacts(query)).flatten();
        asked.next().unwrap()
    }

    #[test]
    fn each_question_for_the_files_makes_one_table_more() {
        let mut traces = Traces::new(open("my::op", 30));
        let waits = |traces: &mut Traces| {
            let asked = iter::repeat_with(|| traces.artifacts(PLAIN));
            asked.take_while(Option::is_none).count()
        };
        assert!(waits(&mut traces) > 1);
        // None is made twice, and the other trace has its own.
        assert_eq!(waits(&mut traces), 0);
        traces.compare_with(open("my::op", 20), files());
        assert!(waits(&mut traces) > 1);
    }

    #[test]
    fn files_of_both_can_be_made() {
        let query = |about, path: Option<&str>| ArtifactQuery::new(about, path, false);
        let mut traces = Traces::new(open("my::op", 30));
        let workbook = query(About::Comparison, Some("comparison.xlsx"));
        assert!(traces.artifact(&workbook).is_none());
        assert_eq!(offers(&mut traces, PLAIN).len(), 1);

        traces.compare_with(open("my::op", 20), files());
        let both = offers(&mut traces, PLAIN);
        let about: Vec<About> = both.iter().map(|offer| offer.about).collect();
        assert_eq!(about, [About::Comparison, About::Target]);
        let (made, bytes) = traces.artifact(&workbook).unwrap();
        assert!(made.mime.contains("spreadsheet"), "{}", made.mime);
        assert!(bytes.starts_with(b"PK"));
        // Both have a file of this name.
        let pages = [About::Comparison, About::Target]
            .map(|about| traces.artifact(&query(about, Some("report.html"))).unwrap());
        assert_ne!(pages[0].1, pages[1].1);
        // Every file on offer can be generated, and is in the archive.
        for offer in both {
            let (made, archive) = traces.artifact(&query(offer.about, None)).unwrap();
            assert_eq!(made.mime, "application/zip");
            let kinds = offer.groups.iter().flat_map(|group| &group.kinds);
            for line in kinds.flat_map(|kind| &kind.lines) {
                assert_eq!(line.about, offer.about);
                let path = line.path.as_bytes();
                let mut pieces = archive.windows(path.len());
                assert!(pieces.any(|bytes| bytes == path), "{}", line.path);
                let alone = query(offer.about, Some(&line.path));
                assert!(traces.artifact(&alone).is_some());
            }
        }
    }

    #[test]
    fn without_names_files_have_none() {
        let mut traces = Traces::new(open("acme::op", 30));
        traces.compare_with(open("acme::op", 20), files());
        let redacted = offers(&mut traces, ArtifactsQuery { is_redacted: true });
        assert!(redacted.iter().all(|offer| offer.is_redacted));
        assert_eq!(redacted.len(), 2);
        for (about, path) in [
            (About::Target, "perf_report_csvs/ops_summary.csv"),
            (About::Comparison, "comparative_analysis_fair.md"),
        ] {
            let (_, bytes) = traces
                .artifact(&ArtifactQuery::new(about, Some(path), true))
                .unwrap();
            let text = String::from_utf8(bytes).unwrap();
            assert!(text.contains("op_1") && !text.contains("acme"), "{text}");
            let plain = ArtifactQuery::new(about, Some(path), false);
            let (_, bytes) = traces.artifact(&plain).unwrap();
            assert!(String::from_utf8(bytes).unwrap().contains("acme"));
        }
        // The names of files also tell what they are about.
        let plain = offers(&mut traces, PLAIN);
        let paths = |offer: &Offer| format!("{offer:?}");
        assert!(
            paths(&plain[0]).contains("only_variant_new") || paths(&plain[0]).contains("_new.csv")
        );
        assert!(!paths(&redacted[0]).contains("_new.csv"));
    }

    #[test]
    fn tables_of_the_comparison_and_of_the_target_are_distinguished() {
        let mut traces = Traces::new(open("my::op", 30));
        traces.compare_with(open("my::op", 20), files());
        let query = |sheet: &str, column: &str| RowsQuery {
            sheet: sheet.to_owned(),
            columns: vec![column.to_owned()],
            count: 10,
            ..RowsQuery::default()
        };
        let page = traces.rows(&query(sheet::OPERATIONS, column::DIFFERENCE));
        assert_eq!(page.rows[0].cells[0].text, "10.0 µs");
        let page = traces.rows(&query("ops_summary", "name"));
        assert_eq!(page.rows[0].cells[0].text, "my::op");
    }
}
