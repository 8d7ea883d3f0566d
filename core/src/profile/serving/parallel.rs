//! How many GPUs share a model.

use crate::trace::Trace;

/// The number of GPUs that share each layer, where the recording tells: the one group of several ranks,
/// or 1.
pub fn tensor_parallel(trace: &Trace) -> Option<u64> {
    let (_, text) = trace
        .metadata
        .iter()
        .find(|(key, _)| key == "distributedInfo")?;
    let info: serde_json::Value = serde_json::from_str(text).ok()?;
    let world = info.get("world_size")?.as_u64()?;
    let groups = info.get("pg_config").and_then(|groups| groups.as_array());
    let sizes = groups
        .into_iter()
        .flatten()
        .filter_map(|group| group.get("pg_size")?.as_u64());
    let is_one_group = sizes.filter(|size| *size > 1).all(|size| size == world);
    (world == 1 || is_one_group).then_some(world)
}
