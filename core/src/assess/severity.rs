//! Severities: decided by the thresholds that a share or a count exceeds.

use crate::base::labels::labeled;

labeled! {
    /// How much it matters. The first is the highest.
    #[derive(Default)]
    pub enum Priority {
        /// Large and far from what the hardware can do.
        Critical => "Critical",
        /// Large.
        High => "High",
        /// Of some size, or of a known pattern.
        Medium => "Medium",
        /// Worth knowing.
        #[default]
        Low => "Low",
    }
}

labeled! {
    /// A level; the last is the worst.
    pub enum Severity {
        /// Nothing to do.
        Acceptable => "ACCEPTABLE",
        /// Worth knowing.
        Low => "LOW",
        /// Worth addressing.
        Medium => "MEDIUM",
        /// Costs a significant part of the run.
        High => "HIGH",
        /// Dominates the run.
        Critical => "CRITICAL",
    }
}

impl Severity {
    /// By the thresholds that a value exceeds: critical, high, medium, low. A value on the line does not exceed it.
    pub fn above(value: f64, lines: [f64; 4]) -> Severity {
        Severity::worst(lines.into_iter().map(|line| value > line))
    }

    /// By the thresholds that a value is below: critical, high, medium.
    pub fn below(value: f64, lines: [f64; 3]) -> Severity {
        Severity::worst(lines.into_iter().map(|line| value < line))
    }

    fn worst(are_crossed: impl Iterator<Item = bool>) -> Severity {
        let mut levels = Severity::ALL.into_iter().rev().zip(are_crossed);
        let crossed = levels.find(|(_, is_crossed)| *is_crossed);
        crossed.map_or(Severity::Acceptable, |(level, _)| level)
    }

    /// The next worse level.
    pub fn worse(self) -> Severity {
        let next = Severity::ALL.into_iter().find(|level| *level > self);
        next.unwrap_or(Severity::Critical)
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
