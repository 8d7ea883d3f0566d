//! A logarithmic axis: positions of values, and tick labels.

use super::format;

/// An axis from one power of ten to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogScale {
    /// The lowest power of ten.
    low: i32,
    /// The highest power of ten.
    high: i32,
    /// Coordinate of the lowest.
    start_px: f64,
    /// Coordinate of the highest; smaller than the start for a vertical axis.
    end_px: f64,
}

impl LogScale {
    /// An axis that covers all of these values, from one power of ten to a higher one. Values that are not positive
    /// numbers are ignored.
    pub fn around(values: impl Iterator<Item = f64>, start_px: f64, end_px: f64) -> LogScale {
        let logs = values
            .filter(|value| value.is_finite() && *value > 0.0)
            .map(f64::log10);
        let (low, high) = logs.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), log| {
            (low.min(log), high.max(log))
        });
        let (low, high) = match low.is_finite() {
            true => (low.floor() as i32, high.ceil() as i32),
            false => (0, 0),
        };
        LogScale {
            low,
            high: high.max(low.saturating_add(1)),
            start_px,
            end_px,
        }
    }

    /// The coordinate of a positive value.
    pub fn px(&self, value: f64) -> f64 {
        let share = (value.log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        self.start_px + share * (self.end_px - self.start_px)
    }

    /// The lowest and the highest value.
    pub fn ends(&self) -> (f64, f64) {
        (10_f64.powi(self.low), 10_f64.powi(self.high))
    }

    /// The powers of ten.
    pub fn powers(&self) -> impl Iterator<Item = f64> + use<> {
        (self.low..=self.high).map(|exponent| 10_f64.powi(exponent))
    }

    /// Labeled powers of ten, as coordinate and text, at least `apart_px` apart.
    pub fn ticks(&self, apart_px: f64) -> Vec<(f64, String)> {
        let decades = self.high - self.low;
        let decade_px = (self.end_px - self.start_px).abs() / f64::from(decades);
        let step = (apart_px / decade_px.max(1.0)).ceil().clamp(1.0, 1e3) as i32;
        (self.low..=self.high)
            .filter(|exponent| exponent.rem_euclid(step) == 0)
            .map(|exponent| (self.px(10_f64.powi(exponent)), power(exponent)))
            .collect()
    }
}

/// A power of ten: in digits if that is short, else with a superscript exponent.
fn power(exponent: i32) -> String {
    match exponent {
        0..=2 => format!("{}", 10_i32.pow(exponent as u32)),
        3..=5 => format::count(10_u64.pow(exponent as u32)),
        -3..=-1 => {
            let decimals = exponent.unsigned_abs() as usize;
            format!("{:.decimals$}", 10_f64.powi(exponent))
        }
        _ => {
            let raised = exponent.to_string().chars().map(raised).collect::<String>();
            format!("10{raised}")
        }
    }
}

fn raised(digit: char) -> char {
    match digit {
        '-' => '⁻',
        '0' => '⁰',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => digit
            .to_digit(10)
            .and_then(|digit| char::from_u32(0x2070 + digit))
            .unwrap_or(digit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_by_their_logarithm() {
        let scale = LogScale::around([3.0, 50.0, 0.0, f64::NAN, -1.0].into_iter(), 100.0, 300.0);
        assert_eq!(scale.ends(), (1.0, 100.0));
        assert!((scale.px(10.0) - 200.0).abs() < 1e-9);
        assert!((scale.px(1.0) - 100.0).abs() < 1e-9);
        // Half a decade is √10.
        assert!((scale.px(10_f64.sqrt()) - 150.0).abs() < 1e-9);
        // Upwards, a larger value has a smaller coordinate.
        let upwards = LogScale::around([1.0, 1000.0].into_iter(), 300.0, 0.0);
        assert!((upwards.px(10.0) - 200.0).abs() < 1e-9);
    }

    #[test]
    fn an_axis_is_at_least_a_decade_long() {
        assert_eq!(
            LogScale::around([10.0].into_iter(), 0.0, 1.0).ends(),
            (10.0, 100.0)
        );
        assert_eq!(
            LogScale::around([].into_iter(), 0.0, 1.0).ends(),
            (1.0, 10.0)
        );
    }

    #[test]
    fn powers_are_named_where_there_is_room() {
        let texts = |apart_px| -> Vec<String> {
            let scale = LogScale::around([1e-5, 1e3].into_iter(), 0.0, 80.0);
            scale
                .ticks(apart_px)
                .into_iter()
                .map(|(_, text)| text)
                .collect()
        };
        assert_eq!(
            texts(10.0),
            [
                "10⁻⁵",
                "10⁻⁴",
                "0.001",
                "0.01",
                "0.1",
                "1",
                "10",
                "100",
                "1\u{202f}000"
            ]
        );
        assert_eq!(texts(25.0), ["0.001", "1", "1\u{202f}000"]);
    }
}
