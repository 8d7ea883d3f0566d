//! Roles of the kernels of MoE layers, and the time of each.

use crate::base::map::Map;
use crate::findings::prelude::*;
use crate::names::collective::is_of_experts;
use crate::names::moe::MoeRole;
use crate::perf::model_config::Role;
use crate::profile::Profile;
use crate::profile::gpu::timeline::GpuClass;
use crate::profile::launch::GpuId;
use crate::profile::operations::Operation;
use crate::profile::operations::kinds::moe::MoeRoles;

/// The role of an operation: by the sizes for its place in the layer, else the common role of its kernels, if there is
/// one. A GEMM without evidence of a second one may be the whole expert computation.
pub(in crate::findings) fn role(profile: &Profile, operation: &Operation) -> MoeRole {
    match operation.estimate.as_ref().map(|estimate| estimate.role) {
        Some(Role::ExpertsUp) => return MoeRole::Gemm1,
        Some(Role::ExpertsDown) => return MoeRole::Gemm2,
        _ => {}
    }
    let label = operation.key.label;
    let by_name = MoeRole::of(operation.short_name(profile), label);
    if matches!(by_name, MoeRole::Gemm1 | MoeRole::Gemm2) {
        return by_name;
    }
    let roles = MoeRoles::of(profile);
    let mut of_kernels = operation.work().map(|id| roles.get(id));
    let first = of_kernels.next().flatten();
    let common = first.filter(|_| of_kernels.all(|role| role == first));
    match common.unwrap_or(by_name) {
        MoeRole::Gemm if label != "MoE_unfused" => MoeRole::Fused,
        role => role,
    }
}

/// The role of a kernel within an operation of an MoE layer.
fn within(
    profile: &Profile,
    roles: &MoeRoles,
    operation: &Operation,
    id: GpuId,
) -> Option<MoeRole> {
    let of_operation = MoeRole::of(operation.short_name(profile), operation.key.label);
    match (roles.get(id), of_operation) {
        // The operator knows which GEMM it is, its kernel may not.
        (Some(role), MoeRole::Gemm1 | MoeRole::Gemm2) if role.is_gemm() => Some(of_operation),
        (Some(role), _) => Some(role),
        (None, MoeRole::Fused) if !operation.is_kernel() => None,
        (None, role) => Some(role),
    }
}

/// The share of each role in the category and in the time that the GPU is busy. Communication between GPUs is not part
/// of the category.
pub(super) fn table(input: &Input, rows: &[Row]) -> Table {
    let (profile, roles) = (input.profile, MoeRoles::of(input.profile));
    let mut of_role: Map<Option<MoeRole>, (u64, i64)> = Map::default();
    let mut add = |role, id| {
        let work = profile.gpu.get(id);
        let ns = work.map_or(0, |work| work.span.length());
        let (n, all_ns): &mut (u64, i64) = of_role.entry(role).or_default();
        (*n, *all_ns) = (*n + 1, all_ns.saturating_add(ns));
    };
    for row in rows {
        let operation = input.operation(row.operation);
        for id in operation.work() {
            add(within(profile, &roles, operation, id), id);
        }
    }
    for id in exchanges(input) {
        add(Some(MoeRole::Dispatch), id);
    }
    let category_ns = sum(rows.iter().map(|row| row.time_ns));
    let busy_ns = input.timelines.whole.map_or(0, |whole| whole.busy_ns);
    let roles = of_role
        .into_iter()
        .map(|(role, (n, ns))| (role, n, ns))
        .arranged_by_key(|(role, _, ns)| (std::cmp::Reverse(*ns), *role));
    let label = |role: Option<MoeRole>| role.map_or("other", MoeRole::label).to_owned();
    let of_category = |role: Option<MoeRole>, ns| {
        percent_of(ns, category_ns).filter(|_| role != Some(MoeRole::Dispatch))
    };
    #[rustfmt::skip]
    let columns: &[CellColumn<&(Option<MoeRole>, u64, i64)>] = &[
        ("role", "Role", &|(role, ..)| Value::Text(label(*role))),
        ("count", "Kernels", &|(_, n, _)| Value::Count(*n)),
        ("total_time", "Time", &|(.., ns)| Value::Ns(*ns)),
        ("percent_of_category", "% of MoE", &|(role, _, ns)| Value::percent(of_category(*role, *ns))),
        ("percent_of_busy", "% of busy time", &|(.., ns)| Value::percent(percent_of(*ns, busy_ns))),
    ];
    Table::of("roles", "Roles of kernels", &roles, columns)
}

/// Kernels that move tokens to the GPUs of their experts and back.
fn exchanges(input: &Input) -> Vec<GpuId> {
    let all = input.profile.gpu.iter();
    let all = all.filter(|(_, work)| work.class == GpuClass::Communication);
    let strings = &input.profile.trace.strings;
    all.filter(|(_, work)| is_of_experts(strings.get(work.name)))
        .map(|(id, _)| id)
        .collect()
}
