//! The identity of a rank: its number, its job's size and groups, its host.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::coordinates::Coordinates;
use crate::base::labels::labeled;
use crate::hardware::detect;
use crate::trace::{Trace, distributed};

labeled! {
    /// Where the number of a rank comes from.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub(crate) enum RankFrom {
        /// `distributedInfo`.
        Metadata => "metadata",
        /// The events of a file that a tool merged from several ranks.
        Merged => "merged trace",
        /// The arguments of a collective of the group of all ranks.
        Collectives => "collectives",
        /// The name of the file.
        FileName => "file name",
        /// Its coordinates in the layout of a server, from the name of its file or of its processes.
        Coordinates => "coordinates",
        /// The number is unknown.
        #[default]
        Unknown => "unknown",
    }
}

/// A process group that the profiler lists; only those that the rank is in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NamedGroup {
    /// `pg_name`.
    pub(crate) name: String,
    /// `pg_desc`.
    pub(crate) description: String,
    /// All of its ranks, in order.
    pub(crate) ranks: Vec<u32>,
}

/// The identity of a rank.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) rank: Option<u32>,
    pub(crate) rank_from: RankFrom,
    /// Its coordinates in the layout of a server, if a name contains them.
    #[serde(default)]
    pub(crate) coordinates: Option<Coordinates>,
    pub(crate) world_size: Option<u32>,
    pub(crate) backend: String,
    /// Empty where the trace does not name it.
    pub(crate) host: String,
    /// Number of GPUs of the host, as described by the profiler.
    pub(crate) n_devices: u32,
    /// The name of the first of them.
    pub(crate) device: String,
    /// Its row in the table of GPUs; empty where undetermined.
    #[serde(default)]
    pub(crate) gpu: String,
    pub(crate) groups: Vec<NamedGroup>,
    /// `trace_id`: two files with the same id are one recording.
    pub(crate) trace_id: String,
}

impl Identity {
    pub(crate) fn new(trace: &Trace, file: &str) -> Identity {
        let info = distributed::info(trace).unwrap_or_default();
        let number = |key: &str| info.get(key).and_then(Value::as_u64);
        let whole = |number: u64| u32::try_from(number).ok();
        let metadata = number("rank").and_then(whole);
        let named = || of_name(file);
        let (rank, rank_from) = match (metadata, named()) {
            (Some(rank), _) => (Some(rank), RankFrom::Metadata),
            (None, Some(rank)) => (Some(rank), RankFrom::FileName),
            (None, None) => (None, RankFrom::Unknown),
        };
        let groups = info.get("pg_config").and_then(Value::as_array);
        Identity {
            rank,
            rank_from,
            coordinates: Coordinates::of(base_name(file)),
            world_size: number("world_size").and_then(whole),
            backend: text(info.get("backend")),
            host: of_trace(trace, "host_name"),
            n_devices: trace.devices.len() as u32,
            device: (trace.devices.first()).map_or_else(String::new, |of| of.name.clone()),
            gpu: detect(&trace.devices).map_or_else(String::new, |gpu| gpu.id.to_string()),
            groups: groups.into_iter().flatten().map(group).collect(),
            trace_id: of_trace(trace, "trace_id"),
        }
    }
}

fn group(config: &Value) -> NamedGroup {
    let ranks = config.get("ranks").and_then(Value::as_array);
    let ranks = ranks.into_iter().flatten().filter_map(Value::as_u64);
    NamedGroup {
        name: text(config.get("pg_name")),
        description: text(config.get("pg_desc")),
        ranks: ranks.filter_map(|rank| u32::try_from(rank).ok()).collect(),
    }
}

/// A string without its quotes, a number as written.
fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// A value of the trace's metadata.
pub(crate) fn of_trace(trace: &Trace, key: &str) -> String {
    let mut metadata = trace.metadata.iter();
    let found = metadata.find(|(of, _)| of == key);
    let value = found.and_then(|(_, json)| serde_json::from_str::<Value>(json).ok());
    text(value.as_ref())
}

/// The offset to add to the times of a trace.
pub(crate) fn base_ns(trace: &Trace) -> Option<i64> {
    of_trace(trace, "baseTimeNanoseconds").parse().ok()
}

fn base_name(file: &str) -> &str {
    file.rsplit(['/', '\\']).next().unwrap_or(file)
}

/// The rank in the name of a file: `rank0_trace.json`, `rank[3]`, `rank-7.Apr_03.pt.trace.json`.
fn of_name(file: &str) -> Option<u32> {
    let file = base_name(file).to_ascii_lowercase();
    file.match_indices("rank").find_map(|(at, word)| {
        let rest = file.get(at + word.len()..)?;
        let rest = rest.strip_prefix(['[', '-', '_', '/', '=']).unwrap_or(rest);
        let digits = rest.find(|letter: char| !letter.is_ascii_digit());
        rest.get(..digits.unwrap_or(rest.len()))?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::of_name;

    #[test]
    fn a_file_name_gives_the_rank() {
        let cases = [
            ("rank0_trace.json", Some(0)),
            ("run/rank[3].json.gz", Some(3)),
            ("rank-12.Apr_03_10_11.pt.trace.json.gz", Some(12)),
            ("franks_trace_rank_5.json", Some(5)),
            ("node0_4000.1790857926000000000.pt.trace.json.gz", None),
            ("rank.json", None),
        ];
        for (name, rank) in cases {
            assert_eq!(of_name(name), rank, "{name}");
        }
    }
}
