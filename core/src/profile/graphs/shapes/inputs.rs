//! Token counts of a diffusion transformer, from the copies into the inputs of its graph.

use crate::base::sort::Arranged;
use crate::perf::model_config::DiffusionModel;
use crate::profile::Profile;
use crate::profile::launch::is_graph_launch;
use crate::trace::{Category, Dims, EventId, TrackId};

/// Token counts of a denoising step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageTokens {
    /// Number of images, each with a text.
    pub batch: u64,
    /// Tokens per image.
    pub image: u64,
    /// Tokens per text.
    pub text: u64,
}

impl ImageTokens {
    /// From the first graph with recognizable inputs among the copies before its launch: by the widths in the model's
    /// configuration, otherwise by their position ids; `None` if there is none.
    pub fn of(profile: &Profile) -> Option<ImageTokens> {
        *profile.once(|| ImageTokens::find(profile))
    }

    fn find(profile: &Profile) -> Option<ImageTokens> {
        let config = profile.sources.config.as_ref();
        let model = config.and_then(|config| config.diffusion());
        inputs_of_graphs(profile).iter().find_map(|shapes| {
            let of_model = model.and_then(|model| by_widths(model, shapes));
            of_model.or_else(|| by_positions(shapes))
        })
    }

    fn new(batch: i64, image: i64, text: i64) -> Option<ImageTokens> {
        let size = |size: i64| u64::try_from(size).ok().filter(|size| *size > 0);
        Some(ImageTokens {
            batch: size(batch)?,
            image: size(image)?,
            text: size(text)?,
        })
    }
}

/// Image and text by their widths: tokens with the model's number of channels, or an image that the model cuts into
/// patches; and tokens as wide as the text encoder's output.
fn by_widths(model: &DiffusionModel, shapes: &[&[i64]]) -> Option<ImageTokens> {
    let (channels, width) = (model.channels? as i64, model.text_width? as i64);
    let patch = (model.patch as i64).max(1);
    let image = only(shapes, |shape| match *shape {
        [batch, tokens, of_token] if of_token == channels => Some((batch, tokens)),
        [batch, of_pixel, height, width] if of_pixel == channels => {
            Some((batch, (height / patch).checked_mul(width / patch)?))
        }
        _ => None,
    })?;
    let text = only(shapes, |shape| match *shape {
        [batch, tokens, of_token] if of_token == width => Some((batch, tokens)),
        _ => None,
    })?;
    (image.0 == text.0).then(|| ImageTokens::new(image.0, image.1, text.1))?
}

/// The value extracted from some shapes, if it is unique.
fn only(shapes: &[&[i64]], extract: impl Fn(&[i64]) -> Option<(i64, i64)>) -> Option<(i64, i64)> {
    let mut all: Vec<(i64, i64)> = shapes.iter().filter_map(|shape| extract(shape)).collect();
    all.dedup();
    match all[..] {
        [one] => Some(one),
        _ => None,
    }
}

/// Both inputs are batch × tokens × width, and each has position ids of tokens × 3. Image tokens have few channels,
/// text tokens are as wide as the text encoder's output.
fn by_positions(shapes: &[&[i64]]) -> Option<ImageTokens> {
    let has_positions = |tokens: i64| shapes.iter().any(|shape| **shape == [tokens, 3]);
    let inputs = shapes.iter().filter_map(|shape| match **shape {
        [batch, tokens, width] if has_positions(tokens) => Some((width, tokens, batch)),
        _ => None,
    });
    let inputs = inputs.distinct();
    match inputs[..] {
        [(_, image, batch), (_, text, of_text)] if batch == of_text => {
            ImageTokens::new(batch, image, text)
        }
        _ => None,
    }
}

/// The shapes copied before each of the first graph launches, after the previous launch on the same thread.
fn inputs_of_graphs(profile: &Profile) -> Vec<Vec<&[i64]>> {
    /// A graph has fewer inputs than this, apart from its own weights and buffers.
    const MOST_COPIES: usize = 64;
    const MOST_LAUNCHES: usize = 64;
    let (trace, events) = (&profile.trace, &profile.trace.events);
    let launches = trace.named(Category::is_runtime, is_graph_launch);
    let launches = launches.map(|call| (events.ts_ns(call), events.track(call)));
    let launches = launches.arranged();
    if launches.is_empty() {
        return Vec::new();
    }
    let copies = trace.named(|of| of == Category::CpuOp, |name| name.contains("copy"));
    let copies = copies.filter(|op| !trace.captured.has(*op));
    let copies = copies.map(|op| (events.track(op), events.ts_ns(op), op));
    let copies = copies.arranged();
    let first = launches.iter().take(MOST_LAUNCHES).enumerate();
    let inputs = first.map(|(at, (until_ns, track))| {
        let earlier = launches.iter().take(at).rev();
        let since = earlier.into_iter().find(|(_, other)| other == track);
        let place = |ns: i64| copies.partition_point(|(of, start, _)| (*of, *start) < (*track, ns));
        let until = place(*until_ns);
        let from = place(since.map_or(i64::MIN, |(ns, _)| *ns));
        let from = from.max(until.saturating_sub(MOST_COPIES));
        let copies: &[(TrackId, i64, EventId)] = copies.get(from..until).unwrap_or_default();
        let shapes = copies.iter().flat_map(|(.., op)| shapes(profile, *op));
        shapes.collect()
    });
    inputs.collect()
}

/// The shapes of an operator's arguments.
fn shapes(profile: &Profile, op: EventId) -> impl Iterator<Item = &[i64]> {
    let trace = &profile.trace;
    let args = trace.events.op_args(op).and_then(|id| trace.args.get(id));
    let dims = args.and_then(|args| args.dims.as_deref());
    let ids = dims.into_iter().flatten().flat_map(Dims::shapes);
    ids.map(|id| trace.args.shape(*id))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::perf::model_config::parse;
    use crate::profile::graphs::shapes::ShapeSources;
    use crate::testing::Timetable;

    /// A graph launch after copies with the given shapes.
    fn graph(copies: &[&str]) -> Timetable {
        let mut timetable = Timetable::new();
        for (at, dims) in (0..).zip(copies) {
            timetable = timetable
                .op("aten::copy_", at * 10..at * 10 + 5)
                .args(&format!(
                    r#""Input Dims": {dims}, "Input type": ["c10::BFloat16", "c10::BFloat16"]"#
                ));
        }
        timetable
            .runtime("cudaGraphLaunch", 5, 900..920)
            .kernel(5, "sage_fwd", 940..950)
    }

    fn tokens(profile: &Profile) -> Option<(u64, u64, u64)> {
        ImageTokens::of(profile).map(|tokens| (tokens.batch, tokens.image, tokens.text))
    }

    #[test]
    fn image_and_text_by_their_positions() {
        let flux = "[[[1], [1], [1, 768], [1, 256, 64], [1, 512, 4096], [512, 3], [256, 3]], []]";
        let cases: [(&[&str], _); 4] = [
            (&[flux], Some((1, 256, 512))),
            // A copy for each of them inside the one for all.
            (&[flux, "[[256, 3], [256, 3]]"], Some((1, 256, 512))),
            (&["[[[1, 256, 64], [1, 512, 4096]], []]"], None),
            (&["[[[1, 256, 64], [256, 3]], []]"], None),
        ];
        for (copies, expected) in cases {
            assert_eq!(tokens(&graph(copies).profile()), expected, "{copies:?}");
        }
    }

    /// Two images at once, for guidance; each input is copied separately.
    #[test]
    fn image_and_text_by_the_widths_of_the_model() {
        let sd3 = r#"{"_class_name": "SD3Transformer2DModel", "num_layers": 2, "num_attention_heads": 2,
            "attention_head_dim": 64, "joint_attention_dim": 4096, "in_channels": 16, "patch_size": 2}"#;
        let config = Some(Arc::new(parse(sd3).unwrap()));
        let inputs = [
            "[[2, 16, 64, 32], [2, 16, 64, 32]]",
            "[[2, 333, 4096], [2, 333, 4096]]",
            "[[2, 2048], [2, 2048]]",
        ];
        let of_model = |copies: &[&str]| {
            tokens(&graph(copies).profile().with_sources(ShapeSources {
                config: config.clone(),
                ..ShapeSources::default()
            }))
        };
        assert_eq!(of_model(&inputs), Some((2, 512, 333)));
        assert_eq!(of_model(&inputs[..1]), None);
        assert_eq!(tokens(&graph(&inputs).profile()), None);
    }
}
