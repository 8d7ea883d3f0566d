//! `dormer tables`: one trace as rows of a few tables, on standard output.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use dormer_core::Profile;
use dormer_core::import::Imported;
use dormer_core::output::{archive, redact};
use dormer_core::tables::{
    Analyzed, Failed, ReasonKind, RecordingInfo, Source, Status, Tables, hidden_uri, options_hash,
    options_text,
};

use crate::args::{ReportArgs, RowArgs, TablesArgs};
use crate::fleet::store::hash_of;
use crate::input::{self, hashed};
use crate::stdout::Out;
use crate::{Failure, arrow, captures, choices, output, parallel, parquet, window};

/// Analyzes the trace and writes its tables.
pub(crate) fn run(args: &TablesArgs, out: &mut Out) -> Result<(), Failure> {
    if out.is_terminal() {
        let why = "the tables are binary; redirect standard output into a file: dormer tables TRACE > tables.zip";
        return Err(Failure::Usage(why.to_owned()));
    }
    limit_memory(args.memory_limit)?;
    end_with_parent(args.memory_limit.is_some());
    let text = options_of(&args.rows);
    let tables = analyze(args, options_hash(&text));
    let mut wanted = tables.all.iter().filter(|table| {
        args.tables.is_empty() || args.tables.iter().any(|name| name == table.kind.name)
    });
    let batch = tables
        .all
        .first()
        .and_then(|runs| runs.strs("run_id").first());
    let batch = batch.cloned().flatten().unwrap_or_default();
    let mut files = Vec::new();
    wanted.try_for_each(|table| {
        let is_of_fleet = args.memory_limit.is_some();
        let bytes = arrow::stream(table, arrow::metadata(&text, &batch), is_of_fleet);
        let bytes = bytes.map_err(|error| Failure::Sentence(error.to_string()))?;
        files.push((format!("{}.arrow", table.kind.name), bytes));
        Ok::<(), Failure>(())
    })?;
    let zip = archive::stored(&mut files.into_iter());
    out.file(&zip.ok_or_else(|| Failure::Sentence("cannot make the archive".to_owned()))?)?;
    Ok(())
}

/// The options as text.
pub(crate) fn options_of(args: &RowArgs) -> String {
    let requested = choices::requested(&args.analysis, args.gpu.as_ref());
    options_text(&requested, args.redact.redact, &[])
}

/// Where the trace lies, as given or by its path; `None` for standard input.
fn place(args: &TablesArgs) -> Option<String> {
    let is_stdin = input::is_stdin(&args.trace);
    let place = args.uri.clone();
    place.or_else(|| (!is_stdin).then(|| uri_of(&args.trace)))
}

fn analyze(args: &TablesArgs, options_hash: String) -> Tables {
    let begun = Instant::now();
    let place = place(args);
    let mut source = Source {
        modified_ns: args.modified.or_else(|| modified_ns(&args.trace)),
        tags: args.rows.tags.clone(),
        ingested_ns: args.ingested.unwrap_or_else(now_ns),
        options_hash,
        uri: place
            .as_deref()
            .map(|place| shown(place, args.rows.redact.redact)),
        ..Source::default()
    };
    #[cfg(debug_assertions)]
    hang_for_tests(place.as_deref().unwrap_or_default());
    let hashed = match hashed::read(&args.trace) {
        Ok(hashed) => hashed,
        Err(error) => {
            let metadata = std::fs::metadata(&args.trace).ok();
            source.file_bytes = metadata.map(|metadata| metadata.len());
            return Tables::of_failure(
                &source,
                &Failed {
                    status: Status::Rejected,
                    kind: ReasonKind::Io,
                    reason: format!("it cannot be read: {}", crate::reason(&error)),
                },
            );
        }
    };
    source.file_bytes = Some(hashed.bytes.n);
    source.sha256 = Some(hashed.bytes.sha256);
    let imported = match hashed.read {
        Ok(imported) => imported,
        Err(error) => {
            source.analysis_ns = Some(elapsed_ns(begun));
            return Tables::of_failure(&source, &Failed::from(&error));
        }
    };
    tables_of(args, imported, source, begun)
}

/// The tables of a trace that could be read. The rows say how long everything since `begun` took.
fn tables_of(args: &TablesArgs, imported: Imported, mut source: Source, begun: Instant) -> Tables {
    let is_redacted = args.rows.redact.redact;
    let plain = Profile::new(imported);
    let file = place(args).unwrap_or_default();
    let recorded = RecordingInfo::new(&plain.trace, &file, is_redacted);
    let whole = match is_redacted {
        true => redact::redact(&plain),
        false => plain,
    };
    let options = choices::options(&args.rows.analysis, args.rows.gpu.as_ref(), &whole);
    let report = parallel::report(&whole, &options);
    let steps = window::of_serving(&whole);
    let of_steps = steps
        .as_ref()
        .map(|steps| parallel::report(steps, &options));
    source.analysis_ns = Some(elapsed_ns(begun));
    let findings = steps.as_ref().zip(of_steps.as_ref());
    let tables = Tables::of_trace(
        &source,
        Analyzed {
            recorded: &recorded,
            profile: &whole,
            report: &report,
            findings: findings.unwrap_or((&whole, &report)),
        },
    );
    // Never freed: that would take longer than exiting, with millions of events.
    std::mem::forget((whole, report, steps, of_steps));
    tables
}

/// Writes the tables of a report, as files beside it.
pub(crate) fn write_files(
    folder: &Path,
    args: &ReportArgs,
    bytes: &hashed::Bytes,
    analyzed: Analyzed,
    out: &mut Out,
) -> Result<(), Failure> {
    let is_stdin = input::is_stdin(&args.trace);
    let is_redacted = args.redact.redact;
    let requested = choices::requested(&args.analysis, args.gpu.as_ref());
    let text = options_text(&requested, is_redacted, &more_options(args));
    let source = Source {
        uri: (!is_stdin).then(|| shown(&uri_of(&args.trace), is_redacted)),
        file_bytes: Some(bytes.n),
        modified_ns: modified_ns(&args.trace),
        ingested_ns: now_ns(),
        options_hash: options_hash(&text),
        sha256: Some(bytes.sha256.clone()),
        ..Source::default()
    };
    let tables = Tables::of_trace(&source, analyzed);
    for table in &tables.all {
        let metadata = arrow::metadata(&text, &source.run_id());
        let mut bytes = Vec::new();
        parquet::write(&mut bytes, table, &[], &metadata)
            .map_err(|error| Failure::Sentence(error.to_string()))?;
        let path = format!("tables/{}.parquet", table.kind.name);
        output::write_file(folder, &path, &bytes)?;
    }
    let there = folder.join("tables");
    writeln!(
        out,
        "\nWrote {} tables to {}.",
        tables.all.len(),
        there.display()
    )?;
    Ok(())
}

/// Options that affect the figures but that `dormer tables` does not have: a part of the trace, and the contents of
/// accompanying files.
fn more_options(args: &ReportArgs) -> Vec<(&'static str, String)> {
    let model = args.model_config.as_ref();
    let all = [
        ("capture", contents(&args.capture)),
        ("device", args.device.clone()),
        ("execution_trace", contents(&args.execution_trace)),
        (
            "model_config",
            model.map(|model| hash_of(&[format!("{model:?}")])),
        ),
        ("shapes_from", contents(&args.shapes_from)),
        ("step", args.step.clone()),
        ("whole", args.whole.then(|| "true".to_owned())),
        (
            "window_ns",
            args.window
                .map(|of| format!("{}-{}", of.start_ns, of.end_ns)),
        ),
    ];
    let all = all.into_iter();
    all.filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// A hash of the contents of files and folders; for what cannot be read, of its path.
fn contents<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Option<String> {
    let files = paths.into_iter().flat_map(|path| match path.is_dir() {
        true => captures::in_folder(path).unwrap_or_default(),
        false => vec![path.clone()],
    });
    let hashes = files.map(|file| match hashed::bytes(&file) {
        Ok(bytes) => bytes.sha256,
        Err(_) => file.to_string_lossy().into_owned(),
    });
    let hashes: Vec<String> = hashes.collect();
    (!hashes.is_empty()).then(|| hash_of(&hashes))
}

/// The URI of a file in rows: its absolute path, regardless of the working directory.
pub(crate) fn uri_of(file: &Path) -> String {
    let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    whole.to_string_lossy().into_owned()
}

/// The same if names may be replaced: paths contain many names.
pub(crate) fn shown(uri: &str, is_redacted: bool) -> String {
    match is_redacted {
        true => hidden_uri(&hash_of(&[uri.to_owned()])),
        false => uri.to_owned(),
    }
}

/// A file's modification time.
fn modified_ns(file: &Path) -> Option<i64> {
    let modified = std::fs::metadata(file).ok()?.modified().ok()?;
    Some(since_1970_ns(modified))
}

/// The current time, in nanoseconds since 1970.
pub(crate) fn now_ns() -> i64 {
    since_1970_ns(SystemTime::now())
}

/// A time of a clock, in nanoseconds since 1970.
pub(crate) fn since_1970_ns(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

fn elapsed_ns(begun: Instant) -> i64 {
    i64::try_from(begun.elapsed().as_nanos()).unwrap_or(i64::MAX)
}

/// Limits the memory that this process may allocate.
#[cfg(unix)]
fn limit_memory(mb: Option<u64>) -> Result<(), Failure> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Some(mb) = mb else {
        return Ok(());
    };
    let most = getrlimit(Resource::As).maximum;
    let bytes = mb.saturating_mul(1_000_000);
    let limit = Rlimit {
        current: Some(most.map_or(bytes, |most| most.min(bytes))),
        maximum: most,
    };
    setrlimit(Resource::As, limit)
        .map_err(|error| Failure::of_file("cannot limit the memory", &error.into()))
}

/// A child of a fleet command is useless once the parent has ended.
#[cfg(target_os = "linux")]
fn end_with_parent(is_of_fleet: bool) {
    use rustix::process::{Signal, set_parent_process_death_signal};
    if is_of_fleet {
        // If that is not supported, it ends by itself.
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
    }
}

/// On other systems, it ends by itself.
#[cfg(not(target_os = "linux"))]
fn end_with_parent(_is_of_fleet: bool) {}

/// Other systems have no such limit.
#[cfg(not(unix))]
fn limit_memory(_mb: Option<u64>) -> Result<(), Failure> {
    Ok(())
}

/// For tests: hangs on a file with this in its name.
#[cfg(debug_assertions)]
fn hang_for_tests(uri: &str) {
    let name = std::env::var("DORMER_TEST_HANG").unwrap_or_default();
    while !name.is_empty() && uri.contains(&name) {
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
}
