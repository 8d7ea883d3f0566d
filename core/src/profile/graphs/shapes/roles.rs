//! Roles of the kernels of a forward pass, by their order.
//!
//! ```text
//! … o [gate-up, activation, down] qkv RoPE store │ attention │ o [router, top-k, experts] qkv …
//! ```
//!
//! Attention kernels separate the layers. The GEMMs between two of them are the end of one layer and the start of the
//! next. Of all arrangements that the model allows, the one is chosen that has the same number of GEMMs and agrees with
//! the kernels between them (activation, expert choice). If none or several match, the GEMMs have no roles.

use crate::names::layer::Step;
use crate::perf::model_config::{LanguageModel, Role};

/// A role, and the index of the layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) role: Role,
    pub(super) layer: usize,
}

/// Positions of the attention kernel of each layer; of several without a GEMM between them, the first.
pub(super) fn anchors(steps: &[Step]) -> Vec<usize> {
    let mut anchors = Vec::new();
    let mut is_new = true;
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Attention if is_new => {
                anchors.push(at);
                is_new = false;
            }
            Step::Gemm | Step::Expert => is_new = true,
            _ => {}
        }
    }
    anchors
}

/// The kernels before the first attention, between attentions, and after the last.
pub(super) fn parts(steps: &[Step]) -> Vec<Part> {
    let starts = anchors(steps).into_iter().map(Some).chain([None]);
    let mut before = None;
    let mut parts: Vec<Part> = Vec::new();
    for (layer, until) in starts.enumerate() {
        let range = before.map_or(0, |at: usize| at + 1)..until.unwrap_or(steps.len());
        let after = before.map(|_| layer.saturating_sub(1));
        parts.push(Part::new(steps, range, after, until.map(|_| layer)));
        before = until;
    }
    parts
}

/// The roles of the kernels of a forward pass.
pub(super) fn assign(steps: &[Step], model: &LanguageModel) -> Vec<Option<Place>> {
    let (anchors, parts) = (anchors(steps), parts(steps));
    let mut places = vec![None; steps.len()];
    let pass = Pass { model, steps };
    let inner = || {
        parts
            .iter()
            .filter(|part| part.after.is_some() && part.next.is_some())
    };
    // The inputs of the first attention have as many GEMMs as those of the others.
    let known = inner().find_map(|part| pass.arrange(part, None));
    let Some(known) = known else {
        return pass.attention(&anchors, places);
    };
    for part in &parts {
        pass.place(part, &known, &mut places);
    }
    pass.attention(&anchors, places)
}

/// The kernels between two attentions.
pub(super) struct Part {
    /// The layer whose attention precedes; `None` at the start of the pass.
    after: Option<usize>,
    /// The layer whose attention follows; `None` at the end of the pass.
    next: Option<usize>,
    /// Positions in the pass.
    pub(super) range: std::ops::Range<usize>,
    pub(super) gemms: Vec<usize>,
    experts: Vec<usize>,
    activations: Vec<usize>,
    top_k: Option<usize>,
    others: Vec<usize>,
}

impl Part {
    fn new(
        steps: &[Step],
        range: std::ops::Range<usize>,
        after: Option<usize>,
        next: Option<usize>,
    ) -> Part {
        let all = |is: fn(&Step) -> bool| {
            let of_part = range.clone().filter(|at| steps.get(*at).is_some_and(is));
            of_part.collect::<Vec<usize>>()
        };
        Part {
            after,
            next,
            gemms: all(|step| *step == Step::Gemm),
            experts: all(|step| *step == Step::Expert),
            activations: all(|step| *step == Step::Activation),
            top_k: all(|step| *step == Step::TopK).first().copied(),
            others: all(|step| !matches!(step, Step::Gemm | Step::Expert | Step::Attention)),
            range,
        }
    }
}

impl Part {
    /// The role of a GEMM from its neighbors, if the model is unknown.
    pub(super) fn loose_role(&self, n: usize) -> Role {
        let last = self.gemms.len().saturating_sub(1);
        let before = |mark: usize| self.gemms.iter().rposition(|at| *at < mark);
        let activation = self.activations.first().copied();
        match n {
            0 if self.after.is_some() => Role::Output,
            _ if n == last && self.next.is_some() => Role::Qkv,
            _ if self.top_k.and_then(before) == Some(n) => Role::Router,
            _ if activation.and_then(before) == Some(n) => Role::GateUp,
            _ if n > 0 && activation.and_then(before) == Some(n - 1) => Role::Down,
            _ => Role::Linear,
        }
    }
}

/// GEMMs of a part, in their order.
struct Arranged {
    roles: Vec<Role>,
    /// Number of those that belong to the next layer.
    n_before: usize,
    /// Those that belong to the MLP.
    mlp: &'static [Role],
}

struct Pass<'a> {
    model: &'a LanguageModel,
    steps: &'a [Step],
}

const OUTPUT: &[&[Role]] = &[&[Role::Output]];
const LATENT_OUTPUT: &[&[Role]] = &[&[Role::ValueAbsorbed, Role::Output]];
const INPUTS: &[&[Role]] = &[&[Role::Qkv], &[Role::Query, Role::Key, Role::Value]];
const LATENT_INPUTS: &[&[Role]] = &[&[Role::LatentDown, Role::QueryUp, Role::KeyAbsorbed]];
const GATED: &[&[Role]] = &[
    &[Role::GateUp, Role::Down],
    &[Role::Gate, Role::Up, Role::Down],
];
const PLAIN: &[&[Role]] = &[&[Role::Up, Role::Down]];
const ROUTED: &[&[Role]] = &[&[Role::Router]];
const SHARED: &[&[Role]] = &[
    &[Role::Router, Role::SharedGateUp, Role::SharedDown],
    &[Role::SharedGateUp, Role::SharedDown, Role::Router],
    &[Role::SharedGateUp, Role::Router, Role::SharedDown],
    // The shared experts run on a separate stream.
    &[Role::Router],
];

impl Pass<'_> {
    /// Possible GEMMs of the MLP in the layer whose attention precedes.
    fn mlps(&self, part: &Part) -> &'static [&'static [Role]] {
        let layer = part.after.unwrap_or(0) % (self.model.layers.max(1) as usize);
        let has_experts = !part.experts.is_empty() || part.top_k.is_some();
        match (self.model.experts_of(layer), self.model.is_gated) {
            (Some(experts), _) if has_experts && experts.shared_inner > 0 => SHARED,
            (Some(_), _) if has_experts => ROUTED,
            (None, Some(true)) if !has_experts => GATED,
            (None, Some(false)) if !has_experts => PLAIN,
            _ => &[],
        }
    }

    /// Adds the roles of attention kernels to the existing ones.
    fn attention(&self, anchors: &[usize], mut places: Vec<Option<Place>>) -> Vec<Option<Place>> {
        let (steps, layers) = (self.steps, self.model.layers.max(1) as usize);
        for (layer, at) in anchors.iter().enumerate() {
            let role = match self.model.window_of(layer % layers) {
                Some(_) => Role::WindowedAttention,
                None => Role::Attention,
            };
            let end = anchors.get(layer + 1).copied().unwrap_or(steps.len());
            for at in (*at..end).take_while(|at| !matches!(steps.get(*at), Some(Step::Gemm))) {
                let is_attention =
                    matches!(steps.get(at), Some(Step::Attention | Step::AttentionSum));
                if let Some(slot) = places.get_mut(at).filter(|_| is_attention) {
                    *slot = Some(Place { role, layer });
                }
            }
        }
        places
    }

    /// The only way to arrange the GEMMs of a part between two attentions, or after the last one, if its MLP has the
    /// same GEMMs as another one, `alike`.
    fn arrange(&self, part: &Part, alike: Option<&[Role]>) -> Option<Arranged> {
        let (outputs, inputs): (_, &[&[Role]]) = match self.model.latent {
            Some(_) => (LATENT_OUTPUT, LATENT_INPUTS),
            None => (OUTPUT, INPUTS),
        };
        let ends: &[&[Role]] = match part.next {
            Some(_) => inputs,
            None => &[&[], &[Role::LmHead]],
        };
        let mut found = None;
        for output in outputs {
            let same = |mlp: &&&[Role]| {
                alike.is_none_or(|alike| {
                    alike == **mlp || alike.contains(&Role::Router) != mlp.contains(&Role::Router)
                })
            };
            for mlp in self.mlps(part).iter().filter(same) {
                for end in ends {
                    if output.len() + mlp.len() + end.len() != part.gemms.len() {
                        continue;
                    }
                    let roles: Vec<Role> = [*output, *mlp, *end].concat();
                    if !self.agrees(part, &roles) {
                        continue;
                    }
                    if found.is_some() {
                        return None;
                    }
                    let n_before = end.len();
                    found = Some(Arranged {
                        roles,
                        n_before,
                        mlp,
                    });
                }
            }
        }
        found
    }

    /// Whether activations are between the gate and down projections, and the expert choice directly follows the
    /// router.
    fn agrees(&self, part: &Part, roles: &[Role]) -> bool {
        let at = |wanted: &[Role]| {
            let found = roles.iter().position(|role| wanted.contains(role))?;
            part.gemms.get(found).copied()
        };
        let first = at(&[Role::GateUp, Role::Gate, Role::Up, Role::SharedGateUp]);
        let down = at(&[Role::Down, Role::SharedDown]);
        let is_between = match first.zip(down) {
            Some((first, down)) if !part.activations.is_empty() => {
                part.activations.iter().any(|at| (first..down).contains(at))
            }
            _ => true,
        };
        const ACTIVATED: [Role; 4] = [Role::GateUp, Role::Gate, Role::Up, Role::SharedGateUp];
        let is_activated = part.activations.iter().all(|at| {
            let gemm = part.gemms.iter().rposition(|gemm| gemm < at);
            let expert = part.experts.iter().rfind(|expert| *expert < at);
            let follows_expert = |gemm: usize| expert.copied() > part.gemms.get(gemm).copied();
            let role = gemm.filter(|gemm| !follows_expert(*gemm));
            role.is_none_or(|gemm| roles.get(gemm).is_some_and(|role| ACTIVATED.contains(role)))
        });
        let is_routed = match at(&[Role::Router]).zip(part.top_k) {
            Some((router, top_k)) => part.gemms.iter().rfind(|at| **at < top_k) == Some(&router),
            None => true,
        };
        is_between && is_activated && is_routed
    }

    fn place(&self, part: &Part, known: &Arranged, places: &mut [Option<Place>]) {
        let mut put = |at: usize, role, layer| {
            if let Some(slot) = places.get_mut(at) {
                *slot = Some(Place { role, layer });
            }
        };
        let arranged = match part.after {
            Some(_) => self.arrange(part, Some(known.mlp)),
            None => self.start(part, known.n_before),
        };
        let (after, next) = (part.after.or(part.next), part.next.or(part.after));
        let (Some(after), Some(next)) = (after, next) else {
            return;
        };
        let mut input = None;
        if let Some(Arranged {
            roles, n_before, ..
        }) = &arranged
        {
            let first = part.gemms.len().saturating_sub(roles.len());
            for (n, (at, role)) in part.gemms.iter().skip(first).zip(roles).enumerate() {
                let is_next = n + n_before >= roles.len() && *role != Role::LmHead;
                if is_next {
                    input.get_or_insert(*at);
                }
                put(*at, *role, if is_next { next } else { after });
            }
        }
        let experts = match part.experts.len() {
            1 => &[Role::ExpertsFused][..],
            2 => &[Role::ExpertsUp, Role::ExpertsDown],
            _ => &[],
        };
        for (at, role) in part.experts.iter().zip(experts) {
            put(*at, *role, after);
        }
        for at in &part.others {
            let is_next = input.is_some_and(|input| *at > input) && part.next.is_some();
            let role = match self.steps.get(*at) {
                Some(Step::Rope) if is_next => Role::Rope,
                Some(Step::Store) if is_next => Role::Store,
                // Q and K norms have a different size.
                Some(Step::Norm { .. }) if !is_next && arranged.is_some() => Role::Norm,
                Some(Step::TopK) => Role::TopK,
                Some(Step::Sort) => Role::Sort,
                Some(Step::Combine) => Role::Combine,
                Some(Step::Pad) => Role::Pad,
                Some(Step::Activation) if part.experts.is_empty() && arranged.is_some() => {
                    Role::Activation
                }
                _ => continue,
            };
            put(*at, role, if is_next { next } else { after });
        }
    }

    /// The GEMMs directly before the first attention.
    fn start(&self, part: &Part, n_before: usize) -> Option<Arranged> {
        let inputs = match self.model.latent {
            Some(_) => LATENT_INPUTS,
            None => INPUTS,
        };
        let roles = inputs.iter().find(|roles| roles.len() == n_before)?;
        let is_there = part.gemms.len() >= n_before && part.next.is_some();
        is_there.then(|| Arranged {
            roles: roles.to_vec(),
            n_before,
            mlp: &[],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::model_config::parse;

    /// Kernels as letters: G GEMM, a attention, r RoPE, s KV cache store, n norm, x activation, t top-k, E experts, c
    /// combine.
    fn roles(kernels: &str, keys: &str) -> String {
        let text = format!(
            r#"{{"architectures": ["A"], "hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2,
            "vocab_size": 100, "intermediate_size": 16, "hidden_act": "silu"{keys}}}"#
        );
        let config = parse(&text).unwrap();
        let steps: Vec<Step> = kernels.chars().map(step).collect();
        let places = assign(&steps, config.language().unwrap());
        let gemms = places.iter().zip(&steps);
        let gemms = gemms.filter(|(_, step)| matches!(step, Step::Gemm | Step::Expert));
        let names = gemms.map(|(place, _)| {
            place.map_or("-".to_owned(), |place| {
                format!("{}{}", place.role.key(), place.layer)
            })
        });
        names.collect::<Vec<String>>().join(" ")
    }

    fn step(letter: char) -> Step {
        match letter {
            'G' => Step::Gemm,
            'a' => Step::Attention,
            'r' => Step::Rope,
            's' => Step::Store,
            'n' => Step::Norm { adds: false },
            'x' => Step::Activation,
            't' => Step::TopK,
            'E' => Step::Expert,
            'c' => Step::Combine,
            _ => Step::Other,
        }
    }

    const MOE: &str = r#", "num_experts": 4, "num_experts_per_tok": 2"#;
    const SHARED: &str = r#", "num_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1"#;
    const LATENT: &str = r#", "kv_lora_rank": 4, "q_lora_rank": 4, "qk_nope_head_dim": 2, "qk_rope_head_dim": 2, "v_head_dim": 2"#;

    #[test]
    fn gemms_of_an_mlp() {
        let cases = [
            // The usual layer, with and without an LM head at the end.
            (
                "nGrsaGnGxGnGrsaGnGxGn",
                "qkv0 output0 gate_up0 down0 qkv1 output1 gate_up1 down1",
            ),
            (
                "nGraGnGxGnGraGnGxGnG",
                "qkv0 output0 gate_up0 down0 qkv1 output1 gate_up1 down1 lm_head1",
            ),
            // Separate Q, K and V projections, and separate gate and up projections.
            (
                "nGGGraGnGxGnGGGraGnGxG",
                "query0 key0 value0 output0 gate_up0 down0 query1 key1 value1 output1 gate_up1 down1",
            ),
            (
                "GraGnGGxGnGraGnGxGG",
                "qkv0 output0 gate0 up0 down0 qkv1 output1 gate1 up1 down1",
            ),
            // GEMMs before the model do not belong to it.
            (
                "GGnGraGnGxGnGraGnGxG",
                "- - qkv0 output0 gate_up0 down0 qkv1 output1 gate_up1 down1",
            ),
            // An activation in an unexpected position, and a missing GEMM: no roles.
            ("GraGxGGGraGxGG", "- - - - - - - -"),
            ("GraGnGnGraGnG", "- - - - - -"),
        ];
        for (kernels, expected) in cases {
            assert_eq!(roles(kernels, ""), expected, "{kernels}");
        }
    }

    #[test]
    fn gemms_of_experts() {
        let cases = [
            (
                "GraGnGtEEcnGraGnGtEEc",
                MOE,
                "qkv0 output0 router0 experts_up0 experts_down0 qkv1 output1 router1 experts_up1 experts_down1",
            ),
            (
                "GraGnGtEcnGraGnGtEc",
                MOE,
                "qkv0 output0 router0 experts_fused0 qkv1 output1 router1 experts_fused1",
            ),
            (
                "GraGGtGxGEExcGraGGtGxGEEc",
                SHARED,
                "qkv0 output0 router0 shared_gate_up0 shared_down0 experts_up0 experts_down0 qkv1 output1 router1 shared_gate_up1 shared_down1 experts_up1 experts_down1",
            ),
            (
                "GraGGxGGtEEcGraGGxGGtEEc",
                SHARED,
                "qkv0 output0 shared_gate_up0 shared_down0 router0 experts_up0 experts_down0 qkv1 output1 shared_gate_up1 shared_down1 router1 experts_up1 experts_down1",
            ),
            // The configuration of another model.
            ("GraGnGxGnGraGnGxG", MOE, "- - - - - - - -"),
            ("GraGnGtEEcnGraGnGtEEc", "", "- - - - - - - - - -"),
        ];
        for (kernels, keys, expected) in cases {
            assert_eq!(roles(kernels, keys), expected, "{kernels}");
        }
    }

    #[test]
    fn gemms_around_a_latent() {
        assert_eq!(
            roles("GnGrGsaGGnGxGnGnGrGsaGGnGxG", LATENT),
            "latent_down0 query_up0 key_absorbed0 value_absorbed0 output0 gate_up0 down0 latent_down1 query_up1 key_absorbed1 value_absorbed1 output1 gate_up1 down1"
        );
    }
}
