//! The module that a call is made in, which TraceLens's inference report groups by.

use crate::base::format::without_number;
use crate::names::MODULE;
use crate::profile::Profile;
use crate::report::python;
use crate::report::sheet::{Column, Unit, column};
use crate::trace::EventId;

#[rustfmt::skip]
pub(super) const PARENT: Column =
    column("parent_module", Unit::Text, "The class of the innermost module around the call; NA outside modules. Only with captures.");

/// The value under [`PARENT`] outside modules.
pub(super) const NONE: &str = "NA";

/// The modules around a call, innermost first, as recorded.
fn around(profile: &Profile, call: EventId) -> impl Iterator<Item = &str> {
    let calls = profile.full_tree().calls_around(call);
    let names = calls.map(|call| profile.trace.name(call));
    names.filter(|name| name.starts_with(MODULE))
}

/// The innermost module around a call, by class.
pub fn parent(profile: &Profile, call: EventId) -> Option<&str> {
    around(profile, call).next().map(without_number)
}

/// A call and the modules around it, innermost first, as a list in Python syntax.
pub(super) fn stack(profile: &Profile, call: EventId) -> String {
    let name = profile.trace.name(call);
    python::list([name].into_iter().chain(around(profile, call)))
}
