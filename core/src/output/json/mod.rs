//! Files for programs: their keys, each with its meaning, type and value in one place.
//!
//! `record!` makes of each row a field of a struct that implements `Serialize`, its value, and a
//! row of `docs/json.md`.

pub mod comparison;
mod doc;
pub mod findings;
pub mod report;
pub mod shared;

pub use doc::json_markdown;

/// A record and its keys, for the page: name, meaning, keys with their meanings.
pub(crate) type Schema = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

/// Records of a file: what each is made from, and its keys with meaning, type and value.
macro_rules! record {
    ($(
        #[doc = $about:literal]
        $name:ident($($arg:ident: $of:ty),*) {
            $(#[doc = $doc:literal] $(#[$serde:meta])? $key:ident: $type:ty = $value:expr,)+
        }
    )+) => {
        $(
            #[doc = $about]
            #[derive(Debug, Clone, serde::Serialize)]
            pub struct $name {
                $(#[doc = $doc] $(#[$serde])? pub $key: $type,)+
            }

            impl $name {
                pub(crate) fn new($($arg: $of),*) -> $name {
                    $name { $($key: $value,)+ }
                }
            }
        )+

        /// The records of this file, the outermost first.
        pub(crate) const SCHEMA: &[crate::output::json::Schema] = &[
            $((stringify!($name), $about, &[$((stringify!($key), $doc)),+])),+
        ];
    };
}
pub(crate) use record;

/// A record as a value; its keys are in alphabetical order.
pub(crate) fn value(record: impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(record).unwrap_or_default()
}
