//! For how much of the kernel time FLOPs and bytes are known, and their sources.

use crate::assess::evaluation::Evaluation;
use crate::base::format;
use crate::base::interval::{percent_of, sum};
use crate::base::sort::Arranged;
use crate::names::batch::Phase;
use crate::profile::Profile;
use crate::profile::graphs::shapes::{ImageTokens, Source};

/// "91.2 % of kernel time (from config 78.4 %, recorded 12.8 %)"; `None` if no graph is replayed, since all operators
/// are recorded then.
pub(super) fn fact(profile: &Profile, evaluations: &[Evaluation]) -> Option<(String, String)> {
    let all = || profile.operations().iter().zip(evaluations);
    let all = || all().filter(|(one, _)| one.is_linked);
    if !all().any(|(one, _)| one.is_replayed(profile)) {
        return None;
    }
    let all_ns = sum(all().map(|(one, _)| one.kernel_ns));
    let known = |wanted: Option<Source>| {
        let of_it = all().filter(|(one, evaluation)| {
            let has_work = evaluation.work.is_some() && !evaluation.is_anomaly;
            has_work && wanted.is_none_or(|wanted| one.source(profile) == wanted)
        });
        sum(of_it.map(|(one, _)| one.kernel_ns))
    };
    let parts = Source::ALL
        .iter()
        .map(|source| (known(Some(*source)), *source))
        .filter(|(ns, _)| *ns > 0)
        .arranged_by_largest(|(ns, _)| *ns);
    let share = |ns| percent_of(ns, all_ns).map(format::percent);
    let parts: Vec<String> = parts
        .iter()
        .filter_map(|(ns, source)| Some(format!("{} {}", source.label(), share(*ns)?)))
        .collect();
    let parts = match parts.is_empty() {
        true => String::new(),
        false => format!(" ({})", parts.join(", ")),
    };
    let value = format!("{} of kernel time{parts}", share(known(None))?);
    Some(("Known work".to_owned(), value))
}

/// "256 of the image, 512 of the text (from neighbors)" for a diffusion transformer.
pub(super) fn image_tokens(profile: &Profile) -> Option<(String, String)> {
    profile.serving()?.of(Some(Phase::Diffusion)).next()?;
    let tokens = ImageTokens::of(profile)?;
    let [image, text] = [tokens.image, tokens.text].map(format::count);
    let source = Source::Neighbors.label();
    let value = format!("{image} of the image, {text} of the text ({source})");
    Some(("Tokens".to_owned(), value))
}
