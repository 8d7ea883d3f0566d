//! Interned texts: each is stored once, and rows refer to it by index.

use serde::{Deserialize, Serialize};

use crate::base::map::Map;

/// The index of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text(pub u32);

/// Texts by index; a repeated text keeps its index.
#[derive(Debug, Clone, Default)]
pub struct Texts {
    list: Vec<String>,
    places: Map<String, u32>,
}

impl Texts {
    /// The index of a text, adding it if it is new.
    pub fn id(&mut self, text: &str) -> Text {
        if let Some(place) = self.places.get(text) {
            return Text(*place);
        }
        // Beyond four billion texts all others share the last index; no store has that many.
        let place = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.places.insert(text.to_owned(), place);
        self.list.push(text.to_owned());
        Text(place)
    }

    /// The text at an index; empty if there is none.
    pub fn get(&self, text: Text) -> &str {
        self.list.get(text.0 as usize).map_or("", String::as_str)
    }

    /// The texts by index.
    pub fn list(&self) -> &[String] {
        &self.list
    }

    /// The texts by index.
    pub fn into_list(self) -> Vec<String> {
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_place() {
        let mut texts = Texts::default();
        let ids = ["gemm", "copy", "gemm"].map(|text| texts.id(text));
        assert_eq!(ids, [Text(0), Text(1), Text(0)]);
        assert_eq!(texts.get(ids[1]), "copy");
        assert_eq!(texts.get(Text(7)), "");
        assert_eq!(texts.into_list(), ["gemm", "copy"]);
    }
}
