//! Arithmetic over variables of any kind, as a tree.
//!
//! The grammar is five lines. An expression crate would pull in a regular expression engine, a tenth of the page's
//! download size.

/// A token of an expression.
#[derive(Debug, Clone, Copy)]
pub(super) enum Token<V> {
    /// A constant.
    Number(f64),
    /// A variable, whose value differs per call.
    Variable(V),
    /// A function; an opening parenthesis follows.
    Function(Function),
    /// One of `+ - * / ( ) ,`.
    Sign(char),
}

/// A function.
#[derive(Debug, Clone, Copy)]
pub(super) enum Function {
    /// Of one value.
    Of(fn(f64) -> f64),
    /// Of two values.
    OfTwo(fn(f64, f64) -> f64),
}

pub(super) const FUNCTIONS: [(&str, Function); 8] = [
    ("abs", Function::Of(f64::abs)),
    ("ceil", Function::Of(f64::ceil)),
    ("floor", Function::Of(f64::floor)),
    ("log2", Function::Of(f64::log2)),
    ("max", Function::OfTwo(f64::max)),
    ("min", Function::OfTwo(f64::min)),
    ("round", Function::Of(f64::round)),
    ("sqrt", Function::Of(f64::sqrt)),
];

/// A parsed expression.
#[derive(Debug, Clone)]
pub(super) enum Arithmetic<V> {
    Number(f64),
    Variable(V),
    Of(fn(f64) -> f64, Box<Arithmetic<V>>),
    OfTwo(fn(f64, f64) -> f64, Box<[Arithmetic<V>; 2]>),
}

impl<V: Copy> Arithmetic<V> {
    /// Parses an expression; `None` if the tokens are not one. Parentheses recurse: the caller bounds their nesting.
    pub(super) fn parse(tokens: &[Token<V>]) -> Option<Arithmetic<V>> {
        let mut parser = Parser { rest: tokens };
        let tree = parser.sum()?;
        parser.rest.is_empty().then_some(tree)
    }

    /// Evaluates it; `None` if a variable has no value.
    pub(super) fn value(&self, of: &impl Fn(V) -> Option<f64>) -> Option<f64> {
        Some(match self {
            Arithmetic::Number(number) => *number,
            Arithmetic::Variable(variable) => of(*variable)?,
            Arithmetic::Of(function, value) => function(value.value(of)?),
            Arithmetic::OfTwo(function, values) => {
                let [left, right] = &**values;
                function(left.value(of)?, right.value(of)?)
            }
        })
    }
}

struct Parser<'a, V> {
    rest: &'a [Token<V>],
}

impl<V: Copy> Parser<'_, V> {
    /// `product (("+" | "-") product)*`
    fn sum(&mut self) -> Option<Arithmetic<V>> {
        let mut tree = self.product()?;
        while let Some(sign) = self.take_one_of(&['+', '-']) {
            let operation: fn(f64, f64) -> f64 = match sign {
                '+' => |left, right| left + right,
                _ => |left, right| left - right,
            };
            tree = Arithmetic::OfTwo(operation, Box::new([tree, self.product()?]));
        }
        Some(tree)
    }

    /// `signed (("*" | "/") signed)*`
    fn product(&mut self) -> Option<Arithmetic<V>> {
        let mut tree = self.signed()?;
        while let Some(sign) = self.take_one_of(&['*', '/']) {
            let operation: fn(f64, f64) -> f64 = match sign {
                '*' => |left, right| left * right,
                _ => |left, right| left / right,
            };
            tree = Arithmetic::OfTwo(operation, Box::new([tree, self.signed()?]));
        }
        Some(tree)
    }

    /// `("+" | "-")* operand`
    fn signed(&mut self) -> Option<Arithmetic<V>> {
        let mut is_negative = false;
        while let Some(sign) = self.take_one_of(&['+', '-']) {
            is_negative ^= sign == '-';
        }
        let tree = self.operand()?;
        Some(match is_negative {
            true => Arithmetic::Of(|value| -value, Box::new(tree)),
            false => tree,
        })
    }

    /// `number | variable | "(" sum ")" | function "(" sum ["," sum] ")"`
    fn operand(&mut self) -> Option<Arithmetic<V>> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        let tree = match *first {
            Token::Number(number) => return Some(Arithmetic::Number(number)),
            Token::Variable(variable) => return Some(Arithmetic::Variable(variable)),
            Token::Sign('(') => self.sum()?,
            Token::Sign(_) => return None,
            Token::Function(function) => {
                self.take_one_of(&['('])?;
                let first = self.sum()?;
                match function {
                    Function::Of(function) => Arithmetic::Of(function, Box::new(first)),
                    Function::OfTwo(function) => {
                        self.take_one_of(&[','])?;
                        Arithmetic::OfTwo(function, Box::new([first, self.sum()?]))
                    }
                }
            }
        };
        self.take_one_of(&[')'])?;
        Some(tree)
    }

    fn take_one_of(&mut self, signs: &[char]) -> Option<char> {
        match self.rest {
            [Token::Sign(sign), rest @ ..] if signs.contains(sign) => {
                self.rest = rest;
                Some(*sign)
            }
            _ => None,
        }
    }
}
