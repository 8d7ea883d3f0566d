//! What makes two calls of different runs the same call: their names, without what a run decides.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::names::calls::normal;

/// A name that calls of both traces share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NameKey(pub(crate) u32);

/// Names of both traces, each once.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Names {
    index: HashMap<String, NameKey, FxBuildHasher>,
    texts: Vec<String>,
}

impl Names {
    /// The key of a recorded name.
    pub(crate) fn key(&mut self, recorded: &str) -> NameKey {
        let name = normal(recorded);
        if let Some(key) = self.index.get(&*name) {
            return *key;
        }
        let key = NameKey(self.texts.len() as u32);
        self.texts.push(name.clone().into_owned());
        self.index.insert(name.into_owned(), key);
        key
    }

    /// The text of a key; empty for one of others.
    pub(crate) fn text(&self, key: NameKey) -> &str {
        self.texts.get(key.0 as usize).map_or("", String::as_str)
    }
}
