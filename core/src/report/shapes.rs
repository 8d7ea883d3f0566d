//! Shapes and types of an operation's tensors, in one line.

use crate::base::format;
use crate::names::Family;
use crate::profile::Profile;
use crate::profile::operations::Operation;
use crate::profile::operations::kinds::gemm::GemmSizes;
use crate::trace::{ArgsTable, Dims, OpArgs, StringTable, Trace};

/// Separator between two tensors.
const NEXT: &str = " · ";
/// Marks calls made while activations are recomputed.
const RECOMPUTED: &str = "\u{21bb} recomputed";
/// Maximum number of tensors shown; parameter lists are longer.
const SHOWN: usize = 6;

/// `96×3137×64 · 64×3137 bf16`: tensors in argument order, the type once if all have the same. `scalar int64` if no
/// tensor has a dimension; empty without tensors.
pub fn shapes(profile: &Profile, operation: &Operation) -> String {
    let trace = &profile.trace;
    if let Some(estimate) = &operation.estimate {
        return format!("{}: {}", estimate.role.label(), estimate.sizes());
    }
    let args = operation.args(profile);
    let line = args.map(|args| shapes_of(trace, args)).unwrap_or_default();
    // The same call occurs twice then, once for the first pass.
    match (operation.key.is_recompute, line.is_empty()) {
        (false, _) => line,
        (true, true) => RECOMPUTED.to_owned(),
        (true, false) => format!("{line}{NEXT}{RECOMPUTED}"),
    }
}

/// `M×N×K` of a GEMM, `16 of 8×64×8` for several in one call; `None` if it is not a GEMM or its sizes are unknown.
pub fn gemm_sizes(profile: &Profile, operation: &Operation) -> Option<String> {
    let is_gemm = operation.family == Family::Gemm;
    let sizes = is_gemm.then(|| GemmSizes::of(profile, operation))?;
    sizes.map(GemmSizes::text)
}

/// The same for the arguments of one call.
pub fn shapes_of(trace: &Trace, args: &OpArgs) -> String {
    line(args, &trace.args, &trace.strings)
}

fn line(args: &OpArgs, table: &ArgsTable, strings: &StringTable) -> String {
    let dims = args.dims.as_deref().unwrap_or_default();
    let types = args.types.as_deref().unwrap_or_default();
    let mut tensors: Vec<(String, Option<&str>)> = Vec::new();
    let mut n_tensors = 0;
    let mut scalar = None;
    for (position, dims) in dims.iter().enumerate() {
        let dtype = types.get(position).map(|id| strings.get(*id));
        for sizes in dims.shapes().iter().map(|id| table.shape(*id)) {
            if sizes.is_empty() {
                let dtype = dtype.filter(|_| matches!(dims, Dims::One(_)));
                scalar = scalar.or(dtype.and_then(format::dtype));
                continue;
            }
            n_tensors += 1;
            if n_tensors <= SHOWN {
                tensors.push((format::shape(sizes), dtype.and_then(format::dtype)));
            }
        }
    }
    if let Some(dtype) = scalar.filter(|_| tensors.is_empty()) {
        return format!("scalar {dtype}");
    }
    let first = tensors.first().and_then(|(_, dtype)| *dtype);
    let one_type = tensors.iter().all(|(_, dtype)| *dtype == first);
    let mut texts: Vec<String> = tensors
        .into_iter()
        .map(|(shape, dtype)| match dtype.filter(|_| !one_type) {
            Some(dtype) => format!("{shape} {dtype}"),
            None => shape,
        })
        .collect();
    if n_tensors > SHOWN {
        texts.push(format!("{} more", n_tensors - SHOWN));
    }
    let mut line = texts.join(NEXT);
    if let Some(dtype) = first.filter(|_| one_type) {
        line.push(' ');
        line.push_str(dtype);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(dims: &str, types: &[&str], expected: &str) {
        let (mut table, mut strings) = (ArgsTable::default(), StringTable::default());
        let args = OpArgs {
            dims: table.parse_dims(dims),
            types: Some(types.iter().map(|text| strings.intern(text)).collect()),
            ..OpArgs::default()
        };
        assert_eq!(line(&args, &table, &strings), expected);
    }

    #[test]
    fn tensors_stand_in_the_order_of_the_arguments() {
        let bf16 = "c10::BFloat16";
        check(
            "[[96, 64], [], [64, 32]]",
            &[bf16, "Scalar", bf16],
            "96×64 · 64×32 bf16",
        );
        check("[[8, 3], [8]]", &[bf16, "long int"], "8×3 bf16 · 8 int64");
        check("[[], [5]]", &["Scalar", "odd"], "5");
        check("[[], []]", &["Scalar", ""], "");
        check("[[], []]", &["long int", "Scalar"], "scalar int64");
        check(
            "[[[1], [2], [3], [4], [5], [6], [7], [8]]]",
            &["TensorList"],
            "1 · 2 · 3 · 4 · 5 · 6 · 2 more",
        );
    }
}
