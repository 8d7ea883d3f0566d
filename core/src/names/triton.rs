//! Kernels that `torch.compile` generates: the prefix of a name gives the kind of loop.

use crate::base::labels::labeled;

labeled! {
    /// The kind of loop in a generated kernel.
    pub(crate) enum LoopKind {
        /// Each element separately.
        Pointwise => "pointwise",
        /// A reduction that loops over blocks of a row.
        Reduction => "reduction",
        /// A reduction that keeps a whole row on chip.
        Persistent => "persistent reduction",
        /// A GEMM or attention from a template.
        Template => "template",
        Other => "other",
    }
}

const STARTS: &[(&str, LoopKind)] = &[
    ("triton_poi_", LoopKind::Pointwise),
    ("triton_for_", LoopKind::Pointwise),
    ("triton_red_", LoopKind::Reduction),
    ("triton_spl_", LoopKind::Reduction),
    ("triton_per_", LoopKind::Persistent),
    ("triton_tem_", LoopKind::Template),
    ("triton_mm", LoopKind::Template),
    ("triton_flex_", LoopKind::Template),
];

impl LoopKind {
    /// From the name of a kernel.
    pub(crate) fn of(name: &str) -> LoopKind {
        let start = STARTS.iter().find(|(start, _)| name.starts_with(start));
        start.map_or(LoopKind::Other, |(_, kind)| *kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_loop() {
        let cases = [
            ("triton_poi_fused_add_0", LoopKind::Pointwise),
            ("triton_red_fused_mean_1", LoopKind::Reduction),
            ("triton_per_fused_sum_2", LoopKind::Persistent),
            ("triton_tem_fused_mm_3", LoopKind::Template),
            ("triton_flex_attention", LoopKind::Template),
            ("triton_helper", LoopKind::Other),
        ];
        for (name, kind) in cases {
            assert_eq!(LoopKind::of(name), kind, "{name}");
        }
    }
}
