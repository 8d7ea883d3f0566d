//! Words of the command line as values.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use dormer_core::base::interval::Interval;
use dormer_core::findings::Priority;
use dormer_core::hardware::{self, Basis, GpuSpec};
use dormer_core::output::export::{self, Source};
use dormer_core::perf::model_config::{self, ModelConfig};
use dormer_core::perf::user::{self, UserModels};

/// The name for all formats together.
pub(crate) const ALL_FORMATS: &str = "all";
/// The name for the findings of one trace.
pub(crate) const FINDINGS: &str = "findings";
/// The name for one archive of the other requested formats.
pub(crate) const ZIP: &str = "zip";

/// What `--format` takes: the exporters' names.
pub(super) fn formats_of<S: Source>() -> PossibleValuesParser {
    let exporters = S::exporters().into_iter();
    let kinds = exporters.map(|kind| PossibleValue::new(kind.format).help(kind.title));
    let all = PossibleValue::new(ALL_FORMATS).help("Everything");
    let zip = PossibleValue::new(ZIP).help("The other formats, or everything, as one archive");
    PossibleValuesParser::new([all].into_iter().chain(kinds).chain([zip]))
}

/// The tables of a trace, which are no exporter of the core: it links no Parquet.
pub(crate) const PARQUET: &str = "parquet";

/// The page with the traces in it, which is no exporter of the core either: it has no page.
pub(crate) const PAGE: &str = "page";

/// The formats about one trace or two, and the page with them in it.
pub(super) fn formats_with_page<S: Source>() -> PossibleValuesParser {
    let page = PossibleValue::new(PAGE)
        .help("The page as one file, with report and trace in it; not included in `all`");
    with(formats_of::<S>(), page)
}

/// The formats of a report, and the tables.
pub(super) fn formats_of_report() -> PossibleValuesParser {
    let formats = formats_with_page::<export::Input>();
    if cfg!(not(feature = "parquet")) {
        return formats;
    }
    let parquet = PossibleValue::new(PARQUET)
        .help("The tables of `dormer tables` as Parquet files; not included in `all`");
    with(formats, parquet)
}

fn with(formats: PossibleValuesParser, more: PossibleValue) -> PossibleValuesParser {
    let known = formats.possible_values().into_iter().flatten();
    PossibleValuesParser::new(known.chain([more]))
}

/// What `--fail-on` takes.
const PRIORITIES: [(&str, Priority); 4] = [
    ("critical", Priority::Critical),
    ("high", Priority::High),
    ("medium", Priority::Medium),
    ("low", Priority::Low),
];

pub(super) fn priorities() -> impl TypedValueParser<Value = Priority> {
    PossibleValuesParser::new(PRIORITIES.map(|(name, _)| name)).map(|name| {
        let found = PRIORITIES.into_iter().find(|(known, _)| name == *known);
        found.map_or(Priority::Low, |(_, priority)| priority)
    })
}

/// What `--basis` takes.
pub(super) fn bases() -> impl TypedValueParser<Value = Basis> {
    let names = [
        PossibleValue::new(Basis::Achievable.label()).help("Rates measured with tuned libraries"),
        PossibleValue::new(Basis::Peak.label()).help("Rates from the vendor's data sheet"),
    ];
    PossibleValuesParser::new(names).map(|name| match name == Basis::Peak.label() {
        true => Basis::Peak,
        false => Basis::Achievable,
    })
}

/// A GPU of the table, or of a file: one that is there, or whatever looks like one.
pub(super) fn gpu_of(argument: &str) -> Result<Arc<GpuSpec>, String> {
    let path = Path::new(argument);
    let is_file = path
        .extension()
        .is_some_and(|extension| extension == "json")
        || path.components().count() > 1
        || (hardware::find(argument).is_none() && path.is_file());
    if !is_file {
        return gpu_by_name(argument).map(Arc::from);
    }
    let text = small_file(path, hardware::MAX_FILE_BYTES)?;
    let spec = hardware::parse(&text).map_err(|error| error.to_string())?;
    Ok(Arc::new(spec))
}

/// A number above zero.
pub(super) fn positive(argument: &str) -> Result<f64, String> {
    let number = argument.trim().parse().ok();
    let number = number.filter(|number: &f64| *number > 0.0 && number.is_finite());
    number.ok_or_else(|| "expected a number above zero".to_owned())
}

/// Two times with a comma between them, after the first event of the trace.
pub(super) fn window_of(argument: &str) -> Result<Interval, String> {
    let times: Vec<&str> = argument.split(',').collect();
    let expected = || "expected two times in microseconds, START_US,END_US".to_owned();
    let [start, end] = times.as_slice().try_into().map_err(|_| expected())?;
    let ns = |text: &str| {
        let us: f64 = text.trim().parse().ok()?;
        // Longer than any trace, and exact in nanoseconds.
        const MOST_US: f64 = 1e12;
        (0.0..=MOST_US)
            .contains(&us)
            .then(|| (us * 1e3).round() as i64)
    };
    let (start_ns, end_ns) = ns(start).zip(ns(end)).ok_or_else(expected)?;
    match start_ns < end_ns {
        true => Ok(Interval::new(start_ns, end_ns)),
        false => Err("the window ends before it starts".to_owned()),
    }
}

/// One window for both, or two with a comma between them.
pub(super) fn windows_of(argument: &str) -> Result<[Interval; 2], String> {
    let (reference, target) = match argument.match_indices(',').nth(1) {
        Some((at, comma)) => (&argument[..at], &argument[at + comma.len()..]),
        None => (argument, argument),
    };
    Ok([window_of(reference)?, window_of(target)?])
}

/// One step or GPU for both, or two with a comma between them; an empty one is the whole trace.
pub(super) fn sides_of(argument: &str) -> Result<[Option<String>; 2], String> {
    let sides = argument.split_once(',').unwrap_or((argument, argument));
    let side = |text: &str| Some(text.trim().to_owned()).filter(|side| !side.is_empty());
    Ok([side(sides.0), side(sides.1)])
}

/// Two names with a comma between them.
pub(super) fn names_of(argument: &str) -> Result<[String; 2], String> {
    let names: Vec<&str> = argument.split(',').map(str::trim).collect();
    match names.as_slice() {
        ["", _] | [_, ""] => Err("a name is missing".to_owned()),
        [reference, target] if reference == target => Err("the two names are equal".to_owned()),
        [reference, target] => Ok([reference, target].map(|name| (*name).to_owned())),
        _ => Err("expected two names, REF,TARGET".to_owned()),
    }
}

/// The configuration of a model.
pub(super) fn model_of(argument: &str) -> Result<Arc<ModelConfig>, String> {
    let text = small_file(Path::new(argument), model_config::MAX_FILE_BYTES)?;
    let config = model_config::parse(&text).map_err(|error| error.to_string())?;
    Ok(Arc::new(config))
}

/// Models that a user wrote.
pub(super) fn models_of(argument: &str) -> Result<Arc<UserModels>, String> {
    let text = small_file(Path::new(argument), user::MAX_FILE_BYTES)?;
    let models = UserModels::parse(&text).map_err(|error| error.to_string())?;
    Ok(Arc::new(models))
}

/// The text of a file, no more of it than tells that it is too long: it may be a trace, given by
/// mistake.
fn small_file(path: &Path, most_bytes: usize) -> Result<String, String> {
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(most_bytes as u64 + 1).read_to_string(&mut text))
        .map_err(|error| format!("cannot read it: {}", crate::reason(&error)))?;
    Ok(text)
}

/// Looks a GPU up; the error names the closest ones, as clap does for its own values.
fn gpu_by_name(name: &str) -> Result<&'static GpuSpec, String> {
    if let Some(spec) = hardware::find(name) {
        return Ok(spec);
    }
    let mut close: Vec<&str> = hardware::GPUS
        .iter()
        .map(|spec| &*spec.id)
        .filter(|known| is_close(name, known))
        .collect();
    // A part of a name is meant more often than a typing error.
    let name = name.to_lowercase();
    close.sort_by_key(|known| !known.to_lowercase().contains(&name));
    Err(match close.as_slice() {
        [] => "no such GPU; `dormer gpus` lists them".to_owned(),
        names => format!("no such GPU; close names: {}", names.join(", ")),
    })
}

/// Names that differ by a typing error, or of which one is part of the other.
fn is_close(name: &str, known: &str) -> bool {
    let (name, known) = (name.to_lowercase(), known.to_lowercase());
    let is_part = known.contains(&name) || name.contains(&known);
    !name.is_empty() && (is_part || strsim::jaro_winkler(&name, &known) > 0.8)
}

/// A time that can be a limit.
pub(super) fn microseconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(us) if us.is_finite() && us > 0.0 => Ok(us),
        _ => Err("not a number of microseconds above 0".to_owned()),
    }
}
