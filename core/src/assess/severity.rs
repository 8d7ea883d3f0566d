//! How bad something is: by lines that its share or its count crosses.

/// How much it matters. The first is the highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Large and far from what the hardware can do.
    Critical,
    /// Large.
    High,
    /// Of some size, or of a known pattern.
    Medium,
    /// Worth knowing.
    Low,
}

impl Priority {
    /// For people.
    pub fn label(self) -> &'static str {
        match self {
            Priority::Critical => "Critical",
            Priority::High => "High",
            Priority::Medium => "Medium",
            Priority::Low => "Low",
        }
    }
}

/// A level; the last is the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Nothing to do.
    Acceptable,
    /// Worth knowing.
    Low,
    /// Worth addressing.
    Medium,
    /// Costs a good part of the run.
    High,
    /// Dominates the run.
    Critical,
}

impl Severity {
    const WORST_FIRST: [Severity; 4] = [
        Severity::Critical,
        Severity::High,
        Severity::Medium,
        Severity::Low,
    ];

    /// By the lines that a value is above: critical, high, medium, low. A value on a line is not
    /// above it.
    pub fn above(value: f64, lines: [f64; 4]) -> Severity {
        Severity::worst(lines.into_iter().map(|line| value > line))
    }

    /// By the lines that a value is below: critical, high, medium.
    pub fn below(value: f64, lines: [f64; 3]) -> Severity {
        Severity::worst(lines.into_iter().map(|line| value < line))
    }

    fn worst(are_crossed: impl Iterator<Item = bool>) -> Severity {
        let mut levels = Severity::WORST_FIRST.into_iter().zip(are_crossed);
        let crossed = levels.find(|(_, is_crossed)| *is_crossed);
        crossed.map_or(Severity::Acceptable, |(level, _)| level)
    }

    /// The next worse level.
    pub fn worse(self) -> Severity {
        let mut levels = Severity::WORST_FIRST.into_iter().rev();
        let next = levels.find(|level| *level > self);
        next.unwrap_or(Severity::Critical)
    }

    /// As files write it.
    pub fn label(self) -> &'static str {
        match self {
            Severity::Acceptable => "ACCEPTABLE",
            Severity::Low => "LOW",
            Severity::Medium => "MEDIUM",
            Severity::High => "HIGH",
            Severity::Critical => "CRITICAL",
        }
    }

    /// The priority of a finding about it.
    pub fn priority(self) -> Priority {
        match self {
            Severity::Critical => Priority::Critical,
            Severity::High => Priority::High,
            Severity::Medium => Priority::Medium,
            Severity::Low | Severity::Acceptable => Priority::Low,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Severity::{Acceptable, Critical, High, Low, Medium};

    #[test]
    fn a_value_on_a_line_has_not_crossed_it() {
        let lines = [20.0, 10.0, 5.0, 2.0];
        let cases = [
            (20.1, Critical),
            (20.0, High),
            (10.0, Medium),
            (5.0, Low),
            (2.0, Acceptable),
        ];
        for (value, severity) in cases {
            assert_eq!(Severity::above(value, lines), severity, "{value}");
        }
        let cases = [
            (29.9, Critical),
            (30.0, High),
            (50.0, Medium),
            (70.0, Acceptable),
        ];
        for (value, severity) in cases {
            let lines = [30.0, 50.0, 70.0];
            assert_eq!(Severity::below(value, lines), severity, "{value}");
        }
    }

    #[test]
    fn there_is_nothing_worse_than_critical() {
        assert_eq!(Acceptable.worse(), Low);
        assert_eq!(High.worse(), Critical);
        assert_eq!(Critical.worse(), Critical);
    }
}
