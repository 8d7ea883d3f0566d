//! `--format page`: the page as one file, with the traces, the report and the view embedded.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use dormer_core::base::format;
use dormer_core::hardware::{self, Basis, GpuSpec};
use dormer_core::output::embedded::{self, BLOCK_BYTES, BLOCK_END, Parts, View};
use dormer_core::output::markup::{Document, html};
use dormer_core::output::{archive, kineto};
use dormer_core::profile::Profile;
use flate2::Compression;
use flate2::write::GzEncoder;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::args::AnalysisArgs;
use crate::stdout::Out;
use crate::{Failure, input, page};

/// The content of the file.
pub(crate) struct Embedded<'a> {
    /// The traces; of two, the reference first.
    pub(crate) traces: &'a [Embed<'a>],
    /// Shown if no script runs.
    pub(crate) report: Document,
    pub(crate) view: View,
    pub(crate) is_redacted: bool,
}

/// A trace to embed in the page.
pub(crate) struct Embed<'a> {
    pub(crate) path: &'a Path,
    pub(crate) profile: &'a Profile,
    /// Its name if names are replaced.
    pub(crate) redacted_name: &'static str,
}

impl Embedded<'_> {
    /// Writes the file into a folder and prints its path.
    pub(crate) fn write(&self, folder: &Path, out: &mut Out) -> Result<(), Failure> {
        let template = page::html(Compression::best())?;
        let parts = Parts::new(&html::part(&self.report), &self.view, self.is_redacted);
        let text = parts.page(&template);
        let text =
            text.ok_or_else(|| Failure::Sentence(format!("{} is not a Dormer page", page::FILE)))?;
        let files = self.traces.iter().map(|trace| trace.file(self.is_redacted));
        let files = files.collect::<Result<Vec<(String, Vec<u8>)>, Failure>>()?;
        let name = match self.is_redacted {
            true => embedded::file_name(archive::REDACTED),
            false => embedded::file_name(files.iter().map(|(name, _)| name.as_str())),
        };
        let place = folder.join(name);
        let failed = |error: io::Error| {
            Failure::of_file(&format!("cannot write {}", place.display()), &error)
        };
        fs::create_dir_all(folder).map_err(failed)?;
        let mut file = BufWriter::new(File::create(&place).map_err(failed)?);
        file.write_all(text.as_bytes()).map_err(failed)?;
        for (name, bytes) in &files {
            write_blocks(&mut file, name, bytes, BLOCK_BYTES).map_err(failed)?;
        }
        file.flush().map_err(failed)?;
        let size = fs::metadata(&place).map_err(failed)?.len();
        writeln!(
            out,
            "\nWrote {} ({}).",
            place.display(),
            format::bytes(size)
        )?;
        Ok(())
    }
}

impl Embed<'_> {
    /// Its name and compressed bytes: as recorded, or rewritten if names are replaced or if it is not a file of its
    /// own.
    fn file(&self, is_redacted: bool) -> Result<(String, Vec<u8>), Failure> {
        let name = input::name(self.path);
        let recorded = match is_redacted {
            true => None,
            false => input::recorded(self.path)?,
        };
        let Some(recorded) = recorded else {
            let bytes = kineto::gzipped(&self.profile.trace)
                .ok_or_else(|| Failure::Sentence(format!("{name}: cannot be written again")))?;
            // `ARCHIVE:FOLDER/NAME` becomes NAME.
            let own = name.rsplit(['/', ':']).next().unwrap_or(&name);
            let own = own.trim_end_matches(".gz").trim_end_matches(".json");
            let own = match is_redacted {
                true => self.redacted_name.to_owned(),
                false => format!("{own}.json.gz"),
            };
            return Ok((own, bytes));
        };
        let bytes = fs::read(&recorded).map_err(|error| Failure::of_file(&name, &error))?;
        let own = recorded.file_name().unwrap_or(recorded.as_os_str());
        let own = own.to_string_lossy().into_owned();
        if bytes
            .trim_ascii_start()
            .first()
            .is_some_and(|byte| !b"{[".contains(byte))
        {
            return Ok((own, bytes));
        }
        // It is uncompressed text.
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let packed = encoder.write_all(&bytes).and_then(|()| encoder.finish());
        let packed = packed.map_err(|error| Failure::of_file(&name, &error))?;
        Ok((format!("{own}.gz"), packed))
    }
}

/// Writes a trace as blocks of this many bytes each.
fn write_blocks(
    file: &mut impl Write,
    name: &str,
    bytes: &[u8],
    block_bytes: usize,
) -> io::Result<()> {
    for (at, part) in bytes.chunks(block_bytes).enumerate() {
        file.write_all(embedded::block_start(name, at > 0).as_bytes())?;
        let mut encoder = EncoderWriter::new(&mut *file, &STANDARD);
        encoder.write_all(part)?;
        encoder.finish()?;
        drop(encoder);
        file.write_all(BLOCK_END.as_bytes())?;
    }
    Ok(())
}

/// Rejects options that the page does not support; called before any trace is read.
pub(crate) fn check(args: &AnalysisArgs, gpus: [Option<&Arc<GpuSpec>>; 2]) -> Result<(), Failure> {
    let chosen = gpus.into_iter().flatten();
    let is_own =
        |gpu: &&Arc<GpuSpec>| hardware::find(&gpu.name).is_none_or(|of_table| *of_table != ***gpu);
    let own = chosen.filter(is_own).count();
    let what = match (own, &args.perf_models) {
        (0, None) => return Ok(()),
        (0, Some(_)) => "--perf-models",
        _ => "figures of your own with --gpu",
    };
    Err(not_taken(what))
}

/// The page only has the traces; with additional input, it would differ from the report.
pub(crate) fn not_taken(what: &str) -> Failure {
    Failure::Usage(format!(
        "--format page cannot include {what}; add it on the page after opening it"
    ))
}

/// Where the page opens: a view, with the same GPU, part of the trace and thresholds as the report.
pub(crate) fn view(
    slug: &str,
    args: &AnalysisArgs,
    gpus: [Option<&Arc<GpuSpec>>; 2],
    part: Option<(&str, String)>,
) -> View {
    let [reference, gpu] = gpus.map(|gpu| gpu.map(|gpu| gpu.name.to_string()));
    let pairs = [
        gpu.map(|name| ("gpu", name)),
        reference.map(|name| ("reference", name)),
        part,
        (args.basis == Basis::Peak).then(|| ("basis", "peak".to_owned())),
        args.all_gpu_events.then(|| ("events", "all".to_owned())),
        args.micro_idle
            .map(|us| ("t.micro_idle_us", us.to_string())),
    ];
    let pairs = pairs.into_iter().flatten();
    let pair = |(key, value): (&str, String)| {
        format!("{key}={}", utf8_percent_encode(&value, NON_ALPHANUMERIC))
    };
    let pairs: Vec<String> = pairs.map(pair).collect();
    let mark = if pairs.is_empty() { "" } else { "?" };
    View {
        hash: format!("#/{slug}{mark}{}", pairs.join("&")),
        ..View::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_trace_goes_on_in_other_blocks() {
        let mut file = Vec::new();
        write_blocks(&mut file, "a.gz", b"12345", 3).unwrap();
        let text = String::from_utf8(file).unwrap();
        let blocks: Vec<&str> = text.lines().collect();
        assert_eq!(blocks.len(), 2, "{text}");
        assert!(
            blocks[0].contains("data-name=\"a.gz\">MTIz</script>"),
            "{text}"
        );
        assert!(
            blocks[1].contains("data-name=\"a.gz\" data-goes-on>NDU=</script>"),
            "{text}"
        );
    }
}
