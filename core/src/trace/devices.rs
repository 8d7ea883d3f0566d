//! What the profiler says about the GPUs.

/// One entry of `deviceProperties`. Any part may be missing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeviceProperties {
    /// Ordinal among the visible devices.
    pub id: Option<i64>,
    /// Marketing name, "NVIDIA H100 80GB HBM3"; some ROCm traces leave it empty.
    pub name: String,
    /// Who makes it, "NVIDIA", "AMD" or "Intel"; empty where the trace does not say.
    pub vendor: &'static str,
    /// Memory in bytes.
    pub total_memory: Option<u64>,
    /// Streaming multiprocessors or compute units.
    pub n_sms: Option<u32>,
    /// Compute capability (NVIDIA) or gfx version (AMD), major part.
    pub compute_major: Option<u32>,
    /// Minor part.
    pub compute_minor: Option<u32>,
}

impl DeviceProperties {
    /// Parses the value of the `deviceProperties` key, and says whether it was valid JSON. Entries that cannot be read
    /// are left out.
    pub(crate) fn parse_all(json: &str) -> (Vec<DeviceProperties>, bool) {
        let read = |json: &str| match serde_json::from_str(json) {
            Ok(serde_json::Value::Array(entries)) => {
                Some(entries.iter().map(DeviceProperties::from_json).collect())
            }
            _ => None,
        };
        match read(json) {
            Some(devices) => (devices, true),
            None => (read(&repaired(json)).unwrap_or_default(), false),
        }
    }

    fn from_json(value: &serde_json::Value) -> DeviceProperties {
        let unsigned = |key: &str| value.get(key).and_then(serde_json::Value::as_u64);
        let small = |key: &str| unsigned(key).and_then(|number| u32::try_from(number).ok());
        DeviceProperties {
            id: value.get("id").and_then(serde_json::Value::as_i64),
            name: value
                .get("name")
                .and_then(|name| name.as_str())
                .unwrap_or("")
                .to_owned(),
            // Written for Intel's: "Intel(R) Corporation".
            vendor: match value.get("vendor").and_then(|vendor| vendor.as_str()) {
                Some(vendor) if vendor.starts_with("Intel") => "Intel",
                _ => "",
            },
            total_memory: unsigned("totalGlobalMem"),
            n_sms: small("numSms"),
            compute_major: small("computeMajor"),
            compute_minor: small("computeMinor"),
        }
    }
}

/// Repairs text that is not valid JSON because of invalid numbers, extra commas or malformed strings.
pub(super) fn repaired(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '"' => string_len(rest),
            _ if first.is_alphanumeric() || first == '-' => {
                let is_part = |c: char| c.is_alphanumeric() || "+-._".contains(c);
                rest.find(|c: char| !is_part(c)).unwrap_or(rest.len())
            }
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(len);
        rest = after;
        match first {
            '"' => push_string(token, &mut out),
            ',' if after.trim_start().starts_with([',', ']', '}']) => {}
            _ if serde_json::from_str::<serde_json::Value>(token).is_ok() => out.push_str(token),
            _ if len > first.len_utf8() || first.is_alphanumeric() => out.push_str("null"),
            _ => out.push_str(token),
        }
    }
    out
}

/// Length in bytes of the string at the start of a text, including its quotes.
fn string_len(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |at| at + 2)
}

/// Appends a string without control characters and without backslashes that escape nothing.
fn push_string(token: &str, out: &mut String) {
    let mut chars = token.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u')) => {
                out.push(c);
                out.extend(chars.next());
            }
            ('\\', _) => out.push_str(r"\\"),
            _ if c.is_control() => out.push(' '),
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_there() {
        let (devices, is_right) = DeviceProperties::parse_all(
            r#"[{"id": 0, "name": "AMD Instinct MI210", "totalGlobalMem": 68702699520, "numSms": 104}]"#,
        );
        assert!(is_right);
        assert_eq!(devices[0].name, "AMD Instinct MI210");
        assert_eq!(devices[0].n_sms, Some(104));
        assert_eq!((devices[0].compute_major, devices[0].vendor), (None, ""));
        let intel =
            r#"[{"name": "Intel(R) Arc(TM) B580 Graphics", "vendor": "Intel(R) Corporation"}]"#;
        assert_eq!(DeviceProperties::parse_all(intel).0[0].vendor, "Intel");
        assert_eq!(DeviceProperties::parse_all("{}"), (vec![], false));
        assert_eq!(DeviceProperties::parse_all("[]"), (vec![], true));
    }

    #[test]
    fn damage_hides_no_device() {
        for text in [
            r#"[{"name": "H100", "numSms": 132, "warpSize": NaN}]"#,
            r#"[{"name": "H100", "numSms": 132, "warpSize": -nan,},]"#,
            r#"[{"name": "H100", "numSms": 132, "path": "C:\data"}]"#,
            "[{\"name\": \"H100\", \"numSms\": 132, \"note\": \"two\nlines\"}]",
        ] {
            let (devices, is_right) = DeviceProperties::parse_all(text);
            assert!(!is_right, "{text}");
            assert_eq!((&*devices[0].name, devices[0].n_sms), ("H100", Some(132)));
        }
    }
}
