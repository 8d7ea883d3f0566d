//! A rule that reads a name, and the search through a table of them.

use super::words::Lowered;

use Pattern::{Holds, PythonName, Starts};

/// Where a pattern must stand. Patterns are lower case, and so is what they are asked of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pattern {
    /// Anywhere in the name.
    Holds(&'static str),
    /// At the start of the name.
    Starts(&'static str),
    /// The whole name is an identifier with one leading underscore. C++ mangles its names (`_Z…`)
    /// or shows their arguments, and hand-written assembly starts with a letter: what is left are
    /// functions that Python compiled.
    PythonName,
}

impl Pattern {
    /// True for a name that fits.
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

/// One rule: names that fit the pattern are of this kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule<T> {
    pub(super) pattern: Pattern,
    pub(super) kind: T,
    /// A name as traces have it. It is the rule's test.
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

/// What the first rule that fits says.
pub(super) fn first_match<T: Copy>(rules: &[Rule<T>], name: &str) -> Option<T> {
    let name = Lowered::new(name);
    rules
        .iter()
        .find(|rule| rule.pattern.fits(&name))
        .map(|rule| rule.kind)
}

/// Panics unless every rule decides its own example: a rule that another one always overtakes
/// would be dead text.
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
