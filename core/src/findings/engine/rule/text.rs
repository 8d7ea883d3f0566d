//! Templates of sentences, and the documentation of rules.

use super::{Rule, Subject, Words};

/// Fills the words into a template; a later word takes precedence over an earlier one with the same name.
/// `{word?text|other}` is the text if the word is not empty, else the other; both may contain words.
pub(crate) fn fill(template: &str, words: &Words) -> String {
    let mut text = String::new();
    let mut left = template;
    while let Some((before, after)) = left.split_once('{') {
        text.push_str(before);
        let Some((name, rest)) = up_to_its_brace(after) else {
            text.push('{');
            left = after;
            continue;
        };
        let (word, texts) = name.split_once('?').unwrap_or((name, ""));
        let (holds, fails) = texts.split_once('|').unwrap_or((texts, ""));
        match words.iter().rev().find(|(known, _)| *known == word) {
            Some((_, value)) if word == name => text.push_str(value),
            Some((_, value)) => {
                text.push_str(&fill(if value.is_empty() { fails } else { holds }, words));
            }
            None => text.push_str(&format!("{{{name}}}")),
        }
        left = rest;
    }
    text.push_str(left);
    text
}

/// Splits at the matching closing brace.
fn up_to_its_brace(text: &str) -> Option<(&str, &str)> {
    let mut depth = 1_i32;
    let end = text.find(|letter| {
        depth += match letter {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        depth == 0
    })?;
    let (inside, rest) = text.split_at_checked(end)?;
    Some((inside, rest.strip_prefix('}')?))
}

pub(crate) fn either(
    word: &'static str,
    holds: bool,
    text: &str,
    otherwise: &str,
) -> (&'static str, String) {
    (word, if holds { text } else { otherwise }.to_owned())
}

/// A word for a condition in templates.
pub(crate) fn holds(word: &'static str, holds: bool) -> (&'static str, String) {
    either(word, holds, "yes", "")
}

/// The documentation of a rule, whatever its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleDoc {
    /// Its name in files.
    pub key: &'static str,
    /// When it applies.
    pub when: &'static str,
    /// Its templates: the title.
    pub title: &'static str,
    /// See [`Finding::issue`](crate::findings::Finding::issue).
    pub issue: &'static str,
    /// See [`Finding::model`](crate::findings::Finding::model).
    pub model: &'static str,
    /// See [`Finding::kernel`](crate::findings::Finding::kernel).
    pub kernel: &'static str,
    /// What it saves.
    pub saves: &'static str,
}

pub(crate) fn docs<S: Subject>(rules: &[Rule<S>]) -> Vec<RuleDoc> {
    let doc = |rule: &Rule<S>| RuleDoc {
        key: rule.key,
        when: rule.when,
        title: rule.title,
        issue: rule.issue,
        model: rule.model,
        kernel: rule.kernel,
        saves: rule.saves.label(),
    };
    rules.iter().map(doc).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_fill_templates() {
        let words = vec![("time", "3 ms".to_owned()), ("at", String::new())];
        assert_eq!(fill("It takes {time}{at}.", &words), "It takes 3 ms.");
        let template = "It {long?takes|took} {time}{at? at last|, as ever}{long?; long}.";
        let words = [("time", "3 ms"), ("at", ""), ("long", "yes")];
        let words = words.map(|(word, value)| (word, value.to_owned())).to_vec();
        let filled = "It takes 3 ms, as ever; long.";
        assert_eq!(fill(template, &words), filled);
        let template = "It takes {time}{long?, all of {time}|}{at? at {at}|}.";
        let filled = "It takes 3 ms, all of 3 ms.";
        assert_eq!(fill(template, &words), filled);
        // Braces in names from the trace are not words.
        let words = vec![
            ("subject", "`f{time}`".to_owned()),
            ("time", "3 ms".to_owned()),
        ];
        assert_eq!(fill("{subject}: {time}", &words), "`f{time}`: 3 ms");
    }
}
