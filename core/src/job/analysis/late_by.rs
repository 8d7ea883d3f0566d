//! What a CPU does while its launches are late.

use serde::{Serialize, Serializer};

use crate::base::format;
use crate::names::cpu_activity::CpuActivity;

/// What covers most of the time in which launches are late.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum LateBy {
    Activity(CpuActivity),
    /// Other code: a Python function, an operator, a runtime call.
    Code(String),
}

impl LateBy {
    /// Reads the text of a digest; `None` if it is empty because nothing covers most of that time.
    pub(crate) fn of(text: &str) -> Option<LateBy> {
        let mut known = CpuActivity::ALL.into_iter();
        let known = known.find(|activity| activity.label() == text);
        let code = || (!text.is_empty()).then(|| LateBy::Code(text.to_owned()));
        known.map(LateBy::Activity).or_else(code)
    }

    /// "Garbage collection", "validate (eval.py:30)".
    pub(crate) fn label(&self) -> &str {
        match self {
            LateBy::Activity(activity) => activity.label(),
            LateBy::Code(code) => code,
        }
    }

    /// The same in a sentence: "garbage collection", "`validate (eval.py:30)`".
    pub(crate) fn in_sentence(&self) -> String {
        match self {
            LateBy::Activity(activity) => format::in_sentence(activity.label()),
            LateBy::Code(code) => format!("`{}`", format::middle_ellipsis(code, 40)),
        }
    }
}

impl Serialize for LateBy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.label())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activities_are_told_from_code() {
        for (text, expected) in [
            ("Garbage collection", Some("garbage collection")),
            ("GPU synchronization", Some("GPU synchronization")),
            ("validate (eval.py:30)", Some("`validate (eval.py:30)`")),
            ("", None),
        ] {
            let by = LateBy::of(text);
            assert_eq!(by.as_ref().map_or("", LateBy::label), text);
            let said = by.map(|by| by.in_sentence());
            assert_eq!(said.as_deref(), expected);
        }
    }
}
