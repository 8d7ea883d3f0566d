//! The row of a file.

use super::status::damage;
use super::{Analyzed, Failed, SCHEMA_VERSION, Source, Status, TOOL_VERSION, Value};
use crate::hardware::Unit;
use crate::import::warning::{WarningKind, Warnings};
use crate::job::Digest;
use crate::job::digest::RankFrom;
use crate::profile::Profile;
use crate::report::Report;

/// The row of a trace.
pub(super) fn row(source: &Source, of: &Analyzed, digest: &Digest) -> Vec<Value> {
    let Analyzed {
        recorded,
        profile,
        report,
        ..
    } = of;
    let damage = damage(&profile.warnings);
    let status = match damage {
        Some(_) => Status::Partial,
        None => Status::Ok,
    };
    let identity = &recorded.identity;
    // The file name is known before redaction.
    let rank = match (identity.rank_from, digest.identity.rank_from) {
        (RankFrom::Metadata, _) | (_, RankFrom::FileName | RankFrom::Unknown) => identity.rank,
        _ => digest.identity.rank,
    };
    let gpus = match profile.has_gpu_events() {
        true => i32::try_from(report.timelines.gpus.len().max(1)).ok(),
        false => None,
    };
    let time = report.sheet_timeline(profile);
    let unattributed = report.timelines.whole.map(|whole| {
        let busy_ns = time.map_or(0, |time| time.busy_ns);
        whole.busy_ns.saturating_sub(busy_ns).max(0)
    });
    let model = profile.model_info();
    let mut row = file(source);
    row.splice(
        2..5,
        [
            status.label().into(),
            damage
                .map(|(_, warning)| warning.sentence().into_owned())
                .into(),
            damage.map(|(kind, _)| kind.label()).into(),
        ],
    );
    row.extend([
        text(&identity.trace_id),
        text(&identity.host),
        rank.into(),
        identity.world_size.into(),
        recorded.job_id(digest).into(),
        text(&digest.identity.device),
        report.options.gpu.as_ref().map(|gpu| &*gpu.id).into(),
        gpus.into(),
        recorded.pytorch.clone().into(),
        recorded.cuda.clone().into(),
        recorded.rocm.clone().into(),
        recorded.start_ns.into(),
        recorded.span.map(|span| span.length()).into(),
        Value::U64(profile.trace.n_events_read),
        Value::U64(dropped(&profile.warnings)),
        time.map(|time| time.total_ns()).into(),
        time.map(|time| time.busy_ns).into(),
        time.map(|time| time.computation_ns).into(),
        time.map(|time| time.exposed_comm_ns).into(),
        time.map(|time| time.exposed_memcpy_ns).into(),
        time.map(|time| time.idle_ns).into(),
        unattributed.into(),
        flops(profile, report).into(),
        matrix_efficiency(profile, report).into(),
        model.model.value.clone().into(),
        model.architecture.value.clone().into(),
        model.precision.value.clone().into(),
    ]);
    row.extend(choices(source));
    row
}

/// The row of a file that could not be read as a trace.
pub(super) fn failed(source: &Source, failed: &Failed) -> Vec<Value> {
    /// Number of columns that need a trace.
    const OF_TRACES: usize = 27;
    let mut row = file(source);
    row.splice(
        2..5,
        [
            failed.status.label().into(),
            failed.reason.clone().into(),
            failed.kind.label().into(),
        ],
    );
    row.extend([const { Value::Null }; OF_TRACES]);
    row.extend(choices(source));
    row
}

/// The cells known for any file; status and reasons are filled in later.
fn file(source: &Source) -> Vec<Value> {
    vec![
        TOOL_VERSION.into(),
        SCHEMA_VERSION.into(),
        Value::Null,
        Value::Null,
        Value::Null,
        source.uri.clone().into(),
        source.file_bytes.into(),
        source.sha256.clone().into(),
        source.modified_ns.into(),
        source.analysis_ns.into(),
    ]
}

fn choices(source: &Source) -> [Value; 2] {
    [
        source.options_hash.clone().into(),
        source.tags.clone().into(),
    ]
}

/// Empty text is unknown.
fn text(text: &str) -> Value {
    match text {
        "" => Value::Null,
        text => text.into(),
    }
}

fn dropped(warnings: &Warnings) -> u64 {
    const KINDS: [WarningKind; 4] = [
        WarningKind::UnreadableEvent,
        WarningKind::MissingTime,
        WarningKind::ImpossibleStart,
        WarningKind::TooManyEvents,
    ];
    KINDS.iter().map(|kind| warnings.count(*kind)).sum()
}

/// FLOPs of all operations that have a model; `None` if none has.
fn flops(profile: &Profile, report: &Report) -> Option<f64> {
    let work = report.operations(profile);
    let work =
        work.filter_map(|(of, evaluation)| Some(evaluation.work?.flops * of.n_calls() as f64));
    work.reduce(|all, one| all + one)
}

fn matrix_efficiency(profile: &Profile, report: &Report) -> Option<f64> {
    let (mut weighted, mut all_us) = (0.0, 0.0);
    for (operation, evaluation) in report.operations(profile) {
        let compute = evaluation.work.and_then(|work| work.compute);
        let is_matrix = compute.is_some_and(|compute| compute.unit == Unit::Matrix);
        let percent = evaluation
            .achieved
            .and_then(|achieved| achieved.compute_percent);
        let Some(percent) = percent.filter(|_| is_matrix && !evaluation.is_anomaly) else {
            continue;
        };
        let us: f64 = operation.times_us.iter().sum();
        weighted += percent * us;
        all_us += us;
    }
    (all_us > 0.0).then(|| weighted / all_us)
}
