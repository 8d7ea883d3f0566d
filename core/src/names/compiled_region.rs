//! Operators that mark a call of compiled code.

/// The prefix of the operator around a call of compiled code, which its numbers follow: "Torch-Compiled Region: 3/0".
pub(crate) const COMPILED_REGION: &str = "Torch-Compiled Region";

/// Whether an operator only marks a compiled region: inside it the thread runs the Python code that the compiler
/// generated around its kernels.
pub(crate) fn is_compiled_region(name: &str) -> bool {
    name.starts_with(COMPILED_REGION) || name.starts_with("## Call CompiledFxGraph")
}
