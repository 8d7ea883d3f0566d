//! Expert weights that are padded to the tiles of their kernels: more bytes than the model has.

use crate::base::labels::labeled;
use crate::findings::prelude::*;
use crate::names::Family;
use crate::perf::model_config::{LanguageModel, proved};
use crate::profile::Profile;
use crate::profile::model_info::families;
use crate::profile::operations::kinds::gemm::GemmSizes;

/// An expert GEMM with padded weights.
pub(super) struct Padded<'a> {
    row: &'a Row,
    /// The hidden size and expert inner size that it computes with.
    padded: [u64; 2],
    /// Those of the model.
    own: [u64; 2],
    known_by: KnownBy,
}

labeled! {
    /// How the sizes of the model are known.
    enum KnownBy {
        Config => "the configuration that was given",
        Sizes => "its family, hidden size, vocabulary and number of layers, which are those of a known model",
    }
}

/// Less padding is not reported.
const LEAST: f64 = 1.02;
/// More is not padding: experts are split over GPUs, or it is another model.
const MOST: f64 = 1.5;

impl Padded<'_> {
    fn times(&self) -> f64 {
        let product = |[hidden, inner]: [u64; 2]| hidden as f64 * inner as f64;
        product(self.padded) / product(self.own).max(1.0)
    }
}

/// The expert GEMMs with padded weights, if the sizes of the model are known.
pub(super) fn padded<'a>(input: &Input, rows: &'a [Row]) -> Vec<Padded<'a>> {
    let gemms = rows.iter().filter_map(|row| {
        let operation = input.operation(row.operation);
        let size = |wanted: &str| operation.modeled.as_ref()?.param(wanted)?.size();
        let is_gemm = super::role(input.profile, operation).is_gemm();
        is_gemm.then_some((row, [size("K")?, size("N")?]))
    });
    let gemms: Vec<(&Row, [u64; 2])> = gemms.collect();
    let known = match gemms.is_empty() {
        true => None,
        false => model_sizes(input.profile),
    };
    let Some((own, known_by)) = known else {
        return Vec::new();
    };
    let all = gemms.into_iter().map(|(row, padded)| Padded {
        row,
        padded,
        own,
        known_by,
    });
    all.filter(|one| (LEAST..MOST).contains(&one.times()))
        .collect()
}

/// Hidden size and inner size of an expert.
fn model_sizes(profile: &Profile) -> Option<([u64; 2], KnownBy)> {
    let of = |language: &LanguageModel| Some([language.hidden, language.experts?.inner]);
    if let Some(config) = &profile.sources.config {
        return Some((of(config.language()?)?, KnownBy::Config));
    }
    let layers = profile.serving()?.blocks.as_ref()?.layers? as u64;
    let gemms = profile.operations().iter();
    let gemms = gemms.filter(|one| one.family == Family::Gemm);
    let sizes = gemms.filter_map(|one| GemmSizes::of(profile, one));
    // The number of logits is the vocabulary size.
    let vocabulary = sizes.max_by_key(|one| one.n)?;
    let known = families(&profile.trace);
    let mut known = known.iter();
    let config = known.find_map(|family| proved(family, vocabulary.k, vocabulary.n, layers))?;
    Some((of(config.language()?)?, KnownBy::Sizes))
}

impl Subject for Padded<'static> {
    type Of<'a> = Padded<'a>;

    const ROW: RowOf<Self> = |observed| Some(observed.row);
}

pub(super) const RULES: &[Rule<Padded>] = &[Rule {
    key: "padded_expert_weights",
    when: "GEMMs of the experts compute with sizes at least 2 % beyond those of the model",
    gate: |group| group.is_large(|lines| lines.moe_gate_ms),
    title: "Weights of experts padded by {more}",
    issue: "{subject} reads weights padded to {padded}, for {own} of the model: {more} more bytes; {time}.",
    model: "use a kernel whose tiles fit these sizes, or a version of the engine that does not pad the stored weights.",
    kernel: "mask the last tile of each dimension, so that its padding is not read.",
    notes: &[
        "The sizes of the model are known by {known_by}.",
        "The GEMMs are bound by reading weights: the estimate is the padded part of their time.",
    ],
    words: |group| {
        let first = group.first();
        let text =
            |[hidden, inner]: [u64; 2]| format!("hidden size {hidden} and inner size {inner}");
        vec![
            ("padded", text(first.padded)),
            ("own", text(first.own)),
            ("more", format::percent((first.times() - 1.0) * 100.0)),
            ("known_by", first.known_by.label().to_owned()),
        ]
    },
    saves: Saves::AtMost(|_, observed| {
        let part = 1.0 - 1.0 / observed.times();
        Some((observed.row.time_ns as f64 * part).round() as i64)
    }),
    has_reproducer: false,
    ..Rule::BASE
}];
