//! Tokens of a diffusion transformer, by what is copied into the inputs of its graph.

use crate::profile::Profile;
use crate::profile::launch::is_graph_launch;
use crate::trace::{ByName, Category, Dims, EventId};

/// Tokens of a denoising step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageTokens {
    /// Of the image.
    pub image: u64,
    /// Of the text.
    pub text: u64,
}

impl ImageTokens {
    /// Those of the first graph that is launched, by the operator right before the launch; `None` where
    /// that copies no such inputs.
    ///
    /// Both inputs are of batch × tokens × width, and for each are positions of tokens × 3. An
    /// image has few channels to a token, and text as many as its encoder is wide.
    pub fn of(profile: &Profile) -> Option<ImageTokens> {
        let (trace, events) = (&profile.trace, &profile.trace.events);
        let mut is_graph = ByName::new(is_graph_launch);
        let launches = events
            .ids()
            .filter(|event| events.category(*event).is_runtime());
        let launch = launches
            .filter(|event| is_graph.of(trace, *event))
            .min_by_key(|event| events.ts_ns(*event))?;
        let (track, until) = (events.track(launch), events.ts_ns(launch));
        let before = events.ids().filter(|event| {
            events.category(*event) == Category::CpuOp
                && events.track(*event) == track
                && events.ts_ns(*event) < until
        });
        let copies = before.filter(|event| trace.name(*event).contains("copy"));
        let last = copies.max_by_key(|event| events.ts_ns(*event))?;
        let shapes = shapes(profile, last)?;
        let has_positions = |tokens: i64| shapes.iter().any(|shape| *shape == [tokens, 3]);
        let inputs = shapes.iter().filter_map(|shape| match *shape {
            [_, tokens, width] if has_positions(*tokens) => Some((*width, *tokens)),
            _ => None,
        });
        let mut inputs: Vec<(i64, i64)> = inputs.collect();
        inputs.sort_unstable();
        inputs.dedup();
        let [(_, image), (_, text)] = inputs[..] else {
            return None;
        };
        Some(ImageTokens {
            image: u64::try_from(image).ok()?,
            text: u64::try_from(text).ok()?,
        })
    }
}

/// The shapes that an operator was given.
fn shapes(profile: &Profile, op: EventId) -> Option<Vec<&[i64]>> {
    let trace = &profile.trace;
    let args = trace.args.get(trace.events.op_args(op)?)?;
    let ids = args.dims.as_deref()?.iter().flat_map(|dims| match dims {
        Dims::One(shape) => std::slice::from_ref(shape),
        Dims::Many(shapes) => shapes,
    });
    Some(ids.map(|id| trace.args.shape(*id)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    /// What a copy right before a graph is given.
    fn tokens(dims: &str) -> Option<(u64, u64)> {
        let profile = Timetable::new()
            .op("aten::_foreach_copy_", 0..10)
            .args(&format!(
                r#""Input Dims": {dims}, "Input type": ["TensorList", "TensorList"]"#
            ))
            .runtime("cudaGraphLaunch", 5, 20..30)
            .kernel(5, "sage_fwd", 40..50)
            .profile();
        ImageTokens::of(&profile).map(|tokens| (tokens.image, tokens.text))
    }

    #[test]
    fn image_and_text_by_their_positions() {
        let flux = "[[[1], [1], [1, 768], [1, 256, 64], [1, 512, 4096], [512, 3], [256, 3]], []]";
        assert_eq!(tokens(flux), Some((256, 512)));
        assert_eq!(tokens("[[[1, 256, 64], [1, 512, 4096]], []]"), None);
        assert_eq!(tokens("[[[1, 256, 64], [256, 3]], []]"), None);
    }
}
