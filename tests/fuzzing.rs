//! The fuzz targets, which need a fuzzing engine and another compiler to run. Their shared code is built here, so that
//! it stays in sync with the core crate, and is tested on their seeds.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use dormer_core::import::import;

#[path = "../fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "a crate of its own elsewhere")]
mod fuzz;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fuzz")
}

/// Names in a folder, without their endings.
fn names(of: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder().join(of)).unwrap();
    let name = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    entries.map(|entry| name(entry.unwrap().path())).collect()
}

#[test]
fn every_target_is_listed_and_has_seeds() {
    let listed = fs::read_to_string(folder().join("Cargo.toml")).unwrap();
    let listed = listed.lines().filter_map(|line| {
        let path = line.strip_prefix("path = \"fuzz_targets/")?;
        path.strip_suffix(".rs\"").map(str::to_owned)
    });
    let targets = names("fuzz_targets");
    assert_eq!(listed.collect::<BTreeSet<_>>(), targets);
    assert_eq!(names("seeds"), targets);
}

/// Seeds without content would not help.
#[test]
fn seeds_are_traces_and_survive() {
    for target in names("seeds") {
        for seed in fs::read_dir(folder().join("seeds").join(&target)).unwrap() {
            let path = seed.unwrap().path();
            let seed = fs::read(&path).unwrap();
            let [first, _, rest @ ..] = &*seed else {
                panic!("{}", path.display())
            };
            let file: fn(&[u8]) -> Vec<u8> = match &*target {
                "pftrace" => fuzz::files::pftrace,
                "xplane" => fuzz::files::xplane,
                "rocprof" => fuzz::files::rocprof,
                "tar" => fuzz::files::tar,
                _ => <[u8]>::to_vec,
            };
            let bytes = match &*target {
                "wire" => {
                    fuzz::is_walked(&seed);
                    fuzz::files::records(*first, rest)
                }
                "report" => {
                    fuzz::is_reported(&seed);
                    fuzz::files::any(*first, rest)
                }
                _ => {
                    fuzz::is_read(&seed, file);
                    file(rest)
                }
            };
            let trace = import(&bytes).unwrap().trace;
            let n_rows = trace.events.len() + trace.memory.len();
            assert!(n_rows > 0, "{}", path.display());
        }
    }
}
