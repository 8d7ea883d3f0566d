//! Expressions over the arguments of a call: `2*in0[0]*in0[-1]*in1[0]`.
//!
//! Names are resolved when the file is read, so that mistakes are reported then, with their line.

use super::arithmetic::{Arithmetic, FUNCTIONS, Token};
use crate::perf::OpInput;

/// Maximum length of an expression, in bytes.
const MAX_BYTES: usize = 2000;
/// Maximum nesting of parentheses.
const MAX_DEPTH: usize = 50;

/// What a name refers to.
#[derive(Debug, Clone, Copy)]
enum Symbol {
    /// `in0[1]`: a size of a tensor, or an item of a list; negative counts from the end.
    Item(usize, i64),
    /// `in0.n`: number of elements, in total for a list of tensors.
    Elements(usize),
    /// `in0.size`: bytes of an element.
    Size(usize),
    /// `in0.bytes`: both multiplied.
    Bytes(usize),
    /// `in0.rank`: number of dimensions.
    Rank(usize),
    /// `in0`: a number or a flag; `True` is 1.
    Value(usize),
    /// An intermediate value.
    Let(usize),
}

/// An expression that can be evaluated for a call.
#[derive(Debug, Clone)]
pub(super) struct Expression(Arithmetic<Symbol>);

impl Expression {
    /// Reads an expression; `lets` are the names of the intermediate values before it. The error is
    /// a clause: "uses `hidden`, which …".
    pub(super) fn parse(text: &str, lets: &[&str]) -> Result<Expression, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("is longer than {MAX_BYTES} bytes"));
        }
        let arithmetic = Arithmetic::parse(&Reader::new(text, lets).read()?);
        arithmetic
            .map(Expression)
            .ok_or_else(|| format!("is no arithmetic expression: `{text}`"))
    }

    /// Evaluates it; `None` if an argument it needs was not recorded.
    pub(super) fn value(&self, input: &OpInput, lets: &[f64]) -> Option<f64> {
        let value = self.0.value(&|symbol: Symbol| symbol.value(input, lets))?;
        value.is_finite().then_some(value)
    }
}

impl Symbol {
    fn value(&self, input: &OpInput, lets: &[f64]) -> Option<f64> {
        let n = |at: usize| match input.tensor(at) {
            Some(tensor) => Some(tensor.n()),
            None => {
                let tensors = input.tensor_list(at)?;
                Some(tensors.into_iter().map(crate::perf::input::product).sum())
            }
        };
        let size = |at: usize| input.tensor(at)?.element_bytes();
        match *self {
            Symbol::Item(at, item) => {
                let list = match input.tensor(at) {
                    Some(tensor) => tensor.shape.to_vec(),
                    None => input.integers(at)?,
                };
                let item = match item < 0 {
                    true => item.checked_add(list.len() as i64)?,
                    false => item,
                };
                let found = list.get(usize::try_from(item).ok()?);
                found.map(|number| *number as f64)
            }
            Symbol::Elements(at) => n(at),
            Symbol::Size(at) => size(at),
            Symbol::Bytes(at) => Some(n(at)? * size(at)?),
            Symbol::Rank(at) => input.tensor(at).map(|tensor| tensor.shape.len() as f64),
            Symbol::Value(at) => match input.flag(at) {
                Some(flag) => Some(f64::from(u8::from(flag))),
                None => input.number(at),
            },
            Symbol::Let(at) => lets.get(at).copied(),
        }
    }
}

/// Reads tokens from left to right.
struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
    lets: &'a [&'a str],
    tokens: Vec<Token<Symbol>>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, lets: &'a [&'a str]) -> Reader<'a> {
        Reader {
            text,
            rest: text.trim(),
            lets,
            tokens: Vec::new(),
        }
    }

    fn read(mut self) -> Result<Vec<Token<Symbol>>, String> {
        let mut depth = 0_usize;
        while let Some(first) = self.rest.chars().next() {
            match first {
                ' ' | '\t' | '\n' | '\r' => self.skip(1),
                '+' | '-' | '*' | '/' | ',' => self.sign(first),
                '(' => {
                    depth += 1;
                    if depth > MAX_DEPTH {
                        return Err(format!("nests parentheses deeper than {MAX_DEPTH}"));
                    }
                    self.sign(first);
                }
                ')' => {
                    let Some(left) = depth.checked_sub(1) else {
                        return Err("closes a parenthesis that is not open".to_owned());
                    };
                    depth = left;
                    self.sign(first);
                }
                '0'..='9' | '.' => self.number()?,
                'a'..='z' | 'A'..='Z' | '_' => self.name()?,
                other => return Err(format!("has `{other}`, which means nothing here")),
            }
        }
        if depth > 0 {
            return Err("leaves a parenthesis open".to_owned());
        }
        if self.text.trim().is_empty() {
            return Err("is empty".to_owned());
        }
        Ok(self.tokens)
    }

    fn number(&mut self) -> Result<(), String> {
        // Also `1e9`.
        let bytes = self.rest.as_bytes();
        let mut end = self.run(0, |byte| byte.is_ascii_digit() || byte == b'.');
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let after = self.run(end + 1 + sign, |byte| byte.is_ascii_digit());
            if after > end + 1 + sign {
                end = after;
            }
        }
        let word = self.rest.get(..end).unwrap_or_default();
        let number = word.parse::<f64>().ok().filter(|number| number.is_finite());
        match number {
            Some(number) => self.tokens.push(Token::Number(number)),
            None => return Err(format!("has `{word}`, which is no number")),
        }
        self.skip(end);
        Ok(())
    }

    fn name(&mut self) -> Result<(), String> {
        let end = self.run(0, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let word = self.rest.get(..end).unwrap_or_default();
        let after = self.rest.get(end..).unwrap_or_default();
        if after.trim_start().starts_with('(') {
            let Some((_, function)) = FUNCTIONS.iter().find(|(name, _)| *name == word) else {
                let names = FUNCTIONS.map(|(name, _)| name).join(", ");
                return Err(format!(
                    "calls `{word}`, which is no function; there are {names}"
                ));
            };
            self.tokens.push(Token::Function(*function));
            self.skip(end);
            return Ok(());
        }
        if let Some(at) = self.lets.iter().position(|name| *name == word) {
            self.skip(end);
            self.tokens.push(Token::Variable(Symbol::Let(at)));
            return Ok(());
        }
        let digits = word.strip_prefix("in").unwrap_or_default();
        let Some(at) = digits.parse::<usize>().ok().filter(|at| *at < 1000) else {
            return Err(format!(
                "uses `{word}`, which is neither an argument (`in0`, `in1` …) nor a `let` before it"
            ));
        };
        self.skip(end);
        let symbol = self.argument(word, at)?;
        self.tokens.push(Token::Variable(symbol));
        Ok(())
    }

    /// What follows `in0`.
    fn argument(&mut self, word: &str, at: usize) -> Result<Symbol, String> {
        if let Some(inside) = self.rest.strip_prefix('[') {
            let Some((item, _)) = inside.split_once(']') else {
                return Err(format!("leaves the bracket after `{word}` open"));
            };
            let Ok(number) = item.trim().parse::<i64>() else {
                return Err(format!(
                    "has `{word}[{item}]`, whose index is no whole number"
                ));
            };
            self.skip(item.len() + 2);
            return Ok(Symbol::Item(at, number));
        }
        let Some(property) = self.rest.strip_prefix('.') else {
            return Ok(Symbol::Value(at));
        };
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = property.find(|c| !is_word(c)).unwrap_or(property.len());
        let property = property.get(..end).unwrap_or_default();
        let symbol = match property {
            "n" => Symbol::Elements(at),
            "size" => Symbol::Size(at),
            "bytes" => Symbol::Bytes(at),
            "rank" => Symbol::Rank(at),
            _ => {
                return Err(format!(
                    "uses `{word}.{property}`; an argument has n, size, bytes and rank"
                ));
            }
        };
        self.skip(end + 1);
        Ok(symbol)
    }

    /// The end of a run of matching bytes that starts at `start`.
    fn run(&self, start: usize, is_part: fn(u8) -> bool) -> usize {
        let after = self.rest.as_bytes().get(start..).unwrap_or_default();
        start + after.iter().take_while(|byte| is_part(**byte)).count()
    }

    fn skip(&mut self, n: usize) {
        self.rest = self.rest.get(n..).unwrap_or_default();
    }

    fn sign(&mut self, sign: char) {
        self.tokens.push(Token::Sign(sign));
        self.skip(sign.len_utf8());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{OpArgsText, TraceBuilder};

    fn value(text: &str) -> Result<Option<f64>, String> {
        let mut builder = TraceBuilder::default();
        let (id, _) = builder.op_args(OpArgsText {
            dims: "[[8,4],[2],[],[],[[3,2],[5]],[]]",
            types: r#"["c10::Half","float","ScalarList","Scalar","TensorList","Scalar"]"#,
            concrete: r#"["","","[6, 7]","True","","0.5"]"#,
            ..OpArgsText::default()
        });
        let trace = builder.finish();
        let input = OpInput::new(&trace, "op", trace.args.get(id).unwrap());
        let lets = ["tokens", "k"];
        let expression = Expression::parse(text, &lets)?;
        Ok(expression.value(&input, &[10.0, 3.0]))
    }

    #[test]
    fn arithmetic_over_arguments() {
        let cases = [
            ("2*in0[0]*in0[-1]", Some(64.0)),
            ("in0.n + in1.n", Some(34.0)),
            ("in0.bytes + in1.size", Some(68.0)),
            ("in0.rank", Some(2.0)),
            ("in2[1] - in2[0]", Some(1.0)),
            ("tokens * (1 - in3/2) + k", Some(8.0)),
            ("in4.n", Some(11.0)),
            ("in5 * 1e3", Some(500.0)),
            ("10 - 3 - 2", Some(5.0)),
            ("2 + 3 * 4", Some(14.0)),
            ("-k * -2", Some(6.0)),
            ("2 - -(k - 1) / 4", Some(2.5)),
            ("2 * (3 + 4) * 5 / 7", Some(10.0)),
            ("ceil(in0[0] / 3) * min(k, 2) + max(1, 2)", Some(8.0)),
            (
                "log2(in0[0]) + floor(2.9) + round(1.4) + abs(-1) + sqrt(16)",
                Some(11.0),
            ),
            // Not recorded, or not a number.
            ("in9[0]", None),
            ("in0[2]", None),
            ("in0", None),
            ("in4.size", None),
            ("1 / 0", None),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        let cases = "
            hidden * 2 | uses `hidden`, which is neither an argument (`in0`, `in1` …) nor a `let` before it
            system(1) | calls `system`, which is no function; there are abs, ceil, floor, log2, max, min, round, sqrt
            in0.length | uses `in0.length`; an argument has n, size, bytes and rank
            in0[x] | has `in0[x]`, whose index is no whole number
            in0[1 | leaves the bracket after `in0` open
            (1 + 2 | leaves a parenthesis open
            1 + 2) | closes a parenthesis that is not open
            2 ^ 3 | has `^`, which means nothing here
            1.2.3 | has `1.2.3`, which is no number
             | is empty
            2 * | is no arithmetic expression: `2 *`
            min(1) | is no arithmetic expression: `min(1)`
            () | is no arithmetic expression: `()`
            2 3 | is no arithmetic expression: `2 3`
            min(1, 2, 3) | is no arithmetic expression: `min(1, 2, 3)`
        ";
        for case in cases.trim().lines() {
            let (text, expected) = case.split_once(" | ").unwrap();
            assert_eq!(value(text.trim()), Err(expected.to_owned()), "{case}");
        }
        let deep = format!("{}1{}", "(".repeat(60), ")".repeat(60));
        assert_eq!(
            value(&deep),
            Err("nests parentheses deeper than 50".to_owned())
        );
        let long = "1+".repeat(1001) + "1";
        assert_eq!(value(&long), Err("is longer than 2000 bytes".to_owned()));
    }
}
