//! What makes two calls of different runs the same call: their names, without what a run decides.

use std::borrow::Cow;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::base::format::without_number;

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

/// Folders that hold installed packages: where they lie says nothing of the call.
const INSTALLED: [&str; 2] = ["site-packages/", "dist-packages/"];

const MODULE: &str = "nn.Module: ";

/// A name without addresses, line numbers, places of packages and numbers of instances.
///
/// ```text
/// /opt/lib/python3.12/site-packages/torch/_ops.py(123): __call__   torch/_ops.py: __call__
/// <built-in method mm of type object at 0x7f31c0de>                <built-in method mm of type object at 0x>
/// nn.Module: Linear_12                                             nn.Module: Linear
/// ```
pub(crate) fn normal(recorded: &str) -> Cow<'_, str> {
    if let Some(module) = recorded.strip_prefix(MODULE) {
        return Cow::Owned(format!("{MODULE}{}", without_number(module)));
    }
    let mut name = Cow::Borrowed(recorded);
    if let Some(frame) = without_line(&name) {
        name = Cow::Owned(frame);
    }
    match name.contains("0x") {
        true => Cow::Owned(without_addresses(&name)),
        false => name,
    }
}

/// A Python frame, `PATH(LINE): FUNCTION`, without its line and the folders that a machine decides:
/// those above installed packages, and all of an absolute path.
fn without_line(name: &str) -> Option<String> {
    let (place, function) = name.split_once("): ")?;
    let (path, line) = place.rsplit_once('(')?;
    if line.is_empty() || !line.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let package = INSTALLED
        .iter()
        .find_map(|folder| path.split_once(folder))
        .map(|(_, package)| package);
    let is_absolute = path.starts_with('/') || path.contains(":\\");
    let path = match package {
        Some(package) => package,
        None if is_absolute => path.rsplit(['/', '\\']).next().unwrap_or(path),
        None => path,
    };
    Some(format!("{path}: {function}"))
}

fn without_addresses(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for (at, piece) in name.split("0x").enumerate() {
        let piece = match at {
            0 => piece,
            _ => {
                out.push_str("0x");
                piece.trim_start_matches(|letter: char| letter.is_ascii_hexdigit())
            }
        };
        out.push_str(piece);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_decides_is_left_out() {
        let cases = [
            ("aten::mm", "aten::mm"),
            ("train.py(12): step", "train.py: step"),
            (
                "/opt/lib/python3.12/site-packages/torch/_ops.py(1123): __call__",
                "torch/_ops.py: __call__",
            ),
            ("/home/me/model/train.py(12): step", "train.py: step"),
            ("C:\\me\\train.py(12): step", "train.py: step"),
            (
                "torch/nn/modules/module.py(1750): _call_impl",
                "torch/nn/modules/module.py: _call_impl",
            ),
            ("<string>(1): <module>", "<string>: <module>"),
            ("odd.py(x): y", "odd.py(x): y"),
            ("nn.Module: Linear_12", "nn.Module: Linear"),
            (
                "<built-in method mm of type object at 0x7f31c0de>",
                "<built-in method mm of type object at 0x>",
            ),
            ("f at 0xAB, g at 0x01", "f at 0x, g at 0x"),
        ];
        for (recorded, expected) in cases {
            assert_eq!(normal(recorded), expected);
        }
    }
}
