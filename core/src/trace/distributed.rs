//! The distributed job of a recording: its ranks and groups, as written by the profiler.

use super::Trace;

/// The profiler's description of the job: `distributedInfo`.
pub(crate) fn info(trace: &Trace) -> Option<serde_json::Value> {
    let mut metadata = trace.metadata.iter();
    let (_, text) = metadata.find(|(key, _)| key == "distributedInfo")?;
    serde_json::from_str(text).ok()
}

impl Trace {
    /// The rank of the recording, if its job has several.
    pub fn rank(&self) -> Option<u64> {
        let world_size = info(self)?.get("world_size")?.as_u64()?;
        rank(self).filter(|_| world_size > 1)
    }
}

/// The rank of the recording.
pub(crate) fn rank(trace: &Trace) -> Option<u64> {
    info(trace)?.get("rank")?.as_u64()
}

/// The number of GPUs that share each layer, if the recording shows it: the world size if that is 1 or if all groups of
/// several ranks have that size.
pub(crate) fn layer_ranks(trace: &Trace) -> Option<u64> {
    let info = info(trace)?;
    let world = info.get("world_size")?.as_u64()?;
    let groups = info.get("pg_config").and_then(|groups| groups.as_array());
    let sizes = groups
        .into_iter()
        .flatten()
        .filter_map(|group| group.get("pg_size")?.as_u64());
    let is_one_group = sizes.filter(|size| *size > 1).all(|size| size == world);
    (world == 1 || is_one_group).then_some(world)
}
