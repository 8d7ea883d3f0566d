//! Placeholders for names: within a trace, the same name gets the same placeholder.

use crate::base::map::Map;

#[derive(Debug, Default)]
pub(super) struct Placeholders {
    numbers: Map<(&'static str, String), usize>,
    n_of_kind: Map<&'static str, usize>,
}

impl Placeholders {
    /// `kernel_1` for the first name of its kind, and so on.
    pub(super) fn of(&mut self, kind: &'static str, name: &str) -> String {
        let key = (kind, name.to_owned());
        let n_of_kind = &mut self.n_of_kind;
        let number = *self.numbers.entry(key).or_insert_with(|| {
            let count = n_of_kind.entry(kind).or_default();
            *count += 1;
            *count
        });
        format!("{kind}_{number}")
    }

    /// A known name unchanged, and a placeholder for any other.
    pub(super) fn known_or(&mut self, is_known: bool, kind: &'static str, name: &str) -> String {
        match is_known {
            true => name.to_owned(),
            false => self.of(kind, name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_name_has_the_same_placeholder() {
        let mut placeholders = Placeholders::default();
        let mut of = |kind, name| placeholders.of(kind, name);
        assert_eq!(of("file", "a.py"), "file_1");
        assert_eq!(of("function", "a.py"), "function_1");
        assert_eq!(of("file", "b.py"), "file_2");
        assert_eq!(of("file", "a.py"), "file_1");
    }
}
