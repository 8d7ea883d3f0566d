//! `dormer tree`, and the commands that need no trace.

use super::{Folder, TRACE};

#[test]
fn the_gpus_are_listed() {
    let said = Folder::with("trace.json", TRACE).run("gpus").done();
    let line = said
        .lines()
        .find(|line| line.starts_with("MI300X"))
        .unwrap();
    assert!(
        line.contains("AMD Instinct MI300X") && line.contains("5.30 TB/s"),
        "{line}"
    );
}

#[test]
fn the_tree_of_an_event() {
    let folder = Folder::with("trace.json", TRACE);
    let tree = |uid: &str| folder.run(&format!("tree trace.json --uid {uid}")).done();
    // Its callers and callees.
    assert_eq!(
        tree("2"),
        "\
aten::addmm: CPU op on thread 1 of python (1)

uid  CPU time  GPU time  GPU events     call
  1   90.0 µs   60.0 µs           1     aten::linear
  2   80.0 µs   60.0 µs           1  →    aten::addmm
  3   20.0 µs   60.0 µs           1         cudaLaunchKernel
  4             60.0 µs                       sgemm_128x64
"
    );
    // A kernel is below the call that launched it.
    assert_eq!(
        tree("4"),
        "\
sgemm_128x64: kernel on thread 7 of process 0

uid  CPU time  GPU time  GPU events     call
  1   90.0 µs   60.0 µs           1     aten::linear
  2   80.0 µs   60.0 µs           1       aten::addmm
  3   20.0 µs   60.0 µs           1         cudaLaunchKernel
  4             60.0 µs              →        sgemm_128x64
"
    );
}

#[test]
fn calls_and_kernels_are_found_by_name() {
    let folder = Folder::with("trace.json", TRACE);
    let find = |name: &str| folder.run(&format!("tree trace.json --find {name}")).done();
    assert_eq!(
        find("MM"),
        "\
Below aten::linear:

first uid  calls  CPU time  GPU time  path
        2      1   80.0 µs   60.0 µs  aten::addmm
        4      1             60.0 µs  aten::addmm > cudaLaunchKernel > sgemm_128x64
"
    );
}

#[test]
fn shells_get_completions() {
    let folder = Folder::with("trace.json", TRACE);
    for (shell, expected) in [
        ("bash", "complete -F _dormer"),
        ("zsh", "#compdef dormer"),
        ("fish", "complete -c dormer"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let script = folder.run(&format!("completions {shell}")).done();
        assert!(script.contains(expected), "{shell}");
        assert!(script.contains("fail-on"), "{shell}");
    }
}
