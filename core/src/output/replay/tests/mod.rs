//! From a trace to the calls in its package.

mod arguments;
mod package;
mod python;

use serde_json::Value;

use super::Package;
use crate::testing::Timetable;

/// The package of a trace, without a GPU chosen.
fn packed(timetable: Timetable) -> Package {
    let profile = timetable.profile();
    Package::new(&profile, &timetable.report())
}

/// The package of one operator that takes a millisecond.
fn package(op: &str, args: &str) -> Package {
    packed(Timetable::new().call(op, args, "kernel", 100..1_100))
}

fn entries(package: &Package) -> Vec<Value> {
    serde_json::from_slice(&package.ir()).unwrap()
}

fn entry(op: &str, args: &str) -> Value {
    let package = package(op, args);
    assert_eq!(package.left_out, [], "{op}");
    let [entry]: [Value; 1] = entries(&package).try_into().unwrap();
    entry
}
