//! Traces that are not Kineto's JSON: what is read of them, and what damage does to it.

mod damage;
mod perfetto;
mod reference;
mod xplane;

/// A call and its kernel, as PyTorch writes them.
pub(crate) fn small_perfetto() -> Vec<u8> {
    perfetto::launch().0.0
}

/// A convolution, as JAX writes it.
pub(crate) fn small_xplane() -> Vec<u8> {
    xplane::space().0
}
