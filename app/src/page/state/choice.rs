//! By what a trace is judged: the choices of the place, and the figures and models of the user's own.

use dormer_core::base::format;
use leptos::prelude::*;

use super::AppState;
use super::kept::keep_own_gpu;
use crate::protocol::{Choice, OWN};

/// Figures of the user's own GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnGpu {
    /// What to call it.
    pub name: String,
    /// The text of a file with its figures.
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
    /// The user's choice; read as a signal.
    pub fn choice(self) -> Memo<Choice> {
        Memo::new(move |_| self.whole_choice())
    }

    /// The choice of the place, with the figures and models that the hash does not have.
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

    /// The user's own GPU that a link names and whose figures are not here.
    pub fn missing_gpu(self) -> Option<String> {
        let choice = self.whole_choice();
        let name = choice.gpu.as_deref()?.strip_prefix(OWN)?;
        choice.profile.is_none().then(|| name.to_owned())
    }

    /// Judges by the user's own figures, or forgets them; keeps them in the browser where the user
    /// wants it, and only there.
    pub fn set_own_gpu(self, own: Option<OwnGpu>, keep: bool) {
        let kept = own.as_ref().filter(|_| keep);
        keep_own_gpu(kept);
        self.own_gpu_is_kept.set(kept.is_some());
        let name = own.as_ref().map(|own| format!("{OWN}{}", own.name));
        self.own_gpu.set(own);
        self.go(|place| {
            let chosen = &mut place.choice.gpu;
            // Forgetting leaves a GPU of the table chosen.
            if name.is_some() || chosen.as_deref().is_some_and(|gpu| gpu.starts_with(OWN)) {
                *chosen = name;
            }
        });
    }

    /// Another trace is opened: what was chosen for the one before is let go of, but for settings and a
    /// GPU that is pinned. What is kept is said.
    pub fn let_go(self) {
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

    /// Goes back to what a page has that was just opened.
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

/// What of some choices is not as usual, in words.
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
