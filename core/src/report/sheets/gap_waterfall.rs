//! Sheet `gap_waterfall`: from the roofline time of each operation to its measured time, by cause.

use super::{Parts, SheetInput, call_key};
use crate::assess::Input;
use crate::assess::waterfall::{Cause, Waterfall};
use crate::base::format;
use crate::report::columns::{float, int, us};
use crate::report::sheet::{Cell, Column, Unit, column};

#[rustfmt::skip]
const COLUMNS: [Column; Cause::ALL.len() + 5] = [
    column("operation_count", Unit::Count, "Calls."),
    column("Roofline (µs)", Unit::Us, "The least time of all calls."),
    column("Slower units (µs)", Unit::Us, "It runs on units that are slower than others that take its type."),
    column("Tile padding (µs)", Unit::Us, "Tiles reach beyond the result."),
    column("Wave quantization (µs)", Unit::Us, "The last wave of workgroups does not fill the GPU."),
    column("Padded dimension (µs)", Unit::Us, "A dimension is computed as the next larger one that the kernel is built for."),
    column("Operands read again (µs)", Unit::Us, "A second kernel reads the operands of a norm's gradient again."),
    column("Bandwidth at this size (µs)", Unit::Us, "No other operation of this trace moves so few bytes any faster."),
    column("Helper kernels (µs)", Unit::Us, "Kernels beside the one that does the work, as measured."),
    column("Warm-up (µs)", Unit::Us, "What the first call takes beyond the median, where it is by far the longest."),
    column("Spread of calls (µs)", Unit::Us, "What the other calls take beyond the median, where they differ."),
    column("Launch scale (µs)", Unit::Us, "About 2 µs of each kernel below 10 µs."),
    column("Unexplained (µs)", Unit::Us, "The rest."),
    column("Measured (µs)", Unit::Us, "The kernel time of all calls: the sum of the columns before it."),
    column("Pct Roofline", Unit::Percent, "The least time over the kernel time, of all calls together."),
    column("Causes", Unit::Text, "The sizes that the steps follow from, and causes of unknown size."),
];

pub(super) fn columns(parts: &Parts) -> Vec<Column> {
    [call_key::columns(parts), COLUMNS.to_vec()].concat()
}

pub(super) fn rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let profile = input.profile;
    let analyzed = Input {
        profile,
        options: input.options,
        timelines: input.timelines,
        evaluations: input.evaluations,
    };
    let operations = analyzed.operations().filter_map(|(at, operation, _)| {
        let waterfall = Waterfall::of(&analyzed, at)?;
        let mut cells = call_key::cells(profile, &operation.key);
        cells.push(int(operation.calls.len()));
        cells.push(us(waterfall.roofline_ns));
        cells.extend(Cause::ALL.iter().map(|cause| us(waterfall.ns(*cause))));
        cells.push(us(waterfall.measured_ns));
        cells.push(float(waterfall.roofline_percent()));
        // A cell for programs, too.
        let causes = format::ungrouped(&waterfall.causes().join("; "));
        cells.push(Cell::Text(causes));
        Some(cells)
    });
    operations.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report;
    use crate::testing::{Timetable, options_on};

    #[test]
    fn sizes_in_causes_are_read_by_programs() {
        let args = r#""Input Dims": [[2050, 4096], [4096, 2048]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;
        let trace = Timetable::new().call(
            "aten::mm",
            args,
            "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
            0..900,
        );
        let profile = trace.profile();
        let report = Report::new(&profile, &options_on("H100"));
        let sheet = report.sheet(&profile, "gap_waterfall").unwrap();
        let Some(Cell::Text(causes)) = sheet.rows[0].last() else {
            panic!("{:?}", sheet.rows);
        };
        assert!(causes.contains("2050×2048 in tiles"), "{causes}");
    }
}
