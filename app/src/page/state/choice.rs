//! What a trace is analyzed with: the choices in the place, and the user's own GPU specs and models.

use dormer_core::base::format;
use leptos::prelude::*;

use super::AppState;
use super::storage::store_own_gpu;
use crate::protocol::{Choice, OWN};

/// The user's own GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnGpu {
    /// Its display name.
    pub name: String,
    /// The text of its spec file.
    pub text: String,
}

/// The user's own performance models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnModels {
    pub file_name: String,
    pub text: String,
    /// How many models it has.
    pub n_models: usize,
}

impl AppState {
    /// The user's choice, as a signal.
    pub fn choice(self) -> Memo<Choice> {
        Memo::new(move |_| self.whole_choice())
    }

    /// The choice in the place, plus the specs and models that the hash does not contain.
    pub fn whole_choice(self) -> Choice {
        let mut choice = self.place.with(|place| place.choice.clone());
        let own = self.own_gpu.get();
        let figures = |gpu: &Option<String>| {
            let name = gpu.as_deref()?.strip_prefix(OWN)?;
            let own = own.as_ref().filter(|own| own.name == name);
            own.map(|own| own.text.clone())
        };
        choice.profile = figures(&choice.gpu);
        choice.reference_profile = figures(&choice.reference_gpu);
        choice.perf_models = self.own_models.get().map(|models| models.text);
        choice
    }

    /// The user's own GPU that a link names but whose specs are missing here.
    pub fn missing_gpu(self) -> Option<String> {
        let choice = self.whole_choice();
        let name = choice.gpu.as_deref()?.strip_prefix(OWN)?;
        choice.profile.is_none().then(|| name.to_owned())
    }

    /// Uses the user's own specs, or drops them; stores them in the browser only if the user wants that.
    pub fn set_own_gpu(self, own: Option<OwnGpu>, keep: bool) {
        let stored = own.as_ref().filter(|_| keep);
        store_own_gpu(stored);
        self.own_gpu_is_stored.set(stored.is_some());
        let name = own.as_ref().map(|own| format!("{OWN}{}", own.name));
        self.own_gpu.set(own);
        self.go(|place| {
            let chosen = &mut place.choice.gpu;
            // If a built-in GPU is chosen, dropping the user's own leaves it chosen.
            if name.is_some() || chosen.as_deref().is_some_and(|gpu| gpu.starts_with(OWN)) {
                *chosen = name;
            }
        });
    }

    /// Another trace is opened: resets the choices made for the previous one, except settings and a pinned GPU. Records
    /// what was carried over.
    pub fn reset_for_other_trace(self) {
        self.forget_focus();
        let is_pinned = self.gpu_is_pinned.get_untracked();
        self.go(|place| {
            let choice = &mut place.choice;
            choice.reference_gpu = None;
            if !is_pinned {
                choice.gpu = None;
            }
        });
        let carried = self.place.with_untracked(|place| carried(&place.choice));
        let models = self.own_models.with_untracked(Option::is_some);
        let models = models.then(|| "custom perf models".to_owned());
        self.carried
            .set(carried.into_iter().chain(models).collect());
    }

    /// Resets to the choices of a newly opened page.
    pub fn drop_carried(self) {
        self.gpu_is_pinned.set(false);
        self.own_models.set(None);
        self.carried.set(Vec::new());
        self.go(|place| {
            place.choice = Choice {
                window: place.choice.window,
                device: place.choice.device.clone(),
                ..Choice::default()
            };
        });
    }
}

/// The choices that differ from the defaults, in words.
fn carried(choice: &Choice) -> Vec<String> {
    let n_thresholds = choice.thresholds.len() as u64;
    let parts = [
        choice.gpu.as_ref().map(|gpu| {
            let name = gpu.strip_prefix(OWN).unwrap_or(gpu);
            format!("GPU {name} (pinned)")
        }),
        (n_thresholds > 0).then(|| format::counted(n_thresholds, "threshold")),
        choice.peak.then(|| "peak figures".to_owned()),
        choice.all_gpu_events.then(|| "all GPU events".to_owned()),
    ];
    parts.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_carried_over_is_said() {
        assert_eq!(carried(&Choice::default()), [""; 0]);
        let choice = Choice {
            gpu: Some("own:Mine".to_owned()),
            peak: true,
            thresholds: [("short_kernel_us".to_owned(), 2.5)].into(),
            ..Choice::default()
        };
        assert_eq!(
            carried(&choice),
            ["GPU Mine (pinned)", "1 threshold", "peak figures"]
        );
    }
}
