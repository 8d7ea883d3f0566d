//! Names of Python frames.
//!
//! ```text
//! torch/nn/functional.py(2318): linear        a function in a file, relative to the package folder
//! <built-in function linear>                  a function not written in Python
//! nn.Module: Linear_3                         a module, with the number of the instance
//! ```

use super::placeholder::Placeholders;
use super::words::described;
use crate::base::format::is_digits;
use crate::names::MODULE;
use crate::names::frames::Frame;
use crate::profile::model_info::GENERIC;

/// Files that belong to the framework.
const FRAMEWORK: [&str; 2] = ["torch/", "triton/"];
/// The frame of a garbage collection.
const COLLECTION: &str = "<built-in function collect>";

pub(super) fn name(name: &str, placeholders: &mut Placeholders) -> String {
    if let Some(instance) = name.strip_prefix(MODULE) {
        return format!("{MODULE}{}", module(instance, placeholders));
    }
    if name == COLLECTION {
        return name.to_owned();
    }
    if let Some(kind) = ["<built-in function ", "<built-in method "]
        .into_iter()
        .find(|kind| name.starts_with(kind))
    {
        return format!("{kind}{}>", placeholders.of("builtin", name));
    }
    if let Some(frame) = Frame::of(name) {
        let Frame { path, line, .. } = frame;
        let is_framework = FRAMEWORK.iter().any(|folder| path.starts_with(folder));
        if is_framework && is_plain(path) && is_plain(frame.function) {
            return name.to_owned();
        }
        let ending = if path.ends_with(".py") { ".py" } else { "" };
        let shown_path = placeholders.of("file", path);
        let function = match frame.function {
            "<module>" => "<module>".to_owned(),
            function => placeholders.of("function", &format!("{path} {function}")),
        };
        return format!("{shown_path}{ending}({line}): {function}");
    }
    placeholders.of("frame", name)
}

/// `Linear_3`: a class and an instance number.
fn module(instance: &str, placeholders: &mut Placeholders) -> String {
    let (class, number) = match instance.rsplit_once('_') {
        Some((class, number)) if is_digits(number) => (class, Some(number)),
        _ => (instance, None),
    };
    let class = match GENERIC.contains(&class) {
        true => class.to_owned(),
        false => described(placeholders.of("module", class), class),
    };
    number.map_or_else(|| class.clone(), |number| format!("{class}_{number}"))
}

/// Whether a text has only characters that occur in names of framework files and functions.
fn is_plain(text: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"_./<>-".contains(&byte);
    text.bytes().all(is_fine) && !text.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_the_framework_stay_and_others_go() {
        #[rustfmt::skip]
        let cases = [
            ("torch/nn/functional.py(2318): linear", None),
            ("torch/utils/checkpoint.py(400): recompute_fn", None),
            ("<built-in function collect>", None),
            ("nn.Module: Linear_3", None),
            ("/home/ada/acme/model.py(12): forward", Some("file_1.py(12): function_1")),
            ("/home/ada/acme/model.py(40): forward", Some("file_1.py(40): function_1")),
            ("/home/ada/acme/train.py(1): <module>", Some("file_2.py(1): <module>")),
            ("<built-in method secret of Acme object at 0x7f>", Some("<built-in method builtin_1>")),
            ("nn.Module: AcmeDecoderLayer_7", Some("nn.Module: module_1_decoder_layer_7")),
            ("nn.Module: Acme", Some("nn.Module: module_2")),
            ("acme", Some("frame_1")),
        ];
        let mut placeholders = Placeholders::default();
        for (frame, expected) in cases {
            assert_eq!(name(frame, &mut placeholders), expected.unwrap_or(frame));
        }
    }
}
