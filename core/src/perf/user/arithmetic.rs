//! Arithmetic in postfix order: `1 + 2*x` is kept as `1 2 x * +`.
//!
//! The grammar is five lines. An expression crate would bring a regular-expression engine along,
//! a tenth of what the page loads.

/// A piece of an expression.
#[derive(Debug, Clone, Copy)]
pub(super) enum Token {
    /// A constant.
    Number(f64),
    /// A variable, by its position among the values.
    Variable(usize),
    /// A function; an opening parenthesis follows.
    Function(Function),
    /// One of `+ - * / ( ) ,`.
    Sign(char),
}

/// What can be called.
#[derive(Debug, Clone, Copy)]
pub(super) enum Function {
    /// Of one value.
    Of(fn(f64) -> f64),
    /// Of two values.
    OfTwo(fn(f64, f64) -> f64),
}

/// Every function with its name.
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

/// Puts a value on the stack, or takes some from it and puts their result there.
#[derive(Debug, Clone, Copy)]
enum Step {
    Number(f64),
    Variable(usize),
    Call(Function),
}

/// An expression that was read.
#[derive(Debug, Clone)]
pub(super) struct Arithmetic {
    steps: Vec<Step>,
}

impl Arithmetic {
    /// Reads an expression; `None` where the pieces make none. Parentheses recurse: the caller
    /// bounds how deep they nest.
    pub(super) fn parse(tokens: &[Token]) -> Option<Arithmetic> {
        let mut parser = Parser {
            rest: tokens,
            steps: Vec::new(),
        };
        parser.sum()?;
        parser.rest.is_empty().then_some(Arithmetic {
            steps: parser.steps,
        })
    }

    /// Works it out; `None` where a variable has no value.
    pub(super) fn value(&self, values: &[f64]) -> Option<f64> {
        let mut stack = Vec::new();
        for step in &self.steps {
            let value = match *step {
                Step::Number(number) => number,
                Step::Variable(at) => *values.get(at)?,
                Step::Call(Function::Of(function)) => function(stack.pop()?),
                Step::Call(Function::OfTwo(function)) => {
                    let right = stack.pop()?;
                    function(stack.pop()?, right)
                }
            };
            stack.push(value);
        }
        stack.pop()
    }
}

struct Parser<'a> {
    rest: &'a [Token],
    steps: Vec<Step>,
}

impl Parser<'_> {
    /// `product (("+" | "-") product)*`
    fn sum(&mut self) -> Option<()> {
        self.product()?;
        while let Some(sign) = self.take_one_of(&['+', '-']) {
            self.product()?;
            self.call(match sign {
                '+' => |left, right| left + right,
                _ => |left, right| left - right,
            });
        }
        Some(())
    }

    /// `signed (("*" | "/") signed)*`
    fn product(&mut self) -> Option<()> {
        self.signed()?;
        while let Some(sign) = self.take_one_of(&['*', '/']) {
            self.signed()?;
            self.call(match sign {
                '*' => |left, right| left * right,
                _ => |left, right| left / right,
            });
        }
        Some(())
    }

    /// `("+" | "-")* operand`
    fn signed(&mut self) -> Option<()> {
        let mut is_negative = false;
        while let Some(sign) = self.take_one_of(&['+', '-']) {
            is_negative ^= sign == '-';
        }
        self.operand()?;
        if is_negative {
            self.steps.push(Step::Call(Function::Of(|value| -value)));
        }
        Some(())
    }

    /// `number | variable | "(" sum ")" | function "(" sum ["," sum] ")"`
    fn operand(&mut self) -> Option<()> {
        match self.take()? {
            Token::Number(number) => self.steps.push(Step::Number(number)),
            Token::Variable(at) => self.steps.push(Step::Variable(at)),
            Token::Sign('(') => {
                self.sum()?;
                self.take_one_of(&[')'])?;
            }
            Token::Sign(_) => return None,
            Token::Function(function) => {
                self.take_one_of(&['('])?;
                self.sum()?;
                if matches!(function, Function::OfTwo(_)) {
                    self.take_one_of(&[','])?;
                    self.sum()?;
                }
                self.take_one_of(&[')'])?;
                self.steps.push(Step::Call(function));
            }
        }
        Some(())
    }

    fn call(&mut self, operation: fn(f64, f64) -> f64) {
        self.steps.push(Step::Call(Function::OfTwo(operation)));
    }

    fn take(&mut self) -> Option<Token> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn take_one_of(&mut self, signs: &[char]) -> Option<char> {
        match self.rest.first() {
            Some(Token::Sign(sign)) if signs.contains(sign) => {
                self.take();
                Some(*sign)
            }
            _ => None,
        }
    }
}
