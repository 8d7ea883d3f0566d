//! Names of processes, threads and streams.

use super::Redactor;
use super::placeholder::Placeholders;
use crate::base::format::is_digits;
use crate::trace::{StringId, Track};

impl Redactor<'_> {
    /// Adds a track with redacted names. Distinct tracks stay distinct.
    pub(super) fn track(&mut self, track: &Track) {
        let strings = &self.old.strings;
        let placeholders = &mut self.placeholders;
        let mut show = |id: StringId, kind| shown(strings.get(id), kind, placeholders);
        let (pid, tid) = (show(track.pid, "process"), show(track.tid, "track"));
        let process = track.process_name.map(|name| show(name, "process_name"));
        let label = track.process_label.map(|name| show(name, "label"));
        let thread = track.thread_name.map(|name| show(name, "thread"));
        let new = &mut self.new;
        new.track(&pid, &tid);
        let (pid, tid) = (new.string(&pid), new.string(&tid));
        if let Some(name) = process {
            let name = new.string(&name);
            new.process_name(pid, name);
        }
        if let Some(label) = label {
            let label = new.string(&label);
            new.process_label(pid, label);
        }
        if let Some(name) = thread {
            let name = new.string(&name);
            new.thread_name(pid, tid, name);
        }
    }
}

/// Names from the profiler itself are kept: numbers, `stream 7`, `GPU 0`, `thread 12 (python)`.
fn shown(name: &str, kind: &'static str, placeholders: &mut Placeholders) -> String {
    #[rustfmt::skip]
    const WORDS: &[&str] = &[
        "", "CPU", "GPU", "Spans", "PyTorch", "Profiler", "Traces", "python", "python3", "stream", "thread",
    ];
    let split = |letter: char| " ()-".contains(letter);
    let is_known = |word: &str| {
        let of_autograd = word.strip_prefix("pt_autograd_").is_some_and(is_digits);
        WORDS.contains(&word) || is_digits(word) || of_autograd
    };
    placeholders.known_or(name.split(split).all(is_known), kind, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_profiler_calls_them_stays() {
        let cases = [
            ("stream 7 ", None),
            ("thread 2300680 (pt_autograd_0)", None),
            ("GPU 0", None),
            ("-1", None),
            ("thread 12 (acme-server)", Some("thread_1")),
            ("host7.acme.example", Some("thread_2")),
        ];
        let mut placeholders = Placeholders::default();
        for (name, expected) in cases {
            let found = shown(name, "thread", &mut placeholders);
            assert_eq!(found, expected.unwrap_or(name));
        }
    }
}
