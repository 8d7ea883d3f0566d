//! Names of Python frames: which are the framework's own, and how to write them short.

use super::MODULE;

/// Python files of the framework: what is called from them was called from further out.
#[rustfmt::skip]
const FRAMEWORK: &[&str] = &[
    "torch/", "<built-in", "pybind11", "<string>", "<frozen", "threading.py", "contextlib.py",
    "functools.py", "triton/",
];

/// Whether a Python frame is the framework's own, or no function at all but a module.
pub(crate) fn is_framework(frame: &str) -> bool {
    frame.starts_with(MODULE) || FRAMEWORK.iter().any(|part| frame.contains(part))
}

/// A frame's name without the folders of its file.
pub fn file_of(frame: &str) -> &str {
    let end = frame.find('(').unwrap_or(frame.len());
    let folder = frame.get(..end).and_then(|path| path.rfind('/'));
    folder.map_or(frame, |at| frame.get(at + 1..).unwrap_or(frame))
}
