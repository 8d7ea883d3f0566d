//! User-defined models for ops that Dormer does not know, or counts differently.
//!
//! ```text
//! TOML text ─parse→ UserModels ─work(OpInput)→ Work
//! ```
//!
//! A model names an op and gives its operations and bytes as expressions over the arguments of a call. It replaces the
//! built-in model of that op and fills cells; it does not affect which calls become operations. `docs/perf-models.md`
//! describes the file.

mod arithmetic;
mod expression;

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::{ComputeSpec, OpInput, Unit, Work, dtype};
use crate::base::file_error::{FileError, line_at};
use crate::base::format;
use crate::hardware::Precision;
use crate::trace::{OpArgsId, Trace};
use expression::Expression;

/// Maximum file size, in bytes.
pub const MAX_FILE_BYTES: usize = 256 * 1024;
/// Maximum number of models in a file.
const MAX_MODELS: usize = 1000;
/// Maximum number of intermediate values in a model.
const MAX_LETS: usize = 50;

/// The models of one file.
#[derive(Debug, Clone)]
pub struct UserModels {
    text: String,
    models: Vec<Model>,
}

/// Files with the same text are equal.
impl PartialEq for UserModels {
    fn eq(&self, other: &UserModels) -> bool {
        self.text == other.text
    }
}

#[derive(Debug, Clone)]
struct Model {
    /// The name, or its prefix.
    op: String,
    is_prefix: bool,
    line: usize,
    lets: Vec<Expression>,
    flops: Expression,
    bytes: Expression,
    compute: Compute,
}

/// The units, and how their precision is determined.
#[derive(Debug, Clone, Copy)]
enum Compute {
    None,
    Fixed(ComputeSpec),
    /// In the type of an argument.
    Of(Unit, usize),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    model: Vec<Spanned<Entry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    op: Spanned<String>,
    #[serde(default, rename = "let")]
    lets: Vec<Spanned<String>>,
    flops: Spanned<String>,
    bytes: Spanned<String>,
    compute: Option<Spanned<String>>,
    precision: Option<Spanned<String>>,
}

impl UserModels {
    /// Reads a file.
    pub fn parse(text: &str) -> Result<UserModels, FileError> {
        if text.len() > MAX_FILE_BYTES {
            let most = format!("a file of models has at most {MAX_FILE_BYTES} bytes");
            return Err(FileError::whole(most));
        }
        let file: File = toml::from_str(text).map_err(|error| {
            let offset = error.span().map(|span| span.start);
            FileError::at(text, offset, one_line(error.message()))
        })?;
        if file.model.is_empty() {
            return Err(FileError::whole("the file has no [[model]]"));
        }
        if file.model.len() > MAX_MODELS {
            let most = format!("a file has at most {MAX_MODELS} models");
            return Err(FileError::whole(most));
        }
        let mut models: Vec<Model> = Vec::new();
        for entry in &file.model {
            let model = Model::read(text, entry.get_ref())?;
            let same = |other: &&Model| other.op == model.op && other.is_prefix == model.is_prefix;
            if let Some(first) = models.iter().find(same) {
                let sentence =
                    format!("`{}` has a model already, in line {}", model.op, first.line);
                let offset = entry.get_ref().op.span().start;
                return Err(FileError::at(text, Some(offset), sentence));
            }
            models.push(model);
        }
        Ok(UserModels {
            text: text.to_owned(),
            models,
        })
    }

    /// The file that they were read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Number of models.
    pub fn len(&self) -> usize {
        self.models.len()
    }

    /// Never true: a file without models is an error.
    pub fn is_empty(&self) -> bool {
        self.models.is_empty()
    }

    /// The work of a call in a trace under this name; see [`UserModels::work`].
    pub fn work_of(
        &self,
        trace: &Trace,
        name: &str,
        args: Option<OpArgsId>,
    ) -> Option<Option<Work>> {
        let model = self.find(name)?;
        let args = args.and_then(|id| trace.args.get(id));
        Some(args.and_then(|args| model.work(&OpInput::new(trace, name, args))))
    }

    /// The work of a call. The outer `None` means that there is no model, the inner one that the arguments do not tell.
    pub fn work(&self, input: &OpInput) -> Option<Option<Work>> {
        Some(self.find(input.name)?.work(input))
    }

    /// The ops with a model, in file order: names, or prefixes followed by `*`.
    pub fn ops(&self) -> impl Iterator<Item = String> {
        self.models.iter().map(|model| match model.is_prefix {
            true => format!("{}*", model.op),
            false => model.op.clone(),
        })
    }

    /// The index in [`UserModels::ops`] of the model for an op: the exact name, else the longest prefix.
    pub fn position(&self, op: &str) -> Option<usize> {
        let models = || self.models.iter().enumerate();
        let exact = models().find(|(_, model)| !model.is_prefix && model.op == op);
        let longest = || {
            models()
                .filter(|(_, model)| model.is_prefix && op.starts_with(&model.op))
                .max_by_key(|(_, model)| model.op.len())
        };
        exact.or_else(longest).map(|(position, _)| position)
    }

    fn find(&self, op: &str) -> Option<&Model> {
        self.models.get(self.position(op)?)
    }
}

impl Model {
    fn read(text: &str, entry: &Entry) -> Result<Model, FileError> {
        let error =
            |span: Range<usize>, sentence: String| FileError::at(text, Some(span.start), sentence);
        let name = entry.op.get_ref();
        let (op, is_prefix) = match name.strip_suffix('*') {
            Some(prefix) => (prefix, true),
            None => (name.as_str(), false),
        };
        if op.is_empty() || op.contains('*') {
            let message = format!("`op` is `{name}`: a name, or its beginning and one `*`");
            return Err(error(entry.op.span(), message));
        }
        if entry.lets.len() > MAX_LETS {
            let message = format!("a model has at most {MAX_LETS} intermediate values");
            return Err(error(entry.op.span(), message));
        }
        let mut names: Vec<&str> = Vec::new();
        let mut lets = Vec::new();
        for line in &entry.lets {
            let fail = |message: String| error(line.span(), message);
            let Some((name, value)) = line.get_ref().split_once('=') else {
                return Err(fail(format!(
                    "`let` is `{}`: a name, `=`, a value",
                    line.get_ref()
                )));
            };
            let name = name.trim();
            if !is_name(name) || names.contains(&name) {
                return Err(fail(format!(
                    "`let` gives `{name}`: a name of its own, of letters, digits and `_`, that is no `in0`"
                )));
            }
            let value = Expression::parse(value, &names);
            lets.push(value.map_err(|clause| fail(format!("`{name}` {clause}")))?);
            names.push(name);
        }
        let expression = |field: &str, value: &Spanned<String>| {
            Expression::parse(value.get_ref(), &names)
                .map_err(|clause| error(value.span(), format!("`{field}` {clause}")))
        };
        Ok(Model {
            op: op.to_owned(),
            is_prefix,
            line: line_at(text, entry.op.span().start),
            flops: expression("flops", &entry.flops)?,
            bytes: expression("bytes", &entry.bytes)?,
            compute: compute(entry).map_err(|(span, message)| error(span, message))?,
            lets,
        })
    }

    fn work(&self, input: &OpInput) -> Option<Work> {
        let mut lets = Vec::with_capacity(self.lets.len());
        for value in &self.lets {
            let value = value.value(input, &lets)?;
            lets.push(value);
        }
        let positive = |value: f64| (value >= 0.0).then_some(value);
        let bytes = self.bytes.value(input, &lets);
        Some(Work {
            flops: self.flops.value(input, &lets).and_then(positive)?,
            bytes: bytes.and_then(positive),
            compute: match self.compute {
                Compute::None => None,
                Compute::Fixed(spec) => Some(spec),
                Compute::Of(Unit::Matrix, at) => dtype::matrix(input.dtype(at)),
                Compute::Of(Unit::Vector, at) => dtype::vector(input.dtype(at)),
            },
        })
    }
}

/// `compute = "matrix"` with `precision = "bf16"`, or `"in0"` for the type of an argument, which is the default.
fn compute(entry: &Entry) -> Result<Compute, (Range<usize>, String)> {
    let unit = match &entry.compute {
        None => Unit::Vector,
        Some(word) => match word.get_ref().as_str() {
            "matrix" => Unit::Matrix,
            "vector" => Unit::Vector,
            "none" => return Ok(Compute::None),
            other => {
                let message = format!("`compute` is `{other}`: matrix, vector or none");
                return Err((word.span(), message));
            }
        },
    };
    let Some(word) = &entry.precision else {
        return Ok(Compute::Of(unit, 0));
    };
    let name = word.get_ref();
    let argument = name.strip_prefix("in").and_then(|at| at.parse().ok());
    let fixed = Precision::of_key(&name.to_ascii_lowercase());
    match (argument, fixed) {
        (Some(at), _) => Ok(Compute::Of(unit, at)),
        (_, Some(precision)) => Ok(Compute::Fixed(ComputeSpec { unit, precision })),
        _ => {
            let message = format!(
                "`precision` is `{name}`: an argument (`in0`), or one of {}",
                Precision::keys()
            );
            Err((word.span(), message))
        }
    }
}

fn is_name(name: &str) -> bool {
    let is_argument = name
        .strip_prefix("in")
        .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    let mut bytes = name.bytes();
    let first = bytes.next();
    first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !is_argument
}

fn one_line(message: &str) -> String {
    format::joined(message.split_whitespace(), " ")
}

#[cfg(test)]
mod tests;
