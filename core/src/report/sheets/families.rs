//! Sheets for operators of one kind: `GEMM`, `CONV_fwd`, `Reduce_bwd` and so on, with one row for each set of
//! parameters that the model reads from the arguments.
//!
//! Every call whose parameters TraceLens can read is counted, at any depth and also without GPU activity. So a kernel
//! may count in two rows, that of its operator and that of the operator around it; `unified_perf_summary` counts each
//! piece of GPU time once.

use super::call_key::args_cells_as;
use super::family_columns::param;
use super::unified_perf::{basis_cell, bound_cell, spread, total, work_cells};
use super::{SheetInput, family_columns as columns, kernel_details};
use crate::assess::rates::{rates, roofline_percents};
use crate::base::interval::sum;
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::base::stats::Stats;
use crate::hardware::roofline::roofline;
use crate::perf::{Modeled, Param, PerfModel, SheetFamily, Work, model, python_dict};
use crate::profile::Profile;
use crate::profile::cpu::autograd::Autograd;
use crate::profile::cpu::tree::NodeId;
use crate::profile::launch::GpuId;
use crate::profile::operations::busy_us;
use crate::profile::operations::perf_rows::{Binding, Pass, backward_work};
use crate::report::columns::{float, int};
use crate::report::python;
use crate::report::sheet::{Cell, Column};
use crate::trace::{Category, EventId, OpArgsId, StringId};

/// Calls of operators that TraceLens has a sheet for, in file order.
#[derive(Debug)]
pub(super) struct ModeledCalls {
    calls: Vec<(NodeId, EventId, &'static PerfModel)>,
    autograd: Autograd,
}

impl ModeledCalls {
    pub(super) fn new(profile: &Profile) -> ModeledCalls {
        let (trace, tree) = (&profile.trace, &profile.tree);
        let mut models: Map<StringId, Option<&'static PerfModel>> = Map::default();
        let mut calls = Vec::new();
        for node in tree.ids() {
            let Some(event) = tree.event(node) else {
                continue;
            };
            if trace.events.category(event) != Category::CpuOp {
                continue;
            }
            let name = trace.events.name(event);
            let of_name = || model(trace.strings.get(name)).filter(|model| model.is_reference);
            if let Some(model) = *models.entry(name).or_insert_with(of_name)
                && model.sheet != SheetFamily::Unlisted
            {
                calls.push((node, event, model));
            }
        }
        calls.arrange_by_key(|&(_, event, _)| event);
        ModeledCalls {
            calls,
            autograd: Autograd::new(trace),
        }
    }
}

/// Backward operators with a model of their own: they are in the backward sheet although their parameters come from
/// their own arguments, not from the forward call's.
const OWN_BACKWARD: [&str; 4] = [
    "flash_attn::_flash_attn_varlen_backward",
    "aten::convolution_backward",
    "ConvBias_Backward",
    "ConvBiasReLU_Backward",
];

/// Forward calls that the backward sheet leaves out because the operators above are there.
const NO_BACKWARD: [&str; 5] = [
    "aten::convolution",
    "aten::miopen_convolution",
    "aten::cudnn_convolution",
    "ConvBias_",
    "ConvBiasReLU_",
];

pub(super) struct Group {
    name: StringId,
    modeled: Modeled,
    /// The pass whose formula counts its calls.
    formula: Pass,
    is_recompute: bool,
    /// How many kernels each of its calls launches, if calls are grouped by that.
    n_kernels: Option<usize>,
    event: EventId,
    kernel_ns: Vec<i64>,
    /// The same as TraceLens rounds it; used to compute rates.
    pub(super) times_us: Vec<f64>,
    work: Vec<Vec<GpuId>>,
}

/// The columns and rows of a family's sheet; `pass` is the one in the sheet's name.
pub(super) fn table(
    input: &SheetInput,
    family: SheetFamily,
    pass: Pass,
) -> (Vec<Column>, Vec<Vec<Cell>>) {
    let mut groups = group(input.profile, input.modeled_calls(), family, pass);
    let mut names: Vec<&'static str> = Vec::new();
    for group in &groups {
        for (name, _) in &group.modeled.params {
            if !names.contains(name) && param(name).is_some() {
                names.push(name);
            }
        }
    }
    sort(&mut groups);
    let rows = groups.iter().map(|group| row(input, group, &names));
    let params = names.iter().filter_map(|name| param(name));
    (columns::all(params, &input.parts), rows.collect())
}

/// Calls by name and parameters, in row order.
pub(super) fn groups(
    profile: &Profile,
    all: &ModeledCalls,
    family: SheetFamily,
    pass: Pass,
) -> Vec<Group> {
    let mut groups = group(profile, all, family, pass);
    sort(&mut groups);
    groups
}

fn sort(groups: &mut [Group]) {
    groups.arrange_by_key(|group| {
        let kernel_ns = sum(group.kernel_ns.iter().copied());
        (std::cmp::Reverse(kernel_ns), group.event)
    });
}

/// Calls by name and parameters, in order of first appearance.
fn group(profile: &Profile, all: &ModeledCalls, family: SheetFamily, pass: Pass) -> Vec<Group> {
    type Known = (StringId, Option<OpArgsId>, Vec<StringId>, Pass);
    let trace = &profile.trace;
    let mut known: Map<Known, Option<usize>> = Map::default();
    let mut rows: Map<(StringId, String), usize> = Map::default();
    let mut distinct: Vec<Modeled> = Vec::new();
    let captured = !trace.captured.is_empty();
    let mut groups: Map<(usize, bool, Option<usize>), Group> = Map::default();
    for &(node, call, model) in &all.calls {
        if model.sheet != family {
            continue;
        }
        let Some(formula) = formula(model, pass) else {
            continue;
        };
        let Some(work) = work_in_order(profile, all, node, formula) else {
            continue;
        };
        let kernel = |id: &GpuId| profile.gpu.get(*id).map(|work| work.name);
        let key = (
            trace.events.name(call),
            trace.events.op_args(call),
            work.iter().filter_map(kernel).collect(),
            formula,
        );
        let name = key.0;
        let modeled = *known.entry(key).or_insert_with(|| {
            let modeled = Binding::new(model, call, formula).work(profile, &work)?;
            if modeled.params.is_empty() {
                return None;
            }
            let row = *rows
                .entry((name, python_dict(&modeled.params)))
                .or_insert(distinct.len());
            if row == distinct.len() {
                distinct.push(modeled);
            }
            Some(row)
        });
        let Some(modeled) = modeled else { continue };
        let recompute = profile.recompute.as_ref();
        let is_recompute = recompute.is_some_and(|recompute| recompute.has_node(node));
        let n_kernels = captured.then_some(work.len());
        let group = groups.entry((modeled, is_recompute, n_kernels));
        let group = group.or_insert_with(|| Group {
            name,
            modeled: distinct[modeled].clone(),
            formula,
            is_recompute,
            n_kernels,
            event: call,
            kernel_ns: Vec::new(),
            times_us: Vec::new(),
            work: Vec::new(),
        });
        group.kernel_ns.push(profile.gpu.busy_ns(&work));
        group.times_us.push(busy_us(profile, &work));
        group.work.push(work);
    }
    groups.into_values().collect()
}

/// What a call runs in a pass, by start; `None` if it is unknown.
fn work_in_order(
    profile: &Profile,
    all: &ModeledCalls,
    node: NodeId,
    pass: Pass,
) -> Option<Vec<GpuId>> {
    let mut work = match pass {
        Pass::Forward => profile.tree.gpu_work(node).to_vec(),
        Pass::Backward => backward_work(profile, &all.autograd, node)?,
    };
    work.arrange_by_key(|id| profile.gpu.get(*id).map(|work| (work.span.start_ns, *id)));
    Some(work)
}

/// The formula for the calls of an operator in the sheet of a pass; `None` leaves them out.
fn formula(model: &PerfModel, sheet: Pass) -> Option<Pass> {
    let is_own_backward = OWN_BACKWARD.contains(&model.op);
    match sheet {
        Pass::Forward => (!is_own_backward).then_some(Pass::Forward),
        Pass::Backward if is_own_backward => Some(Pass::Forward),
        Pass::Backward => {
            (model.backward.is_some() && !NO_BACKWARD.contains(&model.op)).then_some(Pass::Backward)
        }
    }
}

fn row(input: &SheetInput, group: &Group, names: &[&'static str]) -> Vec<Cell> {
    let profile = input.profile;
    let trace = &profile.trace;
    let text = |id: StringId| Cell::Text(trace.strings.get(id).to_owned());
    let work = work(input, group);
    let roofline = work
        .as_ref()
        .zip(input.options.gpu.as_ref())
        .and_then(|(work, gpu)| roofline(work, gpu, input.options.basis));
    let kernels = Stats::of_ns(&group.kernel_ns);
    let mut cells = vec![text(group.name)];
    cells.extend(names.iter().map(|name| {
        let value = group.modeled.params.iter().find(|(known, _)| known == name);
        let value = value.filter(|(_, value)| *value != Param::None);
        value.map_or(Cell::Empty, |(_, value)| Cell::Text(value.text()))
    }));
    cells.extend(group.n_kernels.map(int));
    if profile.recompute.is_some() {
        cells.push(Cell::Flag(group.is_recompute));
    }
    let [flops, bytes, intensity, spec] = work_cells(work.as_ref());
    cells.extend([flops, bytes, intensity]);
    let (moved, computed) = (
        work.and_then(|work| work.bytes),
        work.map(|work| work.flops),
    );
    for amount in [moved, computed] {
        cells.extend(spread(rates(&group.times_us, amount)));
    }
    let track = trace.tracks.get(trace.events.track(group.event));
    cells.extend(
        track
            .map_or([None; 3], |track| {
                [track.process_name, track.process_label, track.thread_name]
            })
            .map(|name| name.map_or(Cell::Text("Unknown".to_owned()), text)),
    );
    cells.push(spec);
    if input.options.gpu.is_some() {
        let time_us = roofline.map(|roofline| roofline.time_us);
        let percents = time_us.and_then(|us| roofline_percents(&group.times_us, us));
        cells.push(float(time_us));
        cells.push(bound_cell(roofline.as_ref()));
        cells.extend(spread(percents));
        cells.push(basis_cell(roofline.as_ref()));
    }
    let launched: Vec<&[GpuId]> = group.work.iter().map(Vec::as_slice).collect();
    cells.extend(kernel_details::cells(profile, &launched));
    let args = trace.events.op_args(group.event);
    cells.extend(args_cells_as(profile, args, python::LIST));
    cells.extend(spread(kernels));
    cells.push(total(kernels));
    cells.push(int(group.kernel_ns.len()));
    cells.push(int(trace.events.uid(group.event)));
    let work = group.work.iter().flat_map(|work| work.iter().copied());
    cells.extend(input.labels.cells(work));
    cells
}

/// The work of a call, from the user's model of the operator if there is one, otherwise from the built-in model.
fn work(input: &SheetInput, group: &Group) -> Option<Work> {
    let trace = &input.profile.trace;
    let models = input.options.perf_models.as_ref();
    let own = models
        .filter(|_| group.formula == Pass::Forward)
        .and_then(|models| {
            let args = trace.events.op_args(group.event);
            models.work_of(trace, trace.strings.get(group.name), args)
        });
    own.unwrap_or_else(|| Some(group.modeled.in_sheets(group.modeled.work)))
}
