//! Values that both traces have, side by side.

use crate::base::labels::labeled;

labeled! {
    /// Which of the two traces. The labels are used in sentences and in files.
    pub enum Which {
        /// The one that the target is compared with.
        Reference => "reference",
        /// The one to improve.
        Target => "target",
    }
}

impl Which {
    /// The other one.
    pub fn other(self) -> Which {
        match self {
            Which::Reference => Which::Target,
            Which::Target => Which::Reference,
        }
    }
}

/// A value for each of the two traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
pub struct Pair<T> {
    /// The value of the reference.
    pub reference: T,
    /// The value of the target.
    pub target: T,
}

impl<T> Pair<T> {
    /// Computes the value for both.
    pub fn of(ask: impl Fn(Which) -> T) -> Pair<T> {
        Pair {
            reference: ask(Which::Reference),
            target: ask(Which::Target),
        }
    }

    /// A value for one, and the default for the other.
    pub fn only(which: Which, value: T) -> Pair<T>
    where
        T: Default,
    {
        let mut pair = Pair::default();
        *pair.get_mut(which) = value;
        pair
    }

    /// The value of one trace.
    pub fn get(&self, which: Which) -> &T {
        match which {
            Which::Reference => &self.reference,
            Which::Target => &self.target,
        }
    }

    /// The value of one trace, mutable.
    pub fn get_mut(&mut self, which: Which) -> &mut T {
        match which {
            Which::Reference => &mut self.reference,
            Which::Target => &mut self.target,
        }
    }

    /// Both, borrowed.
    pub fn as_ref(&self) -> Pair<&T> {
        Pair {
            reference: &self.reference,
            target: &self.target,
        }
    }

    /// Applies a function to each.
    pub fn map<U>(self, mut follow: impl FnMut(T) -> U) -> Pair<U> {
        Pair {
            reference: follow(self.reference),
            target: follow(self.target),
        }
    }

    /// Pairs each with the corresponding value of another pair.
    pub fn zip<U>(self, other: Pair<U>) -> Pair<(T, U)> {
        Pair {
            reference: (self.reference, other.reference),
            target: (self.target, other.target),
        }
    }
}

impl<T> Pair<Option<T>> {
    /// Both values, if both are known.
    pub fn both(self) -> Option<Pair<T>> {
        Some(Pair {
            reference: self.reference?,
            target: self.target?,
        })
    }
}

/// Times in nanoseconds.
impl Pair<i64> {
    /// Target minus reference: positive if the target takes longer.
    pub fn difference(self) -> i64 {
        self.target.saturating_sub(self.reference)
    }

    /// Target over reference; `None` if the reference is not positive.
    pub fn ratio(self) -> Option<f64> {
        (self.reference > 0).then(|| self.target as f64 / self.reference as f64)
    }

    /// How much longer the target takes, in percent of the reference: target ÷ reference − 1. Negative if it is faster;
    /// `None` if the reference is not positive.
    pub fn change_percent(self) -> Option<f64> {
        Some((self.ratio()? - 1.0) * 100.0)
    }

    /// The sums of both pairs.
    pub fn plus(self, other: Pair<i64>) -> Pair<i64> {
        Pair {
            reference: self.reference.saturating_add(other.reference),
            target: self.target.saturating_add(other.target),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::compare::testing::pair;

    #[test]
    fn a_difference_is_target_minus_reference() {
        let times = pair(490, 13_710);
        assert_eq!(times.difference(), 13_220);
        // 13 710 ÷ 490 − 1 = 26.98.
        let percent = times.change_percent().unwrap();
        assert!((percent - 2697.959).abs() < 0.001, "{percent}");
        assert_eq!(pair(13_710, 490).difference(), -13_220);
    }

    #[test]
    fn nothing_has_no_ratio() {
        assert_eq!(pair(0, 5).ratio(), None);
        assert_eq!(pair(0, 5).change_percent(), None);
    }
}
