//! An open trace, and what the page can ask about it.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use dormer_core::assess::Thresholds;
use dormer_core::hardware::{self, Basis, GPUS, GpuSpec};
use dormer_core::import::{ImportError, Imported};
use dormer_core::output::documents::Documents as _;
use dormer_core::output::export;
use dormer_core::output::markup::Document;
use dormer_core::perf::UserModels;
use dormer_core::perf::model_config::ModelConfig;
use dormer_core::profile::graphs::capture::{CaptureFile, has_bare_replays};
use dormer_core::profile::graphs::shapes::ShapeSources;
use dormer_core::profile::window::Window;
use dormer_core::report::details::{DetailsSubject, OpDetails};
use dormer_core::report::sheet::Field;
use dormer_core::report::{self, SheetEvents};
use dormer_core::{Profile, Report, ReportOptions, base::format};

use super::families::Families;
use super::rows::Rows;
use super::table::Table;
use super::timeline::{Open, Timeline, TimelineSource};
use super::tree::TreeView;
use super::window::Steps;
use super::{overview, rows};
use crate::protocol::{
    CaptureFacts, Choice, DetailsQuery, DocumentQuery, Failure, Opened, Overview, RowsPage,
    RowsQuery,
};

/// An open trace.
pub struct Analysis {
    pub(super) whole: Profile,
    /// The part of the trace that the user chose, if not all of it; everything except the timeline shows only that
    /// part.
    pub(super) part: Option<Profile>,
    pub(super) chosen: Option<Window>,
    pub(super) steps: Steps,
    pub(super) report: Report,
    /// The report on the whole trace, for its tables, if its steps are analyzed by default.
    of_tables: OnceCell<Report>,
    pub(super) detected: Option<&'static GpuSpec>,
    /// Of the whole trace, so that a name has the same color in all its parts.
    pub(super) families: Families,
    pub(super) rows: Rows,
    pub(super) tree: TreeView,
    /// Built when the view is first opened.
    pub(super) timeline: Option<Open>,
    /// It replays graphs without a merged capture.
    wants_captures: bool,
}

impl Analysis {
    /// Analyzes a profile with the user's choice.
    pub fn new(profile: Profile, choice: &Choice) -> Analysis {
        Analysis::with_preview(profile, choice, None)
    }

    /// The same; first reports what can be shown before the GPU's figures are applied.
    pub(super) fn with_preview(
        profile: Profile,
        choice: &Choice,
        on_preview: Option<&mut dyn FnMut(Opened)>,
    ) -> Analysis {
        let detected = hardware::detect(&profile.trace.devices);
        let options = options(choice, detected);
        let steps = Steps::new(&profile);
        let chosen = steps.requested(choice);
        let part = chosen.as_ref().and_then(|window| part(&profile, window));
        let analyzed = part.as_ref().unwrap_or(&profile);
        let first = |of: &Profile| report::Overview::first(of, &options);
        if let Some(on_preview) = on_preview.filter(|_| analyzed.has_gpu_events()) {
            let first = first(analyzed);
            let window = steps.facts(chosen.as_ref(), first.window.as_ref());
            let overview = overview::without_findings(analyzed, &first, window);
            on_preview(opened(&profile, detected, &steps, overview));
        }
        let report = Report::new(analyzed, &options);
        let of_whole = part.is_some().then(|| first(&profile));
        let largest = &of_whole.as_ref().unwrap_or(&report.overview).operations;
        let families = Families::new(&profile, largest);
        Analysis {
            tree: TreeView::new(analyzed, &families),
            families,
            rows: Rows::default(),
            timeline: None,
            wants_captures: has_bare_replays(&profile.trace, &profile.launches),
            steps,
            part,
            whole: profile,
            chosen,
            report,
            of_tables: OnceCell::new(),
            detected,
        }
    }

    /// What is analyzed: the whole trace, or the part that the user chose.
    pub(super) fn analyzed(&self) -> &Profile {
        self.part.as_ref().unwrap_or(&self.whole)
    }

    /// What the page shows first. The worker fills in `wasm_bytes`.
    pub fn opened(&self) -> Opened {
        opened(&self.whole, self.detected, &self.steps, self.overview())
    }

    /// Analyzes the trace with another choice, which may select a part of it.
    pub fn choose(&mut self, choice: &Choice) -> Overview {
        let requested = self.steps.requested(choice);
        self.analyze(options(choice, self.detected), requested);
        self.overview()
    }

    /// Analyzes this trace as the reference of another one: if that one shows a step, the step of the same name here,
    /// if there is one; otherwise the whole trace. Without a choice, keeps the previous settings.
    pub(super) fn choose_as_reference_of(&mut self, other: &Analysis, choice: Option<&Choice>) {
        let step = other.chosen.as_ref().filter(|_| other.part.is_some());
        let requested = match step == other.steps.usual.as_ref() {
            true => self.steps.usual.clone(),
            false => step.and_then(|step| other.steps.same_step(step, &self.steps)),
        };
        match choice {
            Some(choice) => self.analyze(options(choice, self.detected), requested),
            None if requested == self.chosen => {}
            None => self.analyze(self.report.options.clone(), requested),
        }
    }

    fn analyze(&mut self, options: ReportOptions, requested: Option<Window>) {
        if requested != self.chosen {
            let window = requested.as_ref();
            self.part = window.and_then(|window| part(&self.whole, window));
            self.chosen = requested;
            self.tree = TreeView::new(self.analyzed(), &self.families);
        }
        self.report = Report::new(self.analyzed(), &options);
        self.of_tables = OnceCell::new();
        self.rows = Rows::default();
        if let Some(timeline) = &mut self.timeline {
            timeline.forget_gaps();
        }
    }

    /// A window of a table's rows.
    pub fn rows(&mut self, query: &RowsQuery) -> RowsPage {
        let profile = self.part.as_ref().unwrap_or(&self.whole);
        let sheet = self.report.sheet(profile, &query.sheet);
        let table = sheet.map(|sheet| Table::new(sheet, &self.families, profile, &self.report));
        self.rows.page(table.as_ref(), query)
    }

    /// All fields of one row of a table.
    pub fn row(&self, sheet: &str, row: usize) -> Vec<Field> {
        let table = self.table(sheet);
        table.map_or_else(Vec::new, |table| rows::fields(&table, row))
    }

    /// A sheet as shown; `None` if the report has no such sheet.
    pub(super) fn table(&self, sheet: &str) -> Option<Table<'_>> {
        let sheet = self.report.sheet(self.analyzed(), sheet)?;
        Some(Table::new(
            sheet,
            &self.families,
            self.analyzed(),
            &self.report,
        ))
    }

    /// The details of a row of a table, or of an event; `None` if there is no such row or event, or if the table's rows
    /// do not run on the GPU.
    pub fn details(&self, query: &DetailsQuery) -> Option<OpDetails> {
        let (profile, report) = (self.analyzed(), &self.report);
        let events = &profile.trace.events;
        let subject = match query {
            DetailsQuery::Row { sheet, row } => {
                DetailsSubject::of_row(profile, report, sheet, *row as usize)?
            }
            DetailsQuery::Event(uid) => DetailsSubject::of_event(profile, events.by_uid(*uid)?),
        };
        let mut details = OpDetails::new(profile, report, subject)?;
        if let Some((sheet, row)) = &details.row {
            details.fields = self.row(sheet, *row as usize);
        }
        Some(details)
    }

    /// The call tree, and the profile it needs to answer.
    pub fn tree(&mut self) -> (&mut TreeView, &Profile) {
        let profile = self.part.as_ref().unwrap_or(&self.whole);
        (&mut self.tree, profile)
    }

    /// The timeline; `None` for a trace without events.
    pub fn timeline(&mut self) -> Option<Timeline<'_>> {
        let source = TimelineSource {
            profile: &self.whole,
            analyzed: self.part.as_ref().unwrap_or(&self.whole),
            report: &self.report,
            families: &self.families,
        };
        Timeline::of(&mut self.timeline, source)
    }

    /// A document.
    pub fn document(&self, query: DocumentQuery) -> Document {
        match query {
            DocumentQuery::Report => self.files().fair(),
            DocumentQuery::Notes => self.files().rough(),
        }
    }

    /// The input of the files about this trace.
    pub fn files(&self) -> export::Input<'_> {
        let files = export::Input::new(self.analyzed(), &self.report);
        let is_usual = self.part.is_some() && self.chosen == self.steps.usual;
        match is_usual {
            true => {
                let report = || Report::new(&self.whole, &self.report.options);
                files.with_tables_of(&self.whole, self.of_tables.get_or_init(report))
            }
            false => files,
        }
    }

    pub(super) fn overview(&self) -> Overview {
        let of_window = self.report.overview.window.as_ref();
        let window = self.steps.facts(self.chosen.as_ref(), of_window);
        let mut overview = overview::overview(self.analyzed(), &self.report, window);
        overview.captures = self.captures();
        overview
    }

    /// The merged captures, and whether more can be merged.
    pub(super) fn captures(&self) -> CaptureFacts {
        let merged = self.whole.coverage.iter().flat_map(|of| of.merged_files());
        CaptureFacts {
            merged: merged.map(|(name, says)| (name.to_owned(), says)).collect(),
            model: self.whole.sources.config.as_ref().map(|of| of.name.clone()),
            is_wanted: self.wants_captures,
        }
    }

    /// Merges captures; otherwise says why nothing is merged, and leaves everything unchanged.
    pub(super) fn merge(&mut self, files: &[CaptureFile], choice: &Choice) -> Result<(), String> {
        let merging = self.whole.merging(files);
        let coverage = merging.coverage();
        if merging.is_empty() {
            return Err(coverage.refusal(self.whole.coverage.as_deref()));
        }
        self.replace(choice, |whole| whole.and_captures(files, merging));
        Ok(())
    }

    /// Removes all captures, and merges these.
    pub(super) fn merge_only(&mut self, files: &[CaptureFile], choice: &Choice) {
        self.replace(choice, |whole| {
            let whole = whole.without_captures()?;
            let merging = whole.merging(files);
            match merging.is_empty() {
                true => Ok(whole),
                false => whole.and_captures(files, merging),
            }
        });
    }

    /// Sets the model's sizes, from which shapes missing in captures are derived; `None` removes them.
    pub(super) fn configure(&mut self, config: Option<&Arc<ModelConfig>>, choice: &Choice) {
        self.replace(choice, |whole| Ok(configured(whole, config)));
    }

    /// Rebuilds everything with another profile of the trace.
    fn replace(
        &mut self,
        choice: &Choice,
        change: impl FnOnce(Profile) -> Result<Profile, Box<Profile>>,
    ) {
        let nothing = Analysis::new(Profile::new(Imported::default()), &Choice::default());
        // By then, nothing else shares the trace.
        let Analysis { whole, .. } = std::mem::replace(self, nothing);
        let whole = change(whole).unwrap_or_else(|whole| *whole);
        *self = Analysis::new(whole, choice);
    }
}

/// A part of the trace; `None` for a window that contains everything.
fn part(whole: &Profile, window: &Window) -> Option<Profile> {
    Some(whole.window(window)).filter(|part| part.window.is_some())
}

fn opened(
    whole: &Profile,
    detected: Option<&GpuSpec>,
    steps: &Steps,
    overview: Overview,
) -> Opened {
    let unlinked = whole.launches.n_unlinked();
    let n_launches = whole.launches.launches.len();
    Opened {
        file_name: String::new(),
        rank: whole.trace.rank(),
        is_capture: !whole.has_gpu_events() && CaptureFile::is_capture(&whole.trace),
        reference: None,
        rejected: Vec::new(),
        events: format::count(whole.trace.n_events_read),
        gpus: gpus(whole),
        detected: detected.map(|gpu| gpu.name.to_string()),
        unlinked: (unlinked > 0 && n_launches > 0).then(|| format::count(unlinked)),
        has_gpu_events: whole.has_gpu_events(),
        steps: steps.lines(),
        gpus_alone: steps.gpu_lines(),
        overview,
        wasm_bytes: 0.0,
    }
}

/// The GPUs to choose from, first those on which the trace may have been recorded.
fn gpus(whole: &Profile) -> Vec<String> {
    let candidates = hardware::candidates(&whole.trace.devices);
    let others = GPUS.iter().filter(|gpu| !candidates.contains(gpu));
    let all = candidates.iter().copied().chain(others);
    all.map(|gpu| gpu.name.to_string()).collect()
}

/// The profile with the model's sizes, or without them.
pub(super) fn configured(profile: Profile, config: Option<&Arc<ModelConfig>>) -> Profile {
    let mut sources: ShapeSources = profile.sources.clone();
    sources.config = config.cloned();
    profile.with_sources(sources)
}

/// Says why a file cannot be analyzed.
pub(super) fn failure(error: &ImportError) -> Failure {
    Failure {
        sentence: error.kind.to_string(),
        at_byte: error.offset.map(format::count),
    }
}

fn options(choice: &Choice, detected: Option<&'static GpuSpec>) -> ReportOptions {
    let models = choice.perf_models.as_deref();
    let models = models.and_then(|text| UserModels::parse(text).ok());
    let own = choice.profile.as_deref();
    let own = own
        .and_then(|text| hardware::parse(text).ok())
        .map(Arc::new);
    ReportOptions {
        gpu: own.or_else(|| {
            let named = choice.gpu.as_deref().and_then(hardware::find);
            named.or(detected).map(Arc::from)
        }),
        basis: match choice.peak {
            true => Basis::Peak,
            false => Basis::Achievable,
        },
        sheet_events: match choice.all_gpu_events {
            true => SheetEvents::All,
            false => SheetEvents::Attributed,
        },
        thresholds: thresholds(&choice.thresholds),
        perf_models: models.map(Arc::new),
    }
}

/// The default thresholds, except those that were chosen. Unknown names are ignored: links outlive versions.
fn thresholds(chosen: &BTreeMap<String, f64>) -> Thresholds {
    let mut thresholds = Thresholds::default();
    for threshold in Thresholds::ALL {
        if let Some(value) = chosen.get(threshold.key) {
            (threshold.set)(&mut thresholds, *value);
        }
    }
    thresholds
}

#[cfg(test)]
mod tests {
    use dormer_core::testing::Timetable;

    use super::*;

    #[test]
    fn chosen_thresholds_are_those_of_the_report() {
        let chosen = [("gemm_skinny_ratio", 7.0), ("no_such_line", 1.0)];
        let chosen = chosen.map(|(key, value)| (key.to_owned(), value));
        let expected = Thresholds {
            gemm_skinny_ratio: 7.0,
            ..Thresholds::default()
        };
        assert_eq!(thresholds(&BTreeMap::from(chosen)), expected);
    }

    #[test]
    fn the_split_and_the_operations_are_reported_before_the_findings() {
        let profile = Timetable::new()
            .work("aten::mm", "gemm", 100..130)
            .profile();
        let mut previews = Vec::new();
        let mut on_preview = |opened: Opened| previews.push(opened);
        let analysis = Analysis::with_preview(profile, &Choice::default(), Some(&mut on_preview));
        let [mut first] = <[Opened; 1]>::try_from(previews).unwrap();
        let whole = analysis.opened();
        assert!(first.overview.findings.is_none());
        assert!(!first.overview.split.is_empty() && !first.overview.top.is_empty());
        // Nothing else remains to be computed for this trace.
        first.overview.findings.clone_from(&whole.overview.findings);
        assert_eq!(first, whole);
    }

    #[test]
    fn of_a_chosen_part_its_own_split_is_reported_before() {
        let trace =
            Timetable::new()
                .work("aten::mm", "gemm", 100..130)
                .work("aten::add", "add", 300..310);
        let choice = Choice {
            window: Some((0, 150_000)),
            ..Choice::default()
        };
        let mut previews = Vec::new();
        let mut on_preview = |opened: Opened| previews.push(opened.overview);
        let analysis = Analysis::with_preview(trace.profile(), &choice, Some(&mut on_preview));
        let whole = analysis.overview();
        let [first] = previews.as_slice() else {
            panic!("{previews:?}")
        };
        assert!(whole.window.is_some());
        assert_eq!((&first.window, &first.split), (&whole.window, &whole.split));
        assert_eq!(first.top, whole.top);
    }

    #[test]
    fn nothing_is_reported_before_where_nothing_ran_on_the_gpu() {
        let trace = Timetable::new().op("aten::mm", 0..10);
        let mut n_previews = 0;
        let mut on_preview = |_: Opened| n_previews += 1;
        Analysis::with_preview(trace.profile(), &Choice::default(), Some(&mut on_preview));
        assert_eq!(n_previews, 0);
    }

    #[test]
    fn details_are_of_rows_and_of_events_with_every_figure_of_the_row() {
        // The call, the launching call and its arrow, and the kernel: events 0 to 3.
        let profile = Timetable::new()
            .work("aten::mm", "gemm", 100..130)
            .profile();
        let analysis = Analysis::new(profile, &Choice::default());
        let row = |row| DetailsQuery::Row {
            sheet: crate::worker::columns::OPERATIONS.to_owned(),
            row,
        };
        let operation = analysis.details(&row(0)).unwrap();
        let mut fields = operation.fields.iter();
        assert!(fields.any(|field| field.label == "Operation count" && field.value == "1"));
        for uid in [0, 1, 3] {
            let details = analysis.details(&DetailsQuery::Event(uid));
            assert_eq!(details.as_ref(), Some(&operation));
        }
        assert!(analysis.details(&row(9)).is_none());
        assert!(analysis.details(&DetailsQuery::Event(99)).is_none());
    }
}
