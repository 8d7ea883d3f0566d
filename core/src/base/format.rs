//! Formatting of numbers for people. Reports, tables and charts all use it.
//!
//! The rules: three significant digits, but never fewer than the integer part has; digits in groups of three from 1 000
//! on, with a narrow no-break space (U+202F) between groups, so that a number never breaks across lines; an ordinary
//! space before the unit; U+2212 as the minus sign; an en dash for a missing number. Times are in ms or µs, sizes in
//! powers of 1000.

mod dtypes;
mod kernel;
mod sentence;

pub use dtypes::dtype;
pub(crate) use dtypes::plain_dtype;
pub use kernel::kernel_name;
pub(crate) use kernel::operation_name;
pub use sentence::{capitalized, listed};
pub(crate) use sentence::{in_sentence, joined};

/// Separator between groups of digits.
const GROUP: char = '\u{202F}';
/// Shown for a missing number.
const NOTHING: &str = "–";

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Text for programs: removes the separators between digit groups.
pub fn ungrouped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_after_digit = plain.ends_with(|last: char| last.is_ascii_digit());
        let is_before_digit = letters.peek().is_some_and(char::is_ascii_digit);
        if letter != GROUP || !is_after_digit || !is_before_digit {
            plain.push(letter);
        }
    }
    plain
}

/// A duration: `41.7 ms`, `9.87 µs`, `1 172 ms`, `13.3 s`.
pub fn time_ns(ns: i64) -> String {
    time_us(ns as f64 / 1e3)
}

/// A part of a duration: "450 of 564 ms".
pub(crate) fn part_of_ns(ns: i64, whole_ns: i64) -> String {
    let (part, whole) = (time_ns(ns), time_ns(whole_ns));
    match (part.rsplit_once(' '), whole.rsplit_once(' ')) {
        (Some((number, unit)), Some((_, of))) if unit == of => format!("{number} of {whole}"),
        _ => format!("{part} of {whole}"),
    }
}

/// A duration given in microseconds, as in sheets.
pub fn time_us(us: f64) -> String {
    // 999.7 µs rounds to a thousand: that is a millisecond.
    if us.abs() < 999.5 {
        with_unit(us, "µs")
    } else {
        time_ms(us / 1e3)
    }
}

/// From here on durations are in seconds; shorter ones read well in milliseconds.
const SECONDS_FROM_MS: f64 = 9_999.5;

/// A duration in milliseconds, however small, for columns that share a unit: `0.033 ms`; from ten seconds on in
/// seconds: `13.3 s`.
pub fn time_ms(ms: f64) -> String {
    if ms.abs() < SECONDS_FROM_MS {
        with_unit(ms, "ms")
    } else {
        with_unit(ms / 1e3, "s")
    }
}

/// A range of times in one unit: "0.61–3.05 ms"; a single time if both ends read the same.
pub fn time_range_ns(low_ns: i64, high_ns: i64) -> String {
    let (low, high) = (time_ns(low_ns), time_ns(high_ns));
    let units = [&low, &high].map(|text| text.rsplit_once(' ').map(|(_, unit)| unit));
    let in_ns = match units {
        [one, other] if one == other => return range(&low, &high),
        [_, Some("µs")] => 1e3,
        [_, Some("ms")] => 1e6,
        [_, Some("s")] => 1e9,
        _ => return format!("{low} to {high}"),
    };
    format!("{}–{high}", number(low_ns as f64 / in_ns))
}

/// A range of formatted amounts, with the unit written once: "3.2–6.1 %", "1.03–1.06×".
pub fn range(low: &str, high: &str) -> String {
    let unit = |text: &str| -> String {
        let digits = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '\u{202F}');
        text.trim_start_matches(digits).to_owned()
    };
    let low_number = low.strip_suffix(&unit(low)).unwrap_or(low);
    match (low == high, unit(low) == unit(high)) {
        (true, _) => high.to_owned(),
        (false, true) => format!("{low_number}–{high}"),
        (false, false) => format!("{low} to {high}"),
    }
}

/// A difference of two durations: `+41.7 ms`, `−9.87 µs`, `0 µs`.
pub fn signed_time_ns(ns: i64) -> String {
    let sign = if ns > 0 { "+" } else { "" };
    format!("{sign}{}", time_ns(ns))
}

/// Adds a sign to a formatted difference such as `−3.20 ms` or `0.041 ms`: `+0.041 ms` or `<+0.001 ms` if it is above
/// zero; otherwise unchanged, except for `>−0.001 ms`.
pub fn with_sign(written: &str, is_above: bool) -> String {
    match (written.strip_prefix('<'), is_above) {
        (Some(least), true) => format!("<+{least}"),
        (Some(least), false) => format!(">\u{2212}{least}"),
        (None, true) => format!("+{written}"),
        (None, false) => written.to_owned(),
    }
}

/// A change in percent: `+6.3 %`, `−3.2 %`, `0 %`. A small but nonzero change keeps its sign: `<+0.1 %`, `>−0.1 %`.
pub fn signed_percent(change: f64) -> String {
    percent_with(change, "+")
}

/// A share, given in percent: `63.7 %`. A small but nonzero share is shown as `<0.1 %`.
pub fn percent(percent: f64) -> String {
    percent_with(percent, "")
}

/// A percentage with `plus` in front if it is positive. `<` and `>` compare signed values: −99.97 is below −99.9.
fn percent_with(percent: f64, plus: &str) -> String {
    if !percent.is_finite() {
        return NOTHING.to_owned();
    }
    let size = percent.abs();
    let (sign, below, above) = match percent < 0.0 {
        true => ("\u{2212}", '>', '<'),
        false => (plus, '<', '>'),
    };
    if size == 0.0 {
        "0 %".to_owned()
    } else if size < 0.05 {
        format!("{below}{sign}0.1 %")
    } else if size < 99.95 {
        format!("{sign}{size:.1} %")
    } else if size < 100.0 {
        format!("{above}{sign}99.9 %")
    } else {
        format!("{sign}{} %", grouped(&format!("{size:.0}")))
    }
}

/// A count of things: `49 950`.
pub fn count(count: u64) -> String {
    grouped(&count.to_string())
}

/// "gpt_oss" for "GptOss".
pub(crate) fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// A count with its noun: `1 kernel`, `37 632 kernels`.
pub fn counted(number: u64, noun: &str) -> String {
    let ends_in_vowel_y = || {
        ["ay", "ey", "oy", "uy"]
            .iter()
            .any(|end| noun.ends_with(end))
    };
    let number = match (number, noun.strip_suffix('y')) {
        (1, _) => return format!("1 {noun}"),
        (_, Some(stem)) if !ends_in_vowel_y() => return format!("{} {stem}ies", count(number)),
        _ => count(number),
    };
    format!("{number} {noun}s")
}

/// A size: `512 B`, `62.1 MB`.
pub fn bytes(bytes: u64) -> String {
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    scaled(bytes as f64 / 1e3, &["kB", "MB", "GB", "TB", "PB"])
}

/// An amount of arithmetic: `512 FLOP`, `17.2 GFLOP`.
pub fn flops(flops: f64) -> String {
    scaled(
        flops,
        &["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"],
    )
}

/// A memory bandwidth given in GB/s: `5.30 TB/s`.
pub fn bandwidth_gbps(gbps: f64) -> String {
    scaled(gbps, &["GB/s", "TB/s"])
}

/// A rate of arithmetic given in TFLOPS: `708 TFLOPS`.
pub fn tflops(tflops: f64) -> String {
    with_unit(tflops, "TFLOPS")
}

/// Three significant digits: `0.412`, `41.7`, `1 172`.
pub fn number(number: f64) -> String {
    if !number.is_finite() {
        return NOTHING.to_owned();
    }
    let size = number.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if size < 0.0005 {
        return "<0.001".to_owned();
    }
    // The exponent after rounding: 99.96 is 100, not 100.0.
    let scientific = format!("{size:.2e}");
    let exponent = scientific.split_once('e').map(|(_, exponent)| exponent);
    let exponent: i32 = exponent.map_or(0, |text| text.parse().unwrap_or(0));
    let decimals = (2 - exponent).clamp(0, 3) as usize;
    let sign = if number < 0.0 { "\u{2212}" } else { "" };
    format!("{sign}{}", grouped(&format!("{size:.decimals$}")))
}

/// How many times as fast a run can become: `1.06`. Beyond ten it is `over 10`, because losing nearly all of the time
/// is not a credible forecast.
pub(crate) fn times_as_fast(times: f64) -> String {
    match times <= 10.0 {
        true => number(times),
        false => "over 10".to_owned(),
    }
}

/// Cuts the middle out of a long name, leaving at most `max_chars` characters. Kernel names say most at their start,
/// and some at their end.
pub fn middle_ellipsis(text: &str, max_chars: usize) -> String {
    let n_chars = text.chars().count();
    if n_chars <= max_chars {
        return text.to_owned();
    }
    let kept = max_chars.saturating_sub(1);
    let letters: Vec<char> = text.chars().collect();
    let tail = nearest_word(&letters, n_chars - kept / 3, kept / 9);
    let (head, tail) = (
        letters.iter().take(kept + tail - n_chars),
        letters.iter().skip(tail),
    );
    head.chain(std::iter::once(&'…')).chain(tail).collect()
}

/// The start of a word in a name, nearest to a position and at most `reach` letters from it; the position itself if
/// there is none.
pub fn nearest_word(letters: &[char], at: usize, reach: usize) -> usize {
    let is_start = |at: &usize| {
        let before = at.checked_sub(1).and_then(|before| letters.get(before));
        before.zip(letters.get(*at)).is_some_and(|(before, first)| {
            let is_edge = before.is_alphanumeric() != first.is_alphanumeric();
            let is_hump = before.is_lowercase() && first.is_uppercase();
            let is_shown = first.is_alphanumeric() || "_<([{".contains(*first);
            is_shown && (is_edge || is_hump)
        })
    };
    let near = (0..=reach).flat_map(|n| [at.saturating_sub(n), at + n]);
    near.into_iter().find(is_start).unwrap_or(at)
}

/// Whether a text is a number without sign, point or separators.
pub(crate) fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A name without its instance number: "Linear" for "Linear_12".
pub(crate) fn without_number(name: &str) -> &str {
    match name.rsplit_once('_') {
        Some((name, number)) if is_digits(number) => name,
        _ => name,
    }
}

/// A shape: `8×12×3137`; `scalar` for a tensor without dimensions.
pub fn shape(sizes: &[i64]) -> String {
    if sizes.is_empty() {
        return "scalar".to_owned();
    }
    let sizes: Vec<String> = sizes.iter().map(i64::to_string).collect();
    sizes.join("×")
}

fn with_unit(value: f64, unit: &str) -> String {
    if !value.is_finite() {
        return NOTHING.to_owned();
    }
    format!("{} {unit}", number(value))
}

/// Formats a number in the largest unit in which it is at least 1; each unit is 1000 times the previous.
fn scaled(mut value: f64, units: &[&str]) -> String {
    let mut units = units.iter();
    let mut unit = units.next().copied().unwrap_or("");
    while value.abs() >= 999.5 {
        let Some(next) = units.next() else { break };
        unit = next;
        value /= 1e3;
    }
    with_unit(value, unit)
}

/// Groups the digits of a number, which may have decimals.
fn grouped(digits: &str) -> String {
    let whole = digits.find('.').unwrap_or(digits.len());
    let mut out = String::with_capacity(digits.len() + 8);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && position < whole && (whole - position).is_multiple_of(3) {
            out.push(GROUP);
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests write the group separator as an underscore, which is visible.
    fn plain(text: String) -> String {
        text.replace(GROUP, "_")
    }

    #[test]
    fn times_have_three_digits() {
        let cases = [
            (0, "0 µs"),
            (1, "0.001 µs"),
            (412, "0.412 µs"),
            (9_874, "9.87 µs"),
            (99_960, "100 µs"),
            (999_400, "999 µs"),
            (999_700, "1.00 ms"),
            (1_000_000, "1.00 ms"),
            (41_700_000, "41.7 ms"),
            (121_345_000, "121 ms"),
            (1_172_400_000, "1_172 ms"),
            (9_999_400_000, "9_999 ms"),
            (9_999_700_000, "10.0 s"),
            (13_322_000_000, "13.3 s"),
            (3_600_000_000_000, "3_600 s"),
            (-2_500, "\u{2212}2.50 µs"),
        ];
        for (ns, expected) in cases {
            assert_eq!(plain(time_ns(ns)), expected, "{ns}");
        }
        assert_eq!(time_us(f64::NAN), "–");
        assert_eq!(time_ms(0.0331), "0.033 ms");
        assert_eq!(time_ms(0.0001), "<0.001 ms");
        assert_eq!(time_ms(13_322.0), "13.3 s");
    }

    #[test]
    fn percents_have_one_decimal() {
        let cases = [
            (0.0, "0 %"),
            (0.01, "<0.1 %"),
            (0.05, "0.1 %"),
            (6.31, "6.3 %"),
            (63.7, "63.7 %"),
            (99.94, "99.9 %"),
            (99.96, ">99.9 %"),
            (100.0, "100 %"),
            (1250.0, "1_250 %"),
            (-3.21, "\u{2212}3.2 %"),
            (-0.01, ">\u{2212}0.1 %"),
            (-99.96, "<\u{2212}99.9 %"),
            (-100.0, "\u{2212}100 %"),
            (f64::NAN, "–"),
        ];
        for (value, expected) in cases {
            assert_eq!(plain(percent(value)), expected, "{value}");
        }
    }

    #[test]
    fn differences_have_a_sign() {
        let written = [(0.041, "+0.041 ms"), (0.0001, "<+0.001 ms")];
        for (ms, expected) in written {
            assert_eq!(with_sign(&time_ms(ms), true), expected);
        }
        assert_eq!(with_sign(&time_ms(-0.041), false), "\u{2212}0.041 ms");
        assert_eq!(with_sign(&time_ms(-0.0001), false), ">\u{2212}0.001 ms");
        assert_eq!(signed_time_ns(41), "+0.041 µs");
        assert_eq!(signed_time_ns(41_700_000), "+41.7 ms");
        assert_eq!(signed_time_ns(-9_870), "\u{2212}9.87 µs");
        assert_eq!(signed_time_ns(0), "0 µs");
        assert_eq!(signed_percent(6.31), "+6.3 %");
        assert_eq!(signed_percent(-3.21), "\u{2212}3.2 %");
        assert_eq!(signed_percent(0.01), "<+0.1 %");
        assert_eq!(signed_percent(-0.01), ">\u{2212}0.1 %");
        assert_eq!(signed_percent(99.97), ">+99.9 %");
        assert_eq!(signed_percent(-99.97), "<\u{2212}99.9 %");
        assert_eq!(signed_percent(0.0), "0 %");
        assert_eq!(signed_percent(f64::INFINITY), "–");
    }

    #[test]
    fn counts_are_grouped() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1_000, "1_000"),
            (49_950, "49_950"),
            (12_345_678, "12_345_678"),
        ];
        for (value, expected) in cases {
            assert_eq!(plain(count(value)), expected);
        }
        assert_eq!(counted(1, "kernel"), "1 kernel");
        assert_eq!(plain(counted(37_632, "kernel")), "37_632 kernels");
        assert_eq!(counted(0, "copy event"), "0 copy events");
        assert_eq!(counted(5, "copy"), "5 copies");
        assert_eq!(counted(1, "copy"), "1 copy");
        assert_eq!(counted(2, "array"), "2 arrays");
    }

    #[test]
    fn sizes_and_rates_choose_their_unit() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1_000), "1.00 kB");
        assert_eq!(bytes(62_149_000), "62.1 MB");
        assert_eq!(bytes(999_900_000), "1.00 GB");
        assert_eq!(flops(512.0), "512 FLOP");
        assert_eq!(flops(17_179_869_184.0), "17.2 GFLOP");
        assert_eq!(bandwidth_gbps(5300.0), "5.30 TB/s");
        assert_eq!(bandwidth_gbps(864.0), "864 GB/s");
        assert_eq!(tflops(708.0), "708 TFLOPS");
        assert_eq!(tflops(81.7), "81.7 TFLOPS");
        assert_eq!(plain(tflops(1307.4)), "1_307 TFLOPS");
    }

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(middle_ellipsis("aten::mm", 20), "aten::mm");
        assert_eq!(middle_ellipsis("0123456789", 10), "0123456789");
        assert_eq!(middle_ellipsis("0123456789a", 10), "012345…89a");
        assert_eq!(middle_ellipsis("µµµµµµ", 4), "µµ…µ");
        assert_eq!(middle_ellipsis("abc", 1), "…");
        assert_eq!(middle_ellipsis("abc", 0), "…");
        let kernel = "Cijk_Alik_Bljk_BBS_BH_MT128x224x64_MI16x16x1";
        let shown = "Cijk_Alik_Bljk_BBS_BH_MT1…_MI16x16x1";
        assert_eq!(middle_ellipsis(kernel, 36), shown);
    }

    #[test]
    fn shapes_and_types_are_short() {
        assert_eq!(shape(&[8, 12, 3137, 64]), "8×12×3137×64");
        assert_eq!(shape(&[]), "scalar");
        assert_eq!(dtype("c10::BFloat16"), Some("bf16"));
        assert_eq!(dtype("long int"), Some("int64"));
        assert_eq!(dtype("Scalar"), None);
    }
}
