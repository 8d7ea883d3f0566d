//! Roles of the GEMMs of a diffusion transformer, by their order.
//!
//! ```text
//! two streams:  attention │ output ×2, (up, activation, down) ×2, the next block's [q k v] ×2
//! one stream:   attention │ up, activation, output of both, the next block's [q k v]
//! ```
//!
//! Nothing runs before its inputs: output projections follow attention, MLPs follow the output projections, and the
//! inputs of the next attention follow all of them. Only the modulation depends on nothing but the conditioning, with
//! one row per image: it may be anywhere, and its kernels are made for few rows. Of image and text, the one with more
//! tokens takes longer. If this leaves more than one arrangement, GEMMs have no role.

mod arrange;
mod sizes;
#[cfg(test)]
mod tests;

use super::inputs::ImageTokens;
use super::roles::parts;
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::names::layer::Step;
use crate::perf::model_config::{DiffusionModel, Matrix, Role};
use arrange::{Group, Width};

pub(super) use sizes::blocks_of;

/// What is known about a kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernel {
    pub(super) step: Step,
    /// Equal numbers mean equal names.
    pub(super) name: u32,
    pub(super) ns: i64,
    /// Whether it applies the activation of an MLP, alone or fused into a GEMM.
    pub(super) activates: bool,
    /// The smaller side of its tile; `None` if its name does not contain a tile.
    pub(super) side: Option<u64>,
}

/// The rows of a GEMM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    /// One row per image.
    Conditioning,
    Image,
    Text,
    /// Image and text, concatenated.
    Both,
}

impl Rows {
    /// The number of rows.
    pub(super) fn count(self, tokens: ImageTokens) -> u64 {
        let of_image = match self {
            Rows::Conditioning => 1,
            Rows::Image => tokens.image,
            Rows::Text => tokens.text,
            Rows::Both => tokens.image.saturating_add(tokens.text),
        };
        of_image.saturating_mul(tokens.batch)
    }
}

/// The role of a GEMM, or of the activation after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) role: Role,
    pub(super) rows: Rows,
    pub(super) matrix: Matrix,
}

/// If two streams differ by less than this factor in tokens or time, they cannot be distinguished.
const LEAST_RATIO: f64 = 1.2;

/// The roles of the kernels of a denoising step.
pub(super) fn assign(
    kernels: &[Kernel],
    model: &DiffusionModel,
    tokens: ImageTokens,
) -> Vec<Option<Place>> {
    let steps: Vec<Step> = kernels.iter().map(|kernel| kernel.step).collect();
    let parts = parts(&steps);
    let pass = Pass {
        kernels,
        double: model.double_blocks as usize,
        blocks: model.double_blocks.saturating_add(model.single_blocks) as usize,
        drops_text: model.drops_text,
    };
    let inner = pass.inner(&parts);
    let mut groups = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        groups.extend(pass.groups(at, part, &inner).unwrap_or_default());
    }
    let mut places = vec![None; kernels.len()];
    let times = pass.times(&groups);
    for group in &groups {
        let width = |(hidden, inner): Width| {
            let inner = inner.saturating_mul(model.inner);
            hidden.saturating_mul(model.hidden()).saturating_add(inner)
        };
        let [n, k] = group.size.map(width);
        let matrix = Matrix { batch: 1, n, k };
        let Some(rows) = pass.rows(group, &times, tokens) else {
            continue;
        };
        for (at, rows) in rows {
            if let Some(slot) = places.get_mut(at) {
                let role = group.role;
                *slot = Some(Place { role, rows, matrix });
            }
        }
    }
    places
}

struct Pass<'a> {
    kernels: &'a [Kernel],
    double: usize,
    blocks: usize,
    drops_text: bool,
}

impl Pass<'_> {
    fn kernel(&self, at: usize) -> Option<&Kernel> {
        self.kernels.get(at)
    }

    /// Total time and number of the kernels with a given name and role.
    fn times(&self, groups: &[Group]) -> Map<(Role, u32), (i64, i64)> {
        let mut times: Map<(Role, u32), (i64, i64)> = Map::default();
        for group in groups {
            for kernel in group.at.iter().filter_map(|at| self.kernel(*at)) {
                let (ns, n) = times.entry((group.role, kernel.name)).or_default();
                *ns = ns.saturating_add(kernel.ns);
                *n += 1;
            }
        }
        times
    }

    /// The rows of each GEMM of a group: with two streams, the slower half belongs to the stream with more tokens.
    fn rows(
        &self,
        group: &Group,
        times: &Map<(Role, u32), (i64, i64)>,
        tokens: ImageTokens,
    ) -> Option<Vec<(usize, Rows)>> {
        if let Some(rows) = group.rows {
            return Some(group.at.iter().map(|at| (*at, rows)).collect());
        }
        let (image, text) = (tokens.image as f64, tokens.text as f64);
        let names = || {
            group
                .at
                .iter()
                .filter_map(|at| Some(self.kernel(*at)?.name))
        };
        let first = names().next()?;
        let is_one_name = names().all(|name| name == first);
        let ns = |at: &usize| {
            let kernel = self.kernel(*at)?;
            let (ns, n) = times.get(&(group.role, kernel.name))?;
            Some(match is_one_name {
                true => kernel.ns as f64,
                false => *ns as f64 / (*n).max(1) as f64,
            })
        };
        let timed = group.at.iter().map(|at| Some((ns(at)?, *at)));
        let mut timed: Vec<(f64, usize)> = timed.collect::<Option<_>>()?;
        timed.arrange_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let (short, long) = timed.split_at(timed.len() / 2);
        let ratio = long.first()?.0 / short.last()?.0.max(1.0);
        let is_distinct = ratio >= LEAST_RATIO && image.max(text) >= image.min(text) * LEAST_RATIO;
        if !is_distinct && tokens.image != tokens.text {
            return None;
        }
        let of = match image > text {
            true => [Rows::Text, Rows::Image],
            false => [Rows::Image, Rows::Text],
        };
        let halves = [short, long].into_iter().zip(of);
        Some(
            halves
                .flat_map(|(half, rows)| half.iter().map(move |(_, at)| (*at, rows)))
                .collect(),
        )
    }
}
