//! Python loops that do in many small operations what one large one could.

pub(super) mod experts;
pub(super) mod steps;
