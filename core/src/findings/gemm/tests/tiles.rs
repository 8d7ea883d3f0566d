//! Output tiles, and how they meet the compute units.

use super::*;
use crate::import::import;
use crate::profile::Profile;
use crate::profile::gemm::GemmSizes;

#[test]
fn a_split_gemm_has_more_parts_than_output_tiles() {
    // 4 tiles of 256 × 256, each split along K.
    let dims = "[[512, 4096], [4096, 512]]";
    let split = "nvjet_hsh_256x256_64x4_1x2_h_bz_splitK_NNN";
    assert_eq!(
        patterns("aten::mm", dims, BF16, split),
        ["compute_bound_gap"]
    );
    let (_, kernel) = advice("MI300X", "aten::mm", dims, BF16, split);
    assert!(kernel.contains("split-K"), "{kernel}");
}

/// A tile of 64 × 32 on 788 × 768: 12 along N by 25 along M, for PyTorch's libraries see columns.
#[test]
fn tiles_lie_along_n_first() {
    let sizes = GemmSizes {
        batch: 1,
        m: 788,
        n: 768,
        k: 768,
        is_grouped: false,
    };
    assert_eq!(sizes.tiles((64, 32), true), 300);
    assert_eq!(sizes.tiles((64, 32), false), 13 * 24);
    // 15 rows by 16 384 columns: 64 tiles of 256 × 16 for 304 units.
    let dims = "[[15, 4096], [4096, 16384]]";
    let found = patterns(
        "aten::mm",
        dims,
        BF16,
        "Cijk_Alik_Bljk_BBS_BH_MT256x16x64_SK0",
    );
    assert_eq!(found, ["few_output_tiles"]);
}

/// Four tiles of 256 × 256. The longest kernel was launched with `grid`, of threads or of blocks.
#[test]
fn more_workgroups_than_tiles_are_a_split() {
    let launched = |call: &str, grid: &str| {
        let profile = Timetable::new()
            .without_flows()
            .op("aten::mm", 0..10)
            .args(&format!(
                r#""Input Dims": [[512, 4096], [4096, 512]], "Input type": ["{BF16}", "{BF16}"]"#
            ))
            .runtime(call, 1, 1..2)
            .kernel(1, "Cijk_Alik_Bljk_BBS_BH_MT256x256x32", 100..100_100)
            .args(&format!(r#""grid": {grid}, "block": [256, 1, 1]"#))
            .profile();
        let report = Report::new(&profile, &options_on("MI300X"));
        let ranked = &report.analyses.findings.ranked;
        ranked[0].finding.pattern
    };
    let of_blocks = "hipLaunchKernel";
    assert_eq!(launched(of_blocks, "[4, 1, 1]"), "few_output_tiles");
    assert_eq!(launched(of_blocks, "[8, 1, 1]"), "compute_bound_gap");
    let of_threads = "hipExtModuleLaunchKernel";
    assert_eq!(launched(of_threads, "[1024, 1, 1]"), "few_output_tiles");
    assert_eq!(launched(of_threads, "[2048, 1, 1]"), "compute_bound_gap");
}

/// 300 tiles for 304 compute units leave next to none without work; 144 for 132 leave a wave of 12.
#[test]
fn tiles_are_few_only_where_units_have_none() {
    let kernel = "Cijk_Alik_Bljk_BBS_BH_MT64x32x64_SK0";
    let dims = "[[788, 768], [768, 768]]";
    assert_eq!(
        patterns("aten::mm", dims, BF16, kernel),
        ["compute_bound_gap"]
    );
    let dims = "[[2176, 8192], [8192, 2048]]";
    let (model, _) = advice(
        "H100",
        "aten::mm",
        dims,
        BF16,
        "nvjet_tst_128x256_64x4_1x2_h_bz_NNN",
    );
    assert!(model.contains("12 tiles for 132 compute units"), "{model}");
}

/// The table does not know how many units a GB200 has; the trace does: 32 tiles for 152.
#[test]
fn compute_units_come_from_the_trace() {
    let pattern = |devices: &str| {
        let timetable = Timetable::new()
            .op("aten::mm", 0..10)
            .args(&format!(
                r#""Input Dims": [[1024, 8192], [8192, 1024]], "Input type": ["{BF16}", "{BF16}"]"#
            ))
            .launch(1, 1..2)
            .kernel(1, "nvjet_tst_128x256_64x4_1x2_h_bz_NNN", 100..60_100);
        let device = format!(r#"{{"deviceProperties": {devices}, "#);
        let json = timetable.json().replacen('{', &device, 1);
        let profile = Profile::new(import(json.as_bytes()).unwrap());
        let report = Report::new(&profile, &options_on("GB200"));
        report.analyses.findings.ranked[0].finding.pattern
    };
    let device = r#"[{"id": 0, "name": "NVIDIA GB200", "numSms": 152}]"#;
    assert_eq!(pattern(device), "few_output_tiles");
    // Another GPU's units say nothing of this one.
    let device = device.replace("GB200", "B200");
    assert_eq!(pattern(&device), "compute_bound_gap");
}
