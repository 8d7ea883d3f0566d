//! The possible arrangements of each part between two attentions, and the only one that matches.

use super::super::roles::Part;
use super::{Pass, Rows};
use crate::base::sort::Arrange;
use crate::names::layer::Step;
use crate::perf::model_config::Role;

/// Kernels with a tile side up to this are made for few rows.
const FEW_ROWS: u64 = 16;

/// GEMMs with the same role, of both streams together.
pub(super) struct Group {
    pub(super) role: Role,
    /// `None` if half of them are for the image and half for the text.
    pub(super) rows: Option<Rows>,
    /// N and K, in multiples of the hidden size and of the intermediate size of an MLP.
    pub(super) size: [Width; 2],
    pub(super) at: Vec<usize>,
}

/// A dimension of a weight: multiples of the hidden size, and of the intermediate size of an MLP.
pub(super) type Width = (u64, u64);
const HIDDEN: Width = (1, 0);
const INNER: Width = (0, 1);

/// Properties of the parts between two blocks of the same kind: the number of GEMMs before attention, and the kernel
/// names of these and of the modulation.
#[derive(Default)]
pub(super) struct Inner {
    double_inputs: Option<usize>,
    single_inputs: Option<usize>,
    /// Whether the MLP of single-stream blocks follows attention.
    mlp_follows: bool,
    names: Vec<u32>,
    modulation: Vec<u32>,
}

/// The GEMMs of a part: those for few rows and the others; and for each activation, how many of the others precede it.
struct Split {
    narrow: Vec<usize>,
    wide: Vec<usize>,
    marks: Vec<usize>,
}

impl Pass<'_> {
    pub(super) fn inner(&self, parts: &[Part]) -> Inner {
        let mut inner = Inner::default();
        for (at, part) in parts.iter().enumerate().skip(1) {
            let is_double = at < self.double;
            if at == self.double || at >= self.blocks {
                continue;
            }
            let known = match is_double {
                true => inner.double_inputs,
                false => inner.single_inputs,
            };
            let groups = self.groups(at, part, &Inner::default());
            let Some(groups) = groups.filter(|_| known.is_none()) else {
                continue;
            };
            let of = |wanted: &[Role]| -> Vec<usize> {
                let of_role = groups.iter().filter(|group| wanted.contains(&group.role));
                of_role.flat_map(|group| group.at.iter().copied()).collect()
            };
            let inputs: Vec<usize> = of(&INPUTS);
            let fused = groups.iter().any(|group| group.role == Role::QkvAndUp);
            let n = if fused { 0 } else { inputs.len() };
            match is_double {
                true => inner.double_inputs = Some(n),
                false => inner.single_inputs = Some(n),
            }
            if !is_double {
                inner.mlp_follows = of(&[Role::Up]).first() < of(&[Role::MlpAndOutput]).first();
            }
            if is_double {
                let names = |at: Vec<usize>| {
                    let names = at.into_iter().filter_map(|at| self.kernel(at));
                    names.map(|kernel| kernel.name).collect()
                };
                inner.names = names(inputs);
                inner.modulation = names(of(&[Role::Modulation]));
            }
        }
        inner
    }

    /// Splits the GEMMs of a part. If no kernel is made for few rows, `modulations` GEMMs are taken as the modulation,
    /// if that leaves one of the possible counts for the others.
    fn split(&self, part: &Part, counts: &[usize], modulations: usize) -> Option<Split> {
        let side = |at: &usize| self.kernel(*at).and_then(|kernel| kernel.side);
        let is_few = |at: &usize| side(at).is_some_and(|side| side <= FEW_ROWS);
        let (mut narrow, mut wide): (Vec<usize>, Vec<usize>) =
            part.gemms.iter().copied().partition(is_few);
        let has_more = || counts.iter().any(|n| n + modulations == wide.len());
        if narrow.is_empty() && !counts.contains(&wide.len()) && has_more() {
            // Those with the smallest tiles, if all others have larger ones.
            let mut sides: Vec<u64> = wide.iter().map(side).collect::<Option<_>>()?;
            sides.arrange();
            let least = *sides.get(modulations)?;
            (narrow, wide) = wide.into_iter().partition(|at| side(at) < Some(least));
            if narrow.len() != modulations {
                return None;
            }
        }
        let marks = self
            .activations(part)
            .map(|until| wide.iter().filter(|gemm| **gemm < until).count());
        Some(Split {
            marks: marks.collect(),
            narrow,
            wide,
        })
    }

    /// Positions of the activations of a part; one that is fused into a GEMM counts as after it.
    fn activations(&self, part: &Part) -> impl Iterator<Item = usize> {
        part.range.clone().filter_map(|at| {
            let kernel = self.kernel(at).filter(|kernel| kernel.activates)?;
            Some(at + usize::from(kernel.step == Step::Gemm))
        })
    }

    /// The GEMMs of the part before an attention; `None` if unknown.
    pub(super) fn groups(&self, at: usize, part: &Part, inner: &Inner) -> Option<Vec<Group>> {
        match at {
            0 if self.double > 0 => self.start(part, inner),
            0 => None,
            _ if at < self.double => self.between_double(at, part),
            _ if at == self.double && at < self.blocks => self.to_single(part, inner),
            _ if at < self.blocks => self.between_single(part),
            _ if self.double < self.blocks => self.end_of_single(part, inner),
            _ => self.end_of_double(part),
        }
    }

    /// The part before the first attention: its last GEMMs are the inputs, if their kernels are the same as in other
    /// blocks.
    fn start(&self, part: &Part, inner: &Inner) -> Option<Vec<Group>> {
        let split = self.split(part, &[], 0)?;
        let name = |at: &usize| self.kernel(*at).map(|kernel| kernel.name);
        let are = |at: &[usize], names: &[u32]| {
            at.iter()
                .all(|at| name(at).is_some_and(|name| names.contains(&name)))
        };
        let last = |all: &[usize], n: usize| Some(all.get(all.len().checked_sub(n)?..)?.to_vec());
        let mut groups = Vec::new();
        let inputs = inner.double_inputs.and_then(|n| last(&split.wide, n));
        if let Some(inputs) = inputs.filter(|at| are(at, &inner.names)) {
            groups.push(inputs_of(None, inputs)?);
        }
        let modulation = last(&split.narrow, 2);
        if let Some(at) = modulation.filter(|at| are(at, &inner.modulation)) {
            groups.push(modulation_of(6, at));
        }
        Some(groups)
    }

    fn between_double(&self, at: usize, part: &Part) -> Option<Vec<Group>> {
        let split = self.split(part, &[12, 8], 2)?;
        let (mut groups, rest) = two_streams(&split)?;
        if !matches!(rest.len(), 6 | 2) {
            return None;
        }
        groups.push(inputs_of(None, rest)?);
        // In the last block, the text stream needs no gates if it ends there.
        let are_alike = !(self.drops_text && at + 1 == self.blocks);
        if split.narrow.len() == 2 && are_alike {
            groups.push(modulation_of(6, split.narrow));
        }
        Some(groups)
    }

    /// From the last double-stream block to the first single-stream block, whose MLP may precede its attention.
    fn to_single(&self, part: &Part, inner: &Inner) -> Option<Vec<Group>> {
        const TWO_STREAMS: usize = 6;
        let inputs = inner.single_inputs?;
        let has_up = self.activations(part).count() == 3;
        let n = TWO_STREAMS + inputs.max(1) + usize::from(has_up && inputs > 0);
        let mut split = self.split(part, &[n], 1)?;
        let up = split.marks.pop_if(|_| has_up).filter(|_| inputs > 0);
        let (mut groups, mut rest) = two_streams(&split)?;
        if let Some(mark) = up {
            let up = *split.wide.get(mark.checked_sub(1)?)?;
            let at = rest.iter().position(|at| *at == up)?;
            let up = vec![rest.remove(at)];
            groups.push(Group::of(Role::Up, Rows::Both, [INNER, HIDDEN], up));
        }
        groups.push(match (inputs, rest.len()) {
            (0, 1) => fused_input(rest),
            (inputs, n) if inputs == n => inputs_of(Some(Rows::Both), rest)?,
            _ => return None,
        });
        if split.narrow.len() == 1 {
            groups.push(modulation_of(3, split.narrow));
        }
        Some(groups)
    }

    fn between_single(&self, part: &Part) -> Option<Vec<Group>> {
        let split = self.split(part, &[5, 3], 1)?;
        let [mark] = split.marks[..] else { return None };
        let mut wide = split.wide;
        let mut groups = match (wide.len(), mark) {
            // Q, K, V and the MLP in one GEMM, whose activation may or may not wait for attention.
            (2, 0 | 2) if !split.narrow.is_empty() => {
                let input = wide.split_off(1);
                vec![both_outputs(wide), fused_input(input)]
            }
            // Three may be two and a modulation that cannot be identified by name.
            (3, _) if split.narrow.is_empty() => return None,
            (5 | 3, 1..) => {
                let (up, output) = if mark == 1 { (0, 1) } else { (mark - 1, 0) };
                let (up, output) = (*wide.get(up)?, *wide.get(output)?);
                wide.retain(|at| ![up, output].contains(at));
                vec![
                    Group::of(Role::Up, Rows::Both, [INNER, HIDDEN], vec![up]),
                    both_outputs(vec![output]),
                    inputs_of(Some(Rows::Both), wide)?,
                ]
            }
            _ => return None,
        };
        if split.narrow.len() == 1 {
            groups.push(modulation_of(3, split.narrow));
        }
        Some(groups)
    }

    fn end_of_single(&self, part: &Part, inner: &Inner) -> Option<Vec<Group>> {
        let has_up = inner.single_inputs? > 0 && inner.mlp_follows;
        let split = self.split(part, &[], 1).filter(has_modulation)?;
        let mut groups = Vec::new();
        let output = match split.marks[..] {
            [1] if has_up => {
                let up = vec![*split.wide.first()?];
                groups.push(Group::of(Role::Up, Rows::Both, [INNER, HIDDEN], up));
                1
            }
            [] | [0] if !has_up => 0,
            _ => return None,
        };
        groups.push(both_outputs(vec![*split.wide.get(output)?]));
        groups.push(modulation_of(2, split.narrow));
        Some(groups)
    }

    fn end_of_double(&self, part: &Part) -> Option<Vec<Group>> {
        let split = self.split(part, &[], 1).filter(has_modulation)?;
        let mut groups = match split.marks[..] {
            // Only the image stream continues.
            [2] => {
                let [output, up, down] = *split.wide.get(..3)? else {
                    return None;
                };
                let image = |role, size, at| Group::of(role, Rows::Image, size, vec![at]);
                vec![
                    image(Role::Output, [HIDDEN, HIDDEN], output),
                    image(Role::Up, [INNER, HIDDEN], up),
                    image(Role::Down, [HIDDEN, INNER], down),
                ]
            }
            _ => two_streams(&split)?.0,
        };
        groups.push(modulation_of(2, split.narrow));
        Some(groups)
    }
}

/// Whether the modulation of the last norm is identified unambiguously.
fn has_modulation(split: &Split) -> bool {
    split.narrow.len() == 1
}

const INPUTS: [Role; 3] = [Role::AttentionInput, Role::Qkv, Role::QkvAndUp];

impl Group {
    fn of(role: Role, rows: Rows, size: [Width; 2], at: Vec<usize>) -> Group {
        Group {
            role,
            rows: Some(rows),
            size,
            at,
        }
    }
}

/// Linear layers on the conditioning, with N as a multiple of the hidden size.
fn modulation_of(columns: u64, at: Vec<usize>) -> Group {
    let size = [(columns, 0), HIDDEN];
    Group::of(Role::Modulation, Rows::Conditioning, size, at)
}

/// Projects the intermediate activations of the MLP and the attention output to the hidden size.
fn both_outputs(at: Vec<usize>) -> Group {
    Group::of(Role::MlpAndOutput, Rows::Both, [HIDDEN, (1, 1)], at)
}

fn fused_input(at: Vec<usize>) -> Group {
    Group::of(Role::QkvAndUp, Rows::Both, [(3, 1), HIDDEN], at)
}

/// Q, K and V: separate GEMMs or a single one, for one stream or two.
fn inputs_of(rows: Option<Rows>, at: Vec<usize>) -> Option<Group> {
    let streams = if rows.is_none() { 2 } else { 1 };
    let (role, columns) = match at.len() {
        n if n == 3 * streams => (Role::AttentionInput, HIDDEN),
        n if n == streams => (Role::Qkv, (3, 0)),
        _ => return None,
    };
    Some(Group {
        role,
        rows,
        size: [columns, HIDDEN],
        at,
    })
}

/// The output projections and MLPs of both streams, and the GEMMs after them.
fn two_streams(split: &Split) -> Option<(Vec<Group>, Vec<usize>)> {
    let [first, second] = split.marks[..] else {
        return None;
    };
    // Consecutive activations belong to interleaved MLPs.
    let (ups, downs) = match first == second {
        true => ([first.checked_sub(2)?, first - 1], [first, first + 1]),
        false => (
            [first.checked_sub(1)?, second.checked_sub(1)?],
            [first, second],
        ),
    };
    let mut mlps = [ups, downs].concat();
    mlps.arrange();
    mlps.dedup();
    let last_up = ups[0].max(ups[1]);
    let others = (0..split.wide.len()).filter(|at| !mlps.contains(at));
    let (outputs, rest): (Vec<usize>, Vec<usize>) = others.partition(|at| *at < last_up);
    if mlps.len() != 4 || outputs.len() != 2 {
        return None;
    }
    let at = |places: &[usize]| -> Option<Vec<usize>> {
        places
            .iter()
            .map(|at| split.wide.get(*at).copied())
            .collect()
    };
    let group = |role, size, places: &[usize]| {
        Some(Group {
            role,
            rows: None,
            size,
            at: at(places)?,
        })
    };
    let groups = vec![
        group(Role::Output, [HIDDEN, HIDDEN], &outputs)?,
        group(Role::Up, [INNER, HIDDEN], &ups)?,
        group(Role::Down, [HIDDEN, INNER], &downs)?,
    ];
    Some((groups, at(&rest)?))
}
