//! Traces that are not Kineto's JSON: what is read of them, and what damage does to it.

mod damage;
mod perfetto;
mod reference;
mod xplane;
