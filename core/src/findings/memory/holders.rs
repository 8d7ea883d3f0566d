//! Operators that hold a large part of the peak, and those with large short-lived blocks.

use super::levels::mib;
use super::{Issue, Kind, tables};
use crate::base::map::Map;
use crate::findings::prelude::*;
use crate::names::is_module;
use crate::profile::Profile;
use crate::profile::memory::{Block, DeviceMemory, requester, share};
use crate::trace::{Category, EventId, StringId};

/// The usual remedy, where names identify the purpose of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Attention scores for all queries and keys.
    Scores,
    /// Logits and what a loss computes from them.
    Loss,
    /// Gradients that are accumulated.
    Gradients,
    /// Tensors concatenated to a new one.
    Concatenation,
    /// The purpose is unknown.
    Unknown,
}

impl Remedy {
    fn of(profile: &Profile, call: EventId) -> Remedy {
        let trace = &profile.trace;
        let tree = &profile.tree;
        let operator = trace.name(call);
        let above = tree.names_around(trace, call);
        let names: Vec<&str> = std::iter::once(operator).chain(above).collect();
        let any = |is: &dyn Fn(&str) -> bool| names.iter().any(|name| is(name));
        let is_softmax = matches!(operator, "aten::_softmax" | "aten::softmax");
        if any(&|name| name.ends_with("_scaled_dot_product_attention_math"))
            || (is_softmax && is_in_attention(profile, call))
        {
            return Remedy::Scores;
        }
        let losses = [
            "aten::cross_entropy_loss",
            "aten::nll_loss",
            "aten::log_softmax",
            "aten::_log_softmax",
        ];
        if any(&|name| losses.iter().any(|loss| name.starts_with(loss))) {
            return Remedy::Loss;
        }
        if any(&|name| name.contains("torch::autograd::AccumulateGrad")) {
            return Remedy::Gradients;
        }
        match operator {
            "aten::cat" => Remedy::Concatenation,
            _ => Remedy::Unknown,
        }
    }
}

/// Whether a call is in a module with "attention" in its name.
fn is_in_attention(profile: &Profile, call: EventId) -> bool {
    if !profile.has_python_frames() {
        return false;
    }
    let (trace, tree) = (&profile.trace, profile.full_tree());
    let around = tree.calls_around(call);
    let mut frames =
        around.filter(|event| trace.events.category(*event) == Category::PythonFunction);
    frames.any(|event| {
        let name = trace.name(event);
        let lower = name.to_ascii_lowercase();
        is_module(name) && (lower.contains("attention") || lower.contains("attn"))
    })
}

/// Operators that hold a large part of the peak.
pub(super) fn large(input: &Input, device: &DeviceMemory) -> Vec<Issue> {
    let profile = input.profile;
    let least = input.options.thresholds.memory_holder_percent;
    let holders = device.peak_by_requester(profile).into_iter();
    let large = holders.filter_map(|holder| {
        let percent = share(holder.bytes, device.peak.allocated)?;
        let (operator, call) = (holder.operator?, holder.call?);
        if percent <= least {
            return None;
        }
        let requested_by = requester(profile, call);
        let remedy = Remedy::of(profile, requested_by);
        let mut issue = Issue::new(Kind::Holder(remedy), device, holder.bytes);
        issue.events = vec![requested_by];
        issue.words.extend([
            ("operator", quoted(profile, operator)),
            ("percent", format::percent(percent)),
            ("blocks", format::counted(holder.n_blocks, "block")),
            ("largest", format::bytes(holder.largest_bytes)),
        ]);
        let title = "Operators by what they hold at the peak";
        issue.tables = vec![tables::operators(input, device, title, |one| {
            one.peak_bytes
        })];
        Some(issue)
    });
    large.collect()
}

fn quoted(profile: &Profile, name: StringId) -> String {
    let name = profile.trace.strings.get(name);
    format!("`{}`", format::middle_ellipsis(name, 60))
}

/// Operators that repeatedly allocate large blocks and release them immediately.
pub(super) fn churn(input: &Input, device: &DeviceMemory) -> Option<Issue> {
    let (profile, thresholds) = (input.profile, &input.options.thresholds);
    let least_bytes = mib(thresholds.memory_churn_mib);
    let most_ns = thresholds.memory_churn_ms * 1e6;
    let is_brief = |block: &&Block| {
        let life_ns = device.life_ns(block);
        block.bytes >= least_bytes && life_ns.is_some_and(|ns| (ns as f64) < most_ns)
    };
    let mut by_operator: Map<StringId, (u64, Vec<Block>)> = Map::default();
    for block in device.blocks.iter().filter(is_brief) {
        let Some(call) = block.call else { continue };
        let requested_by = requester(profile, call);
        let of_it = by_operator
            .entry(profile.trace.events.name(requested_by))
            .or_default();
        of_it.0 = of_it.0.saturating_add(block.bytes);
        of_it.1.push(*block);
    }
    let most = by_operator.into_iter();
    // The one with the most bytes; on a tie, the first name in the trace.
    let (operator, (bytes, blocks)) =
        most.max_by_key(|(name, (bytes, _))| (*bytes, std::cmp::Reverse(*name)))?;
    if (bytes as f64) < device.peak.allocated as f64 * thresholds.memory_churn_ratio {
        return None;
    }
    let mut issue = Issue::new(Kind::Churn, device, at_once(&blocks));
    issue.priority = Priority::Low;
    issue.events = blocks
        .iter()
        .filter_map(|block| block.call)
        .take(1)
        .collect();
    let lives = blocks.iter().filter_map(|block| device.life_ns(block));
    let life = crate::base::stats::median_ns(lives.collect()).unwrap_or(0);
    issue.words.extend([
        ("operator", quoted(profile, operator)),
        ("blocks", format::counted(blocks.len() as u64, "block")),
        ("bytes", format::bytes(bytes)),
        ("life", format::time_ns(life)),
    ]);
    let title = "Operators by what they allocate";
    issue.tables = vec![tables::operators(input, device, title, |one| one.bytes)];
    Some(issue)
}

/// The peak of some blocks: the most that is in use at the same time.
fn at_once(blocks: &[Block]) -> u64 {
    let changes = blocks.iter().flat_map(|block| {
        let freed = block.freed.map(|at| (at, false, block.bytes));
        std::iter::once((block.born, true, block.bytes)).chain(freed)
    });
    let changes = changes.arranged();
    let (mut live, mut most) = (0_u64, 0_u64);
    for (_, is_born, bytes) in changes {
        live = match is_born {
            true => live.saturating_add(bytes),
            false => live.saturating_sub(bytes),
        };
        most = most.max(live);
    }
    most
}
