//! The query language of table filters: words, and conditions on fields.
//!
//! ```text
//! mm 2816                       both words, wherever they stand in a row
//! "flash fwd" -backward         words that stand together; not this one
//! dur>1ms category:gemm         the fields of FIELDS: numbers with their unit, and texts
//! ```
//!
//! The page lists the fields, the worker matches rows. To add a field: a row of [`FIELDS`].

/// The type of a field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// A text that contains the given value.
    Text,
    /// A time, with its unit.
    Time,
    /// A number, or a share in percent.
    Number,
}

/// A named field of a row.
#[derive(Debug, PartialEq, Eq)]
pub struct SearchField {
    /// Its names; the help shows the first.
    pub names: &'static [&'static str],
    /// Its description in the help.
    pub what: &'static str,
    pub kind: FieldKind,
    /// The columns that contain it, in sheets or in addition to them; the first that a table has is used.
    pub columns: &'static [&'static str],
}

use FieldKind::{Number, Text, Time};

#[rustfmt::skip]
pub const FIELDS: &[SearchField] = &[
    SearchField { names: &["dur", "time", "gpu"], what: "GPU time", kind: Time, columns: &["gpu_time", "Kernel duration (µs)_sum", "total_direct_kernel_time_ms", "self_cpu_time_ms", "target time", "time"] },
    SearchField { names: &["mean"], what: "mean time of a call or run", kind: Time, columns: &["Kernel Time (µs)_mean", "Kernel duration (µs)_mean"] },
    SearchField { names: &["median"], what: "median time", kind: Time, columns: &["Kernel Time (µs)_median", "median", "Kernel duration (µs)_median"] },
    SearchField { names: &["p95"], what: "time that 95 % of runs do not exceed", kind: Time, columns: &["p95"] },
    SearchField { names: &["max"], what: "longest time", kind: Time, columns: &["Kernel Time (µs)_max", "Kernel duration (µs)_max"] },
    SearchField { names: &["diff"], what: "target minus reference", kind: Time, columns: &["difference"] },
    SearchField { names: &["calls", "count"], what: "calls or runs", kind: Number, columns: &["operation_count", "Kernel duration (µs)_count", "Count", "count", "target count"] },
    SearchField { names: &["share"], what: "share of GPU time, %", kind: Number, columns: &["busy_share", "Percentage (%)", "share of compute"] },
    SearchField { names: &["roofline", "eff"], what: "% of roofline", kind: Number, columns: &["Pct Roofline"] },
    SearchField { names: &["intensity"], what: "FLOPS/Byte", kind: Number, columns: &["FLOPS/Byte"] },
    SearchField { names: &["registers"], what: "registers per thread", kind: Number, columns: &["registers"] },
    SearchField { names: &["shared"], what: "shared memory per block, bytes", kind: Number, columns: &["shared memory"] },
    SearchField { names: &["occupancy"], what: "estimated occupancy, %", kind: Number, columns: &["occupancy"] },
    SearchField { names: &["name", "op"], what: "operation or kernel", kind: Text, columns: &["name", "Kernel name"] },
    SearchField { names: &["category", "cat"], what: "category", kind: Text, columns: &["family"] },
    SearchField { names: &["module", "mod"], what: "class of the module around it", kind: Text, columns: &["module"] },
    SearchField { names: &["kernel"], what: "kernels it runs", kind: Text, columns: &["Kernel name", "kernel_details_summary"] },
    SearchField { names: &["shape", "shapes"], what: "shapes and types", kind: Text, columns: &["shapes"] },
    SearchField { names: &["type", "dtype"], what: "element type", kind: Text, columns: &["shapes"] },
    SearchField { names: &["lib", "library"], what: "library", kind: Text, columns: &["library"] },
    SearchField { names: &["bound"], what: "compute or memory", kind: Text, columns: &["bound"] },
    SearchField { names: &["by", "parent"], what: "launching operator", kind: Text, columns: &["Parent cpu_op"] },
    SearchField { names: &["stream"], what: "GPU stream", kind: Number, columns: &["Kernel stream"] },
    SearchField { names: &["verdict"], what: "verdict of a comparison", kind: Text, columns: &["verdict"] },
];

/// How a number is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparator {
    More,
    AtLeast,
    Less,
    AtMost,
    Is,
}

/// A condition on a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// It has this word, [folded](fold), in one of its texts.
    Word(String),
    /// The field's text contains this word, folded.
    Has(&'static SearchField, String),
    /// The field's number compares like this, with times in microseconds.
    Compares(&'static SearchField, Comparator, f64),
}

/// A term of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// Whether the condition is negated.
    pub is_not: bool,
    pub test: Test,
}

/// A parsed search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Search {
    /// All terms must match.
    pub terms: Vec<Term>,
    /// Sentences on what could not be parsed as it was probably meant.
    pub remarks: Vec<String>,
}

/// Normalizes a text for comparison: case, multiplication signs and digit grouping are ignored.
pub fn fold(text: &str) -> String {
    text.chars()
        .filter(|letter| *letter != '\u{202F}')
        .flat_map(|letter| {
            let plain = match letter {
                '×' => 'x',
                '−' => '-',
                'μ' => 'µ',
                other => other,
            };
            plain.to_lowercase()
        })
        .collect()
}

impl Search {
    /// Parses a search. Nothing is an error: what is not a field is a word.
    pub fn parse(typed: &str) -> Search {
        let mut search = Search::default();
        for piece in pieces(typed) {
            let rest = piece.text.strip_prefix('-').filter(|rest| !rest.is_empty());
            let (is_not, text) = match rest.filter(|_| !piece.is_quoted) {
                Some(rest) => (true, rest),
                None => (false, piece.text.as_str()),
            };
            let test = match piece.is_quoted {
                true => Some(Test::Word(fold(text))),
                false => search.test(text),
            };
            search.terms.extend(test.map(|test| Term { is_not, test }));
        }
        search
    }

    /// Parses a token; `None` if its value has not been typed yet.
    fn test(&mut self, text: &str) -> Option<Test> {
        let word = || Some(Test::Word(fold(text)));
        let Some((name, operator, value)) = condition(text) else {
            return word();
        };
        let Some(field) = field(name) else {
            let is_meant = operator == ":" || amount(value).is_some();
            if is_meant && !value.is_empty() {
                let known: Vec<&str> = FIELDS.iter().map(|field| field.names[0]).collect();
                self.remarks.push(format!(
                    "\u{201c}{name}\u{201d} is not a field and is searched as text. Fields: {}.",
                    known.join(", ")
                ));
            }
            return word();
        };
        let comparator = match operator {
            ">" => Comparator::More,
            ">=" => Comparator::AtLeast,
            "<" => Comparator::Less,
            "<=" => Comparator::AtMost,
            _ => Comparator::Is,
        };
        if value.is_empty() {
            return None;
        }
        if field.kind == FieldKind::Text {
            return match comparator {
                Comparator::Is => Some(Test::Has(field, fold(value))),
                _ => word(),
            };
        }
        let Some((number, unit)) = amount(value) else {
            self.remarks.push(format!(
                "\u{201c}{value}\u{201d} is not a number; \u{201c}{text}\u{201d} is searched as text."
            ));
            return word();
        };
        let factor = match (field.kind, unit) {
            (FieldKind::Time, "ns") => 1e-3,
            (FieldKind::Time, "ms") => 1e3,
            (FieldKind::Time, "s") => 1e6,
            (FieldKind::Time, "us" | "µs") | (_, "" | "%") => 1.0,
            _ => {
                self.remarks.push(format!(
                    "\u{201c}{unit}\u{201d} is not a unit of {name}; \u{201c}{text}\u{201d} is searched as text."
                ));
                return word();
            }
        };
        if field.kind == FieldKind::Time && unit.is_empty() {
            self.remarks.push(format!(
                "\u{201c}{text}\u{201d} has no unit; \u{b5}s is assumed. Write {name}{operator}{value}ms for milliseconds."
            ));
        }
        Some(Test::Compares(field, comparator, number * factor))
    }
}

/// The field with a name.
fn field(name: &str) -> Option<&'static SearchField> {
    let name = name.to_ascii_lowercase();
    FIELDS
        .iter()
        .find(|field| field.names.contains(&name.as_str()))
}

const OPERATORS: [&str; 6] = [">=", "<=", ">", "<", "=", ":"];

/// Name, operator and value of `dur>1ms`; `None` if it is not a condition, such as `aten::mm` and `my_kernel<float>`.
fn condition(text: &str) -> Option<(&str, &'static str, &str)> {
    let at = text.find([':', '>', '<', '='])?;
    let (name, rest) = text.split_at(at);
    let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric());
    let operator = OPERATORS
        .into_iter()
        .find(|known| rest.starts_with(known))?;
    let value = rest.strip_prefix(operator)?;
    (is_name && !value.starts_with(':')).then_some((name, operator, value))
}

/// A number and the unit after it: `1.5ms`.
fn amount(value: &str) -> Option<(f64, &str)> {
    let value = value.trim();
    let is_digit = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '-');
    let end = value
        .find(|letter| !is_digit(letter))
        .unwrap_or(value.len());
    let (number, unit) = value.split_at(end);
    let number: f64 = number.parse().ok()?;
    let unit = match unit.trim() {
        "μs" => "µs",
        unit => unit,
    };
    Some((number, unit))
}

/// A token of the typed text.
#[derive(Debug, Default)]
struct Piece {
    text: String,
    /// Whether it starts with a quotation mark, so that it is never a condition.
    is_quoted: bool,
}

/// Splits text at spaces. Quoted text is one token, and so is a condition with spaces around its operator or before its
/// unit, as in displayed times: `dur > 1.00 ms`.
fn pieces(typed: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut now = Piece::default();
    let mut is_inside = false;
    for letter in typed.chars().filter(|letter| *letter != '\u{202F}') {
        match letter {
            '"' => {
                is_inside = !is_inside;
                now.is_quoted |= now.text.is_empty();
            }
            letter if letter.is_whitespace() && !is_inside => {
                add(&mut pieces, std::mem::take(&mut now));
            }
            letter => now.text.push(letter),
        }
    }
    add(&mut pieces, now);
    pieces
}

fn add(pieces: &mut Vec<Piece>, next: Piece) {
    if next.text.is_empty() {
        return;
    }
    let last = pieces.last_mut().filter(|last| !last.is_quoted);
    if let Some(last) = last.filter(|last| !next.is_quoted && goes_on(&last.text, &next.text)) {
        last.text.push_str(&next.text);
        return;
    }
    pieces.push(next);
}

/// Whether a token continues the previous one: as the operator of a field, its value, or its unit.
fn goes_on(last: &str, next: &str) -> bool {
    const UNITS: [&str; 7] = ["ns", "us", "µs", "μs", "ms", "s", "%"];
    let is_operator = |text: &str| OPERATORS.iter().any(|known| text.starts_with(known));
    match condition(last) {
        None => field(last.trim_start_matches('-')).is_some() && is_operator(next),
        Some((name, _, "")) => field(name).is_some() && condition(next).is_none(),
        Some((name, _, value)) => {
            let is_number = amount(value).is_some_and(|(_, unit)| unit.is_empty());
            field(name).is_some() && is_number && UNITS.contains(&next)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A parsed search as text: words unchanged, fields with their first name.
    fn read(typed: &str) -> Vec<String> {
        let terms = Search::parse(typed).terms.into_iter();
        let texts = terms.map(|term| {
            let not = if term.is_not { "not " } else { "" };
            let test = match term.test {
                Test::Word(word) => word,
                Test::Has(field, text) => format!("{} has {text}", field.names[0]),
                Test::Compares(field, comparator, number) => {
                    format!("{} {comparator:?} {number}", field.names[0])
                }
            };
            format!("{not}{test}")
        });
        texts.collect()
    }

    #[test]
    fn words_and_conditions_are_distinguished() {
        let cases: &[(&str, &[&str])] = &[
            ("mm 2816", &["mm", "2816"]),
            ("  MM  ", &["mm"]),
            ("8944×2816", &["8944x2816"]),
            ("\"flash fwd\" -backward", &["flash fwd", "not backward"]),
            ("dur>1ms", &["dur More 1000"]),
            (
                "time >= 1.5 µs calls<10",
                &["dur AtLeast 1.5", "calls Less 10"],
            ),
            ("dur > 1.00 ms", &["dur More 1000"]),
            ("share>5%", &["share More 5"]),
            (
                "category:gemm module:attn",
                &["category has gemm", "module has attn"],
            ),
            (
                "-category:\"memory copy\"",
                &["not category has memory copy"],
            ),
            ("stream:7", &["stream Is 7"]),
            // Names of C++ functions and of operators are not conditions.
            ("aten::mm", &["aten::mm"]),
            ("gemm<float>", &["gemm<float>"]),
            ("my_op:x", &["my_op:x"]),
            // The value has not been typed yet.
            ("dur> category:", &[]),
            ("-", &["-"]),
            ("", &[]),
        ];
        for (typed, expected) in cases {
            assert_eq!(read(typed), *expected, "{typed}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_said() {
        let remark = |typed: &str| Search::parse(typed).remarks;
        assert!(remark("famly:gemm")[0].starts_with("\u{201c}famly\u{201d} is not a field"));
        assert_eq!(read("famly:gemm"), ["famly:gemm"]);
        assert!(remark("dur>fast")[0].contains("is not a number"));
        assert!(remark("dur>5")[0].contains("has no unit"));
        assert!(remark("calls>5ms")[0].contains("is not a unit of calls"));
        assert_eq!(remark("mm 2816 dur>1ms aten::mm gemm<float>"), [""; 0]);
    }

    #[test]
    fn a_name_means_one_field() {
        for (at, field) in FIELDS.iter().enumerate() {
            for other in &FIELDS[..at] {
                let same = field.names.iter().find(|name| other.names.contains(name));
                assert_eq!(same, None);
            }
        }
    }
}
