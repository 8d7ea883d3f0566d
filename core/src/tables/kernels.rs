//! The rows of kernels: those of the kernel sheet, with streams combined.

use super::Value;
use super::hash::fnv;
use crate::base::format;
use crate::profile::Profile;
use crate::report::Report;
use crate::report::sheet::Cell;

pub(super) fn rows(profile: &Profile, report: &Report) -> Vec<Vec<Value>> {
    let strings = &profile.trace.strings;
    let rows = report.kernel_totals(profile).into_iter().map(|of| {
        let kernel = strings.get(of.name);
        let op = of.parent.map(|op| strings.get(op));
        let [category, _, library] = of.label.map(|cell| match cell {
            Cell::Text(text) => Value::Str(text),
            _ => Value::Null,
        });
        let known = of.range_ns.is_some();
        let mean_ns = (of.sum_ns as f64 / of.count.max(1) as f64).round() as i64;
        vec![
            Value::U64(fnv(&[kernel, op.unwrap_or_default()])),
            kernel.into(),
            short(kernel).into(),
            op.into(),
            category,
            library,
            of.count.into(),
            known.then_some(of.sum_ns).into(),
            known.then_some(mean_ns).into(),
            of.range_ns.map(|(min, _)| min).into(),
            of.range_ns.map(|(_, max)| max).into(),
        ]
    });
    rows.collect()
}

/// A kernel's name without uninformative namespaces, parameters and template arguments.
fn short(kernel: &str) -> String {
    let name = format::kernel_name(kernel);
    let mut short = String::with_capacity(name.len());
    let mut depth = 0_usize;
    for letter in name.chars() {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            letter if depth == 0 => short.push(letter),
            _ => {}
        }
    }
    match short.trim() {
        "" => name,
        short => short.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn template_arguments_are_cut() {
        let cases = [
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >(int)",
                "vectorized_elementwise_kernel",
            ),
            ("ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nn"),
            ("<unknown>", "<unknown>"),
            ("", ""),
        ];
        for (kernel, expected) in cases {
            assert_eq!(short(kernel), expected);
        }
    }
}
