//! Traces in formats other than Kineto's JSON: what is read from them, and the effects of damage.

mod damage;
mod perfetto;
mod reference;
mod rocprof;
mod xplane;

/// A call and its kernel, in PyTorch's format.
pub(crate) fn small_perfetto() -> Vec<u8> {
    perfetto::launch().0.0
}

/// A convolution, in JAX's format.
pub(crate) fn small_xplane() -> Vec<u8> {
    xplane::space().0
}
