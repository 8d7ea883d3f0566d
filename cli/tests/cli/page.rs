//! `--format page`.

use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;

use super::{Folder, GPUS, Said, TRACE, gzip, job};

/// A minimal page for these tests.
const PAGE: &str = "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"></head><body><main id=\"boot\">\n</main></body></html>\n";

/// A folder with a trace and a built page.
fn with_page(name: &str, trace: impl AsRef<[u8]>) -> Folder {
    let folder = Folder::with(name, trace);
    std::fs::create_dir(folder.0.path().join("dist")).unwrap();
    folder.add("dist/index.html", "");
    folder.add("dist/dormer.html", PAGE);
    folder
}

impl Folder {
    /// Runs `dormer` with that folder's page.
    fn run_with_page(&self, arguments: &str) -> Said {
        self.run_in(arguments, b"", &[("DORMER_PAGE", Path::new("dist"))])
    }
}

/// The contents of a page's blocks that are traces, with their names.
fn traces(page: &str) -> Vec<(String, String)> {
    let blocks = page
        .split("class=\"trace\" data-codec=\"none\" data-name=\"")
        .skip(1);
    let trace = |block: &str| {
        let (name, rest) = block.split_once("\">").unwrap();
        let (data, _) = rest.split_once("</script>").unwrap();
        let mut text = String::new();
        let bytes = STANDARD.decode(data).unwrap();
        GzDecoder::new(bytes.as_slice())
            .read_to_string(&mut text)
            .unwrap();
        (name.to_owned(), text)
    };
    blocks.map(trace).collect()
}

#[test]
fn the_page_shows_the_gpu_that_is_analyzed_alone() {
    let folder = with_page("own.json", GPUS);
    folder
        .run_with_page("report own.json --format page --device 5 -o out")
        .done();
    let page = folder.read("out/dormer-own.html");
    assert!(page.contains("\"hash\":\"#/?device=5\""), "{page}");
}

#[test]
fn the_page_holds_the_trace_as_recorded_the_report_and_the_view() {
    for (name, bytes) in [
        ("own.json", TRACE.as_bytes().to_vec()),
        ("own.json.gz", gzip(TRACE)),
    ] {
        let folder = with_page(name, bytes);
        let said = folder
            .run_with_page(&format!(
                "report {name} --format page --gpu H100 --basis peak -o out"
            ))
            .done();
        assert!(said.contains("dormer-own.html"), "{said}");
        assert!(!folder.has("out/report.html"));
        let page = folder.read("out/dormer-own.html");
        assert_eq!(
            traces(&page),
            [("own.json.gz".to_owned(), TRACE.to_owned())]
        );
        let (first, _) = page.split_once('\n').unwrap();
        assert!(
            first.starts_with("<!--") && first.contains("as it was recorded"),
            "{first}"
        );
        // Browsers search no farther for it.
        assert!(page.find("<meta charset").unwrap() < 1024);
        let report = page.split_once("</main>").unwrap().0;
        assert!(
            report.contains("aten::addmm") && report.contains("<h1"),
            "{report}"
        );
        assert!(page.contains("\"hash\":\"#/?gpu=NVIDIA%20H100"), "{page}");
        assert!(page.contains("&basis=peak\""), "{page}");
    }
}

#[test]
fn a_page_without_names_has_none_in_it() {
    let trace = TRACE
        .replace("aten::linear", "acme::secret")
        .replace("sgemm_128x64", "acme_kernel");
    let folder = with_page("acme.json", trace);
    folder
        .run_with_page("report acme.json --redact --format page -o out")
        .done();
    let page = folder.read("out/dormer-redacted.html");
    assert!(!page.contains("acme"), "{page}");
    assert!(page.contains("without the names"), "{page}");
    let all = traces(&page);
    let [(name, text)] = all.as_slice() else {
        panic!("one trace: {page}");
    };
    assert_eq!(name, "redacted.json.gz");
    assert!(!text.contains("acme") && text.contains("op_1"), "{text}");
    folder.add("again.json", text);
    let [a, b] = ["acme.json --redact", "again.json"]
        .map(|trace| folder.run(&format!("report {trace} --format json")).done());
    assert_eq!(a, b);
}

#[test]
fn a_page_of_two_traces_has_the_reference_first() {
    let folder = with_page("new.json", TRACE);
    folder.add("old.json", TRACE);
    folder
        .run_with_page("compare --reference old.json new.json --format page -o .")
        .done();
    let page = folder.read("dormer-old-new.html");
    let names: Vec<String> = traces(&page).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["old.json.gz", "new.json.gz"]);
}

/// A trace can be specified as everywhere: the only one of a folder, or one in an archive, which is rewritten.
#[test]
fn a_trace_of_a_folder_or_an_archive_goes_into_the_page() {
    let folder = with_page("notes.txt", "recorded on Monday");
    for (rank, packed) in [(0, "one.json"), (1, "other.json")] {
        folder.add(packed, job::rank(rank, 100));
    }
    folder
        .run("job one.json other.json --perfetto ranks.tar")
        .done();
    std::fs::create_dir(folder.0.path().join("run")).unwrap();
    folder.add("run/own.json", TRACE);
    folder
        .run_with_page("report run --format page -o out")
        .done();
    assert_eq!(
        traces(&folder.read("out/dormer-own.html")),
        [("own.json.gz".to_owned(), TRACE.to_owned())]
    );
    folder
        .run_with_page("compare --reference run ranks.tar:rank00001.json --format page -o out")
        .done();
    let page = folder.read("out/dormer-own-rank00001.html");
    let [(_, own), (name, member)] = &traces(&page)[..] else {
        panic!("two traces: {page}");
    };
    assert_eq!((own.as_str(), name.as_str()), (TRACE, "rank00001.json.gz"));
    assert!(member.contains("ncclDevKernel_AllReduce"), "{member}");
}

#[test]
fn what_is_missing_or_cannot_go_along_is_said() {
    let folder = with_page("trace.json", TRACE);
    let without = folder.run_in(
        "report trace.json --format page -o .",
        b"",
        &[("DORMER_PAGE", Path::new("nowhere"))],
    );
    assert_eq!(without.code, 1);
    assert!(without.err.contains("DORMER_PAGE"), "{}", without.err);
    folder.add(
        "models.toml",
        "[[model]]\nop = \"acme::op\"\nbytes = \"in0.bytes\"\n",
    );
    for more in [
        "--perf-models models.toml",
        "--capture trace.json",
        "--execution-trace execution.json",
    ] {
        let said = folder.run_with_page(&format!("report trace.json --format page -o . {more}"));
        let (option, _) = more.split_once(' ').unwrap();
        assert_eq!(said.code, 2, "{more}");
        assert!(said.err.contains(option), "{}", said.err);
    }
}
