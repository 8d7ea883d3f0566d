//! Times and ids from their decimal digits.

use crate::import::json::{Cursor, Stop};

/// A time as written in the trace, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    /// A number of microseconds that fits.
    Ns(i64),
    /// Something else: `NaN`, a huge number, text.
    Unreadable,
}

impl Cursor<'_> {
    /// Reads a number of microseconds; the cursor is at its first byte.
    ///
    /// Almost all have only digits and at most three decimals; the fast path reads just those.
    #[inline]
    pub(super) fn time(&mut self) -> Result<Time, Stop> {
        let start = self.pos;
        let (whole, n_digits) = self.digits()?;
        let (mut fraction, mut n_decimals) = (0, 0);
        if self.peek()? == b'.' {
            self.pos += 1;
            (fraction, n_decimals) = self.digits()?;
        }
        if self.is_after_value()? && (1..=15).contains(&n_digits) && n_decimals <= 3 {
            let scale = [1000, 100, 10, 1][n_decimals];
            return Ok(Time::Ns((whole * 1000 + fraction * scale) as i64));
        }
        self.pos = start;
        Ok(parse_time(self.scalar()?))
    }

    /// Reads a non-negative integer below 2⁶⁴. Returns `None` and leaves the cursor where it was for anything else.
    #[inline]
    pub(super) fn unsigned(&mut self) -> Result<Option<u64>, Stop> {
        let start = self.pos;
        let (number, n_digits) = self.digits()?;
        if self.is_after_value()? && (1..=18).contains(&n_digits) {
            return Ok(Some(number));
        }
        self.pos = start;
        Ok(None)
    }

    /// Reads digits; returns the number, wrapped around on overflow, and how many digits there are.
    #[inline(always)]
    fn digits(&mut self) -> Result<(u64, usize), Stop> {
        let start = self.pos;
        let mut number = 0u64;
        loop {
            let digit = self.peek()?.wrapping_sub(b'0');
            if digit > 9 {
                return Ok((number, self.pos - start));
            }
            number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.pos += 1;
        }
    }

    #[inline(always)]
    fn is_after_value(&self) -> Result<bool, Stop> {
        let byte = self.peek()?;
        Ok(matches!(byte, b',' | b'}' | b' ' | b'\n' | b'\r' | b'\t'))
    }
}

/// Converts microseconds in any decimal notation to whole nanoseconds, rounding half away from zero.
pub(super) fn parse_time(text: &[u8]) -> Time {
    decimal_ns(text).map_or(Time::Unreadable, Time::Ns)
}

fn decimal_ns(text: &[u8]) -> Option<i64> {
    let (negative, text) = match text.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match text.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        Some(at) => {
            let exponent = std::str::from_utf8(text.get(at + 1..)?).ok()?;
            (text.get(..at)?, exponent.parse::<i32>().ok()?)
        }
        None => (text, 0),
    };
    let mut digits = Vec::new();
    let mut point = None;
    for &byte in mantissa {
        match byte {
            b'0'..=b'9' => digits.push(byte - b'0'),
            b'.' if point.is_none() => point = Some(digits.len() as i32),
            _ => return None,
        }
    }
    if digits.is_empty() {
        return None;
    }
    if digits.iter().all(|digit| *digit == 0) {
        return Some(0);
    }
    // Converting microseconds to nanoseconds moves the decimal point by three more places.
    let n_whole = point
        .unwrap_or(digits.len() as i32)
        .checked_add(exponent)?
        .checked_add(3)?;
    let mut ns = 0i64;
    for place in 0..n_whole.max(0) {
        let digit = digits.get(place as usize).copied().unwrap_or(0);
        ns = ns.checked_mul(10)?.checked_add(i64::from(digit))?;
    }
    let next = if n_whole >= 0 {
        digits.get(n_whole as usize).copied().unwrap_or(0)
    } else {
        0
    };
    if next >= 5 {
        ns = ns.checked_add(1)?;
    }
    Some(if negative { -ns } else { ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::json::Quotes;

    #[test]
    fn microseconds_become_exact_nanoseconds() {
        for (text, expected) in [
            ("1428625731896.179", Time::Ns(1_428_625_731_896_179)),
            ("18.112", Time::Ns(18_112)),
            ("18.1", Time::Ns(18_100)),
            ("7", Time::Ns(7_000)),
            ("0", Time::Ns(0)),
            ("-2.5", Time::Ns(-2_500)),
            ("0.0005", Time::Ns(1)),
            ("0.00049", Time::Ns(0)),
            ("1.5e3", Time::Ns(1_500_000)),
            ("15E-1", Time::Ns(1_500)),
            ("1e400", Time::Unreadable),
            ("0e2147483000", Time::Ns(0)),
            ("99999999999999999999", Time::Unreadable),
            ("NaN", Time::Unreadable),
            (".", Time::Unreadable),
        ] {
            let closed = format!("{text},");
            let mut cursor = Cursor::new(closed.as_bytes(), 0, Quotes::Strict);
            assert_eq!(cursor.time(), Ok(expected), "{text}");
            assert_eq!(cursor.pos, text.len(), "{text}");
        }
    }

    #[test]
    fn a_number_at_the_end_of_the_window_may_go_on() {
        let mut cursor = Cursor::new(b"123", 0, Quotes::Strict);
        assert_eq!(cursor.time(), Err(Stop::More));
    }
}
