//! Calls and kernels by a part of their name: where they are called, how often, and how long they take. Callers that
//! all of them share are printed once.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use dormer_core::base::format;
use dormer_core::names::frames::file_of;
use dormer_core::profile::Profile;
use dormer_core::profile::cpu::tree::NodeId;
use dormer_core::trace::{EventId, StringId};

use crate::stdout::Out;
use crate::{Failure, input, text};

/// All calls with the same name and the same callers.
#[derive(Default)]
struct Found {
    first: Option<EventId>,
    n: u64,
    cpu_ns: i64,
    gpu_ns: i64,
}

/// Prints each path that ends in a matching name, sorted by GPU time, then by CPU time.
pub(super) fn run(
    profile: &Profile,
    trace: &Path,
    name: &str,
    out: &mut Out,
) -> Result<(), Failure> {
    let mut found: Vec<(Vec<StringId>, Found)> = find(profile, name).into_iter().collect();
    if found.is_empty() {
        let name = text::printable(name);
        return Err(Failure::Usage(format!(
            "{}: no call or kernel has “{name}” in its name",
            input::name(trace)
        )));
    }
    let first = |found: &Found| found.first.map(|event| profile.trace.events.uid(event));
    found.sort_by_key(|(_, one)| (-one.gpu_ns, -one.cpu_ns, first(one)));
    let paths = found.iter().map(|(path, _)| path.as_slice());
    let shared = paths.map(callers).reduce(shared).unwrap_or_default().len();
    let shown = |path: &[StringId]| {
        let names = path.iter().map(|name| profile.trace.strings.get(*name));
        let names: Vec<&str> = names.map(file_of).collect();
        text::printable(&names.join(" > "))
    };
    if let Some((path, _)) = found.first().filter(|_| shared > 0) {
        writeln!(
            out,
            "Below {}:\n",
            shown(path.get(..shared).unwrap_or_default())
        )?;
    }
    let rows: Vec<[String; 5]> = found
        .iter()
        .map(|(path, one)| {
            let time = |ns: i64| match ns {
                0 => String::new(),
                ns => format::time_ns(ns),
            };
            [
                first(one).map_or_else(String::new, |uid| uid.to_string()),
                format::count(one.n),
                time(one.cpu_ns),
                time(one.gpu_ns),
                shown(path.get(shared..).unwrap_or_default()),
            ]
        })
        .collect();
    let heads = [">first uid", ">calls", ">CPU time", ">GPU time", "path"];
    text::write(out, heads, &rows)?;
    if out.is_terminal() {
        writeln!(out, "\n--uid shows what one of them called.")?;
    }
    Ok(())
}

/// A path without its last name.
fn callers(path: &[StringId]) -> &[StringId] {
    path.split_last().map_or(&[], |(_, callers)| callers)
}

/// The common prefix of two paths.
fn shared<'a>(one: &'a [StringId], other: &[StringId]) -> &'a [StringId] {
    let n = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    one.get(..n).unwrap_or_default()
}

fn find(profile: &Profile, name: &str) -> BTreeMap<Vec<StringId>, Found> {
    let (trace, tree) = (&profile.trace, profile.full_tree());
    let wanted = name.to_lowercase();
    let mut known: BTreeMap<StringId, bool> = BTreeMap::new();
    let mut matches = |name: StringId| {
        let is_it = || trace.strings.get(name).to_lowercase().contains(&wanted);
        *known.entry(name).or_insert_with(is_it)
    };
    let names_to = |node: NodeId| -> Vec<StringId> {
        let calls = [node].into_iter().chain(tree.ancestors(node));
        let events = calls.filter_map(|call| tree.event(call));
        let mut path: Vec<StringId> = events.map(|event| trace.events.name(event)).collect();
        path.reverse();
        path
    };
    let mut found: BTreeMap<Vec<StringId>, Found> = BTreeMap::new();
    let mut add = |path, event, cpu_ns, gpu_ns| {
        let one: &mut Found = found.entry(path).or_default();
        one.first = one.first.or(Some(event));
        one.n += 1;
        one.cpu_ns = one.cpu_ns.saturating_add(cpu_ns);
        one.gpu_ns = one.gpu_ns.saturating_add(gpu_ns);
    };
    for node in tree.ids() {
        let Some(event) = tree.event(node) else {
            continue;
        };
        if matches(trace.events.name(event)) {
            let cpu_ns = trace.events.dur_ns(event).unwrap_or(0);
            let gpu_ns = profile.gpu.busy_ns(tree.gpu_work(node));
            add(names_to(node), event, cpu_ns, gpu_ns);
        }
    }
    for (id, work) in profile.gpu.iter() {
        if matches(work.name) {
            let launch = work.launched_by.and_then(|call| tree.node_of(call));
            let mut path = launch.map_or_else(Vec::new, names_to);
            path.push(work.name);
            if let Some(event) = profile.launches.work.get(id.index()) {
                add(path, *event, 0, work.span.length());
            }
        }
    }
    found
}
