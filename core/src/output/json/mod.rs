//! JSON files for programs: their keys, each with meaning, type and value in one place.
//!
//! `record!` turns each row into a key with its value, and into a row of `docs/json.md`.

pub mod comparison;
mod doc;
pub mod findings;
pub mod job;
pub(crate) mod regressions;
pub mod report;
pub mod shared;

pub use doc::json_markdown;

use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::base::format;
use crate::base::value::rounded;

/// A record and its keys, for the page: name, meaning, keys with their meanings.
pub(crate) type Schema = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

/// Defines the records of a file: the source of each, and its keys with meaning and value. `..` adds the keys of
/// another record.
macro_rules! record {
    ($(
        #[doc = $about:literal]
        $name:ident($($arg:ident: $of:ty),*) {
            $($key:ident: $doc:literal = $value:expr,)+
            $(..$other:ident($($from:expr),+),)?
        }
    )+) => {
        $(
            #[doc = $about]
            pub(crate) struct $name;

            impl $name {
                pub(crate) fn of($($arg: $of),*) -> serde_json::Value {
                    let own = &mut [$((stringify!($key), $crate::output::json::value(&$value))),+];
                    let keys = $crate::output::json::keys(own);
                    $(let keys = $crate::output::json::with_keys_of(keys, $other::of($($from),+));)?
                    serde_json::Value::Object(keys)
                }
            }
        )+

        /// Records of this file, the outermost first.
        pub(crate) const SCHEMA: &[$crate::output::json::Schema] = &[
            $((stringify!($name), $about, &[
                $((stringify!($key), $doc),)+
                $(("…", concat!("The keys of ", stringify!($other), ".")),)?
            ])),+
        ];
    };
}
pub(crate) use record;

/// A record as a value; its keys are in alphabetical order.
pub(crate) fn value(record: impl Serialize) -> Json {
    serde_json::to_value(record).unwrap_or_default()
}

/// A value as the text of a file, indented; numbers in its sentences have no thousands separators.
pub(crate) fn pretty(json: &Json) -> Vec<u8> {
    format::ungrouped(&serde_json::to_string_pretty(json).unwrap_or_default()).into_bytes()
}

/// A map of values by their keys. Not generic: compiled once.
pub(crate) fn keys(all: &mut [(&str, Json)]) -> Map<String, Json> {
    let mut keys = Map::new();
    for (key, value) in all {
        keys.insert((*key).to_owned(), value.take());
    }
    keys
}

pub(crate) fn list<'a, T>(things: &'a [T], record: impl Fn(&'a T) -> Json) -> Json {
    things.iter().map(record).collect()
}

pub(crate) fn with_keys_of(mut keys: Map<String, Json>, other: Json) -> Map<String, Json> {
    if let Json::Object(others) = other {
        keys.extend(others);
    }
    keys
}

/// Nanoseconds as milliseconds, exactly.
pub(crate) fn ms(ns: i64) -> f64 {
    rounded(ns as f64 / 1e6, 6)
}

/// Nanoseconds as microseconds, exactly.
pub(crate) fn us(ns: i64) -> f64 {
    rounded(ns as f64 / 1e3, 3)
}

/// A number, if known, rounded to a meaningful number of decimals.
pub(crate) fn round(number: Option<f64>, decimals: i32) -> Option<f64> {
    number.map(|number| rounded(number, decimals))
}
