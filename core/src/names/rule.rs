//! Rules that classify a name, and the search through a table of rules.

use super::words::Lowered;

use Pattern::{Holds, PythonName, Starts};

/// Where a pattern must occur. Patterns are lowercase, and so are the names they are matched with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pattern {
    /// Anywhere in the name.
    Holds(&'static str),
    /// At the start of the name.
    Starts(&'static str),
    /// The whole name is an identifier with one leading underscore. C++ names are mangled (`_Z…`) or show their
    /// arguments, and handwritten assembly starts with a letter, so such names are functions compiled from Python.
    PythonName,
}

impl Pattern {
    /// Whether a name matches.
    fn fits(self, name: &Lowered) -> bool {
        match self {
            Holds(text) => name.holds(text),
            Starts(text) => name.text().starts_with(text),
            PythonName => {
                let name = name.text();
                let is_private = name.starts_with('_') && !name.starts_with("__");
                is_private
                    && !name.starts_with("_z")
                    && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            }
        }
    }
}

/// One rule: names that match the pattern are of this kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule<T> {
    pub(super) pattern: Pattern,
    pub(super) kind: T,
    /// A name from a trace, which is the rule's test.
    #[cfg_attr(not(test), expect(dead_code, reason = "the test of the rule"))]
    pub(super) example: &'static str,
}

/// A row of a table of rules.
pub(super) const fn rule<T: Copy>(pattern: Pattern, kind: T, example: &'static str) -> Rule<T> {
    Rule {
        pattern,
        kind,
        example,
    }
}

/// The kind given by the first matching rule.
pub(super) fn first_match<T: Copy>(rules: &[Rule<T>], name: &str) -> Option<T> {
    let name = Lowered::new(name);
    rules
        .iter()
        .find(|rule| rule.pattern.fits(&name))
        .map(|rule| rule.kind)
}

/// Panics unless every rule decides its own example: a rule that is always shadowed by an earlier one would be dead
/// code.
#[cfg(test)]
pub(super) fn assert_each_decides_its_example<T>(rules: &[Rule<T>]) {
    for (row, rule) in rules.iter().enumerate() {
        let name = Lowered::new(rule.example);
        let first = rules.iter().position(|rule| rule.pattern.fits(&name));
        assert_eq!(first, Some(row), "rule of {}", rule.example);
        if let Holds(text) | Starts(text) = rule.pattern {
            assert_eq!(text, text.to_ascii_lowercase(), "patterns are lower case");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_compiled_from_python_are_told_by_their_names() {
        for (name, expected) in [
            ("_fwd_grouped_kernel_stage1", true),
            ("_matmul_ogs_NNT_bf16xbf16xmxfp4_128x256x128x1_swiglu", true),
            ("_ZN5aiter24add_rmsnorm_quant_kernelIDF16bEEv", false),
            ("__amd_rocclr_copyBuffer", false),
            ("Cijk_Alik_Bljk_BBS_BH", false),
            ("_kernel<float>(int)", false),
            ("attn_fwd", false),
            ("", false),
        ] {
            assert_eq!(PythonName.fits(&Lowered::new(name)), expected, "{name}");
        }
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let rules = [
            rule(Starts("sm80_"), 1, "sm80_gemm"),
            rule(Holds("gemm"), 2, "my_gemm"),
        ];
        assert_eq!(first_match(&rules, "SM80_GEMM"), Some(1));
        assert_eq!(first_match(&rules, "an_SM80_gemm"), Some(2));
        assert_eq!(first_match(&rules, "conv"), None);
        assert_each_decides_its_example(&rules);
    }
}
