//! What the profiler says about the GPUs.

/// One entry of `deviceProperties`. Any part may be missing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeviceProperties {
    /// Ordinal among the visible devices.
    pub id: Option<i64>,
    /// Marketing name, "NVIDIA H100 80GB HBM3"; some ROCm traces leave it empty.
    pub name: String,
    /// Memory in bytes.
    pub total_memory: Option<u64>,
    /// Streaming multiprocessors or compute units.
    pub n_sms: Option<u32>,
    /// Compute capability (NVIDIA) or gfx version (AMD), major part.
    pub compute_major: Option<u32>,
    /// Minor part.
    pub compute_minor: Option<u32>,
    /// Threads per warp (32) or wavefront (64).
    pub warp_size: Option<u32>,
}

impl DeviceProperties {
    /// Reads the value of the `deviceProperties` key. What cannot be read is left out.
    pub fn parse_all(json: &str) -> Vec<DeviceProperties> {
        let Ok(serde_json::Value::Array(entries)) = serde_json::from_str(json) else {
            return Vec::new();
        };
        entries.iter().map(DeviceProperties::from_json).collect()
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
            total_memory: unsigned("totalGlobalMem"),
            n_sms: small("numSms"),
            compute_major: small("computeMajor"),
            compute_minor: small("computeMinor"),
            warp_size: small("warpSize"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_there() {
        let devices = DeviceProperties::parse_all(
            r#"[{"id": 0, "name": "AMD Instinct MI210", "totalGlobalMem": 68702699520, "numSms": 104}]"#,
        );
        assert_eq!(devices[0].name, "AMD Instinct MI210");
        assert_eq!(devices[0].n_sms, Some(104));
        assert_eq!(devices[0].compute_major, None);
        assert_eq!(DeviceProperties::parse_all("{}"), vec![]);
    }
}
