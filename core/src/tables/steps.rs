//! The rows of steps.

use super::Value;
use crate::job::Digest;
use crate::profile::Profile;
use crate::profile::window::begin_ns;

pub(super) fn rows(profile: &Profile, digest: &Digest) -> Vec<Vec<Value>> {
    let begin_ns = begin_ns(&profile.trace);
    let has_gpu = profile.has_gpu_events();
    let steps = digest.steps.iter().zip(0_i32..).map(|(step, at)| {
        let gpu = has_gpu.then_some(step.gpu);
        let span = gpu.map_or(step.host, |gpu| gpu.span);
        vec![
            at.into(),
            digest.text(step.name).into(),
            span.start_ns.saturating_sub(begin_ns).into(),
            span.length().into(),
            gpu.map(|gpu| gpu.computation_ns).into(),
            gpu.map(|gpu| gpu.exposed_comm_ns).into(),
            gpu.map(|gpu| gpu.exposed_copies_ns).into(),
            gpu.map(|gpu| gpu.idle_ns).into(),
        ]
    });
    steps.collect()
}
