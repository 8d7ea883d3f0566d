//! Message sizes of all-reduces in graphs: between the parts of a layer, they reduce the hidden states of all tokens.

use std::sync::Arc;

use super::tokens::Rows;
use super::{Source, passes};
use crate::base::interval::Interval;
use crate::profile::Profile;
use crate::trace::{EventId, TrackId};

/// The hidden states of a forward pass.
struct OfPass {
    track: TrackId,
    on_host: Interval,
    elements: f64,
    source: Source,
}

/// The hidden states of passes that replay graphs, if the model is known.
#[derive(Default)]
pub(crate) struct Messages {
    passes: Vec<OfPass>,
    /// Element type, in PyTorch's notation.
    dtype: String,
}

impl Messages {
    /// Computed once per profile.
    pub(crate) fn of(profile: &Profile) -> Arc<Messages> {
        profile.once(|| Messages::find(profile).unwrap_or_default())
    }

    fn find(profile: &Profile) -> Option<Messages> {
        let model = profile.known_model()?.config.language()?;
        let rows = Rows::of(profile, model.hidden);
        let passes = passes::find(profile);
        let of_pass = passes.iter().filter_map(|pass| {
            let (tokens, source) = rows.tokens(pass)?;
            Some(OfPass {
                track: pass.track,
                on_host: pass.on_host,
                elements: tokens as f64 * model.hidden as f64,
                source: source.max(Source::Config),
            })
        });
        let dtype = model.dtype.strip_prefix("c10::").unwrap_or(model.dtype);
        Some(Messages {
            passes: of_pass.collect(),
            dtype: dtype.to_owned(),
        })
    }

    /// Number of elements, their type, and the source of the sizes, for the pass that contains a call.
    pub(crate) fn at(&self, profile: &Profile, call: EventId) -> Option<(f64, String, Source)> {
        let events = &profile.trace.events;
        let (track, ts_ns) = (events.track(call), events.ts_ns(call));
        let mut passes = self.passes.iter();
        let pass = passes.find(|pass| pass.track == track && pass.on_host.contains(ts_ns))?;
        Some((pass.elements, self.dtype.clone(), pass.source))
    }
}
