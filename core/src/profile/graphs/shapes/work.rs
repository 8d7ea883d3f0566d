//! FLOPs and bytes of the kernels of forward passes, by their roles.

use std::rc::Rc;

use super::known::KnownModel;
use super::passes::ForwardPass;
use super::roles::{Place, assign};
use super::tokens::Rows;
use super::{Estimate, Estimates, Source, grid};
use crate::base::map::Map;
use crate::names::Family;
use crate::names::attention::{CacheType, cache_type};
use crate::names::layer::Step;
use crate::names::moe::MoeRole;
use crate::perf::estimate::{self, ExpertSizes, PagedSizes};
use crate::perf::model_config::{LanguageModel, Role};
use crate::perf::{Modeled, element_bytes};
use crate::profile::Profile;
use crate::profile::launch::GpuId;
use crate::profile::operations::Operation;
use crate::profile::operations::kinds::moe::MoeRoles;

/// Adds the estimates of all passes to the existing ones.
pub(super) fn add(
    profile: &Profile,
    known: &KnownModel,
    passes: &[ForwardPass],
    found: &mut Estimates,
) {
    let Some(model) = known.config.language().filter(|_| !passes.is_empty()) else {
        return;
    };
    let rows = Rows::of(profile, model.hidden);
    let mut roles: Map<*const Vec<Step>, Rc<Vec<Option<Place>>>> = Map::default();
    for pass in passes {
        let is_whole = pass.n_layers > 1
            && ((pass.n_layers as u64).is_multiple_of(model.layers)
                || model.layers.is_multiple_of(pass.n_layers as u64));
        let Some((tokens, source)) = rows.tokens(pass).filter(|_| is_whole) else {
            continue;
        };
        let places = roles
            .entry(Rc::as_ptr(&pass.steps))
            .or_insert_with(|| Rc::new(assign(&pass.steps, model)));
        let places = Rc::clone(places);
        let of = PassWork {
            profile,
            model,
            gpus: known.gpus,
            pass,
            tokens,
            source,
            cache_bytes: cache_bytes(profile, pass),
        };
        of.add(&places, found);
    }
}

/// Bytes per element of the KV cache, from the kernel that writes it.
fn cache_bytes(profile: &Profile, pass: &ForwardPass) -> Option<f64> {
    let kernels = pass.kernels.iter().zip(pass.steps.iter());
    let (id, _) = kernels
        .into_iter()
        .find(|(_, step)| **step == Step::Store)?;
    (cache_type(name(profile, *id)) == Some(CacheType::Fp8)).then_some(1.0)
}

fn name(profile: &Profile, id: GpuId) -> &str {
    let name = profile.gpu.get(id).map(|work| work.name);
    name.map_or("", |name| profile.trace.strings.get(name))
}

/// One pass and what its kernels compute.
struct PassWork<'a> {
    profile: &'a Profile,
    model: &'a LanguageModel,
    gpus: u64,
    pass: &'a ForwardPass,
    tokens: u64,
    source: Source,
    cache_bytes: Option<f64>,
}

/// Kernels with the same name and role, whose work is the same in all layers of a kind.
type Alike = (crate::trace::StringId, Role, bool);

impl PassWork<'_> {
    fn add(&self, places: &[Option<Place>], found: &mut Estimates) {
        let mut times: Map<(Role, usize), i64> = Map::default();
        let all = || self.pass.kernels.iter().zip(places);
        let length = |id: GpuId| {
            let work = self.profile.gpu.get(id);
            work.map_or(0, |work| work.span.length())
        };
        for (id, place) in all() {
            if let Some(Place { role, layer }) = *place
                && is_shared(role)
            {
                *times.entry((role, layer)).or_default() += length(*id);
            }
        }
        let padded = self.padded(places);
        let mut known: Map<Alike, Option<u32>> = Map::default();
        for ((id, place), is_bare) in all().zip(&self.pass.is_bare) {
            let (Some(place), true) = (*place, *is_bare) else {
                continue;
            };
            let Some(work) = self.profile.gpu.get(*id) else {
                continue;
            };
            let has_experts = self.model.experts_of(place.layer).is_some();
            let at = *known
                .entry((work.name, place.role, has_experts))
                .or_insert_with(|| {
                    let estimate = self.estimate(*id, place, padded)?;
                    found.all.push(estimate);
                    Some(found.all.len() as u32 - 1)
                });
            let Some(at) = at else { continue };
            let share = match times.get(&(place.role, place.layer)) {
                Some(all_ns) if *all_ns > 0 => length(*id) as f64 / *all_ns as f64,
                _ => 1.0,
            };
            found.of.entry(*id).or_insert((at, share));
        }
    }

    fn estimate(&self, id: GpuId, place: Place, padded: Padded) -> Option<Estimate> {
        let role = place.role;
        let (modeled, source, is_least) = match role {
            Role::Attention | Role::WindowedAttention => {
                let sizes = PagedSizes {
                    cache_bytes: self.cache_bytes,
                    ..PagedSizes::of(self.model, self.gpus, place.layer)?
                };
                let batch = self.pass.batch.filter(|batch| batch.has_lengths())?;
                // The recorded sums are over requests: padding attends to nothing.
                let modeled = estimate::attention(&batch, sizes, self.model.dtype)?;
                (modeled, Source::Config, false)
            }
            Role::ExpertsUp | Role::ExpertsDown | Role::ExpertsFused => {
                let modeled = self.experts(id, role, padded)?;
                let source = if padded.is_known {
                    Source::Grid
                } else {
                    Source::Config
                };
                (modeled, source.max(self.source), !padded.is_known)
            }
            _ => {
                let modeled = self.gemm(role).or_else(|| self.around(id, role))?;
                (modeled, Source::Config.max(self.source), is_least(role))
            }
        };
        Some(Estimate {
            role,
            source,
            modeled,
            is_least,
        })
    }

    fn gemm(&self, role: Role) -> Option<Modeled> {
        let matrix = self.model.matrix(role, self.gpus)?;
        let module = LanguageModel::module(role);
        let weights = self.model.weights.as_ref();
        let weights =
            weights.filter(|weights| module.is_some_and(|module| weights.hold_for(module)));
        Some(estimate::gemm(
            matrix,
            self.tokens,
            self.model.dtype,
            weights,
        ))
    }

    fn experts(&self, id: GpuId, role: Role, padded: Padded) -> Option<Modeled> {
        let experts = self.model.experts?;
        let sizes = ExpertSizes {
            tokens: self.tokens,
            hidden: padded.hidden,
            inner: padded.inner,
            experts: experts.n,
            chosen: experts.chosen,
        };
        let weights = self.model.weights.as_ref();
        let weights = weights.filter(|weights| weights.hold_for("experts"));
        let kernel = name(self.profile, id);
        estimate::experts(role, sizes, kernel, self.model.dtype, weights)
    }

    /// Sizes of the expert weights on this GPU, as if each expert were sharded. With expert parallelism, bytes and work
    /// are the same if tokens are distributed evenly.
    fn padded(&self, places: &[Option<Place>]) -> Padded {
        let Some(experts) = self.model.experts else {
            return Padded::default();
        };
        let (hidden, inner) = (self.model.hidden, experts.inner.div_ceil(self.gpus.max(1)));
        let columns = |wanted: Role, least: u64| {
            let mut all = self.pass.kernels.iter().zip(places);
            let (id, _) = all.find(|(_, place)| place.is_some_and(|place| place.role == wanted))?;
            let kernel = self.profile.gpu.get(*id)?.event;
            let sizes = [self.tokens, experts.chosen, experts.n];
            grid::expert_columns(&self.profile.trace, kernel, sizes, least)
        };
        let up = columns(Role::ExpertsUp, 2 * inner);
        let down = columns(Role::ExpertsDown, hidden);
        Padded {
            hidden: down.unwrap_or(hidden),
            inner: up.map_or(inner, |columns| columns / 2),
            is_known: up.is_some() && down.is_some(),
        }
    }

    /// Kernels around GEMMs and attention: the bytes that they read and write once.
    fn around(&self, id: GpuId, role: Role) -> Option<Modeled> {
        let (model, tokens) = (self.model, self.tokens);
        let (heads, kv_heads) = model.heads_of(self.gpus)?;
        let elements = |n: u64| Some(estimate::elements(tokens.saturating_mul(n), model.dtype));
        let hidden = model.hidden;
        match role {
            Role::Norm => match Step::of(name(self.profile, id)) {
                Step::Norm { adds: true } => elements(4 * hidden),
                _ => elements(2 * hidden),
            },
            Role::Rope => {
                let of_head = model.latent.map_or(model.head_dim, |latent| latent.rope);
                elements(2 * (heads + kv_heads) * of_head)
            }
            Role::Store => {
                let of_token = match model.latent {
                    Some(latent) => latent.kv_rank + latent.rope,
                    None => 2 * kv_heads * model.head_dim,
                };
                let size = element_bytes(model.dtype)?;
                let both = size + self.cache_bytes.unwrap_or(size);
                Some(estimate::bytes((tokens * of_token) as f64 * both))
            }
            Role::Activation => {
                let inner = model.inner?.div_ceil(self.gpus.max(1));
                elements(if model.is_gated? {
                    3 * inner
                } else {
                    2 * inner
                })
            }
            _ => routing(model, role, tokens),
        }
    }
}

/// The bytes that a kernel around expert GEMMs reads and writes once.
fn routing(model: &LanguageModel, role: Role, tokens: u64) -> Option<Modeled> {
    /// Bytes of an index, and of a routing weight.
    const OF_ONE: f64 = 4.0;
    let experts = model.experts?;
    let elements = |n: u64| Some(estimate::elements(tokens.saturating_mul(n), model.dtype));
    let choices = tokens as f64 * experts.chosen as f64;
    match role {
        // Reads scores; writes a weight and an expert index for each choice.
        Role::TopK => {
            let scores = tokens as f64 * experts.n as f64 * element_bytes(model.dtype)?;
            Some(estimate::bytes(scores + 2.0 * OF_ONE * choices))
        }
        // Maps the expert of each choice to its position among all.
        Role::Sort => Some(estimate::bytes(2.0 * OF_ONE * choices)),
        Role::Combine => elements((experts.chosen + 1) * model.hidden),
        Role::Pad => elements(2 * model.hidden),
        _ => None,
    }
}

/// Whether such kernels may move more bytes than are counted.
fn is_least(role: Role) -> bool {
    matches!(role, Role::Pad | Role::Sort)
}

/// Adds estimates to operators of a capture that route tokens to experts and have no perf model.
pub(super) fn add_routing(
    profile: &Profile,
    known: &KnownModel,
    passes: &[ForwardPass],
    operations: &mut [Operation],
) {
    let Some(model) = known.config.language() else {
        return;
    };
    let is_unknown = |one: &Operation| one.known().is_none() && one.family == Family::Moe;
    // The rest scans every event.
    if !operations.iter().any(is_unknown) || passes.iter().all(ForwardPass::has_bare) {
        return;
    }
    let rows = Rows::of(profile, model.hidden);
    let roles = MoeRoles::of(profile);
    let mut tokens: Map<GpuId, (u64, Source)> = Map::default();
    for pass in passes.iter().filter(|pass| !pass.has_bare()) {
        if let Some(known) = rows.tokens(pass) {
            tokens.extend(pass.kernels.iter().map(|id| (*id, known)));
        }
    }
    for operation in operations.iter_mut().filter(|one| is_unknown(one)) {
        let firsts = operation
            .calls
            .iter()
            .map(|call| call.work.first().copied());
        let firsts: Option<Vec<GpuId>> = firsts.collect();
        let Some((first, firsts)) = firsts.as_deref().and_then(<[GpuId]>::split_first) else {
            continue;
        };
        let Some((n, source)) = tokens.get(first).copied() else {
            continue;
        };
        let role = match roles.get(*first) {
            Some(MoeRole::TopK) => Role::TopK,
            Some(MoeRole::Sort) => Role::Sort,
            Some(MoeRole::Combine) => Role::Combine,
            Some(MoeRole::Prepare) => Role::Pad,
            _ => continue,
        };
        let is_alike = |id: &GpuId| tokens.get(id).is_some_and(|of| of.0 == n);
        operation.estimate = routing(model, role, n)
            .filter(|_| firsts.iter().all(is_alike))
            .map(|modeled| Estimate {
                role,
                source: Source::Config.max(source),
                modeled,
                is_least: is_least(role),
            });
    }
}

/// Sizes of the expert weights.
#[derive(Debug, Clone, Copy, Default)]
struct Padded {
    hidden: u64,
    inner: u64,
    /// Whether padding is included.
    is_known: bool,
}

/// Whether the work of a role is shared by all kernels with that role in a layer, as for split attention or GEMMs and
/// the kernel that adds up their parts.
fn is_shared(role: Role) -> bool {
    !matches!(
        role,
        Role::ExpertsUp
            | Role::ExpertsDown
            | Role::ExpertsFused
            | Role::TopK
            | Role::Combine
            | Role::Pad
            | Role::Norm
            | Role::Rope
            | Role::Store
            | Role::Activation
    )
}
