//! What all-reduces in graphs move between the parts of a layer: the hidden states of all tokens.

use std::sync::Arc;

use super::Source;
use super::passes;
use super::tokens::Rows;
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

/// The hidden states of the passes that replay graphs, where the model is known.
#[derive(Default)]
pub(crate) struct Messages {
    passes: Vec<OfPass>,
    /// Of the elements, as PyTorch calls it.
    dtype: String,
}

impl Messages {
    /// Found once.
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

    /// Elements, their type, and where the sizes come from, of the pass that a call is of.
    pub(crate) fn at(&self, profile: &Profile, call: EventId) -> Option<(f64, String, Source)> {
        let events = &profile.trace.events;
        let (track, ts_ns) = (events.track(call), events.ts_ns(call));
        let mut passes = self.passes.iter();
        let pass = passes.find(|pass| pass.track == track && pass.on_host.contains(ts_ns))?;
        Some((pass.elements, self.dtype.clone(), pass.source))
    }
}
