//! Instant events of allocators, `[memory]` and `[OutOfMemory]`, to rows of the memory columns.
//!
//! Only instants of these names get here, so a trace without any is read as fast as before. Their arguments were
//! skipped like any others and are read a second time here.

use super::super::number::Time;
use super::super::tracks::Spelling;
use super::{EventReader, Fields};
use crate::import::json::Cursor;
use crate::import::limits::MAX_MEMORY_ROWS;
use crate::import::warning::WarningKind;
use crate::trace::{FailedAllocation, MemoryDevice, MemoryEvent, StringTable};

/// The kind of report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Report {
    /// An allocation or a free.
    Change,
    /// A failed allocation.
    Failed,
}

impl Report {
    fn of_name(name: &str) -> Option<Report> {
        match name {
            "[memory]" => Some(Report::Change),
            "[OutOfMemory]" => Some(Report::Failed),
            _ => None,
        }
    }
}

/// The arguments that are integers.
#[derive(Debug, Default)]
struct Args {
    kind: Option<i128>,
    index: Option<i128>,
    addr: Option<i128>,
    bytes: Option<i128>,
    allocated: Option<i128>,
    reserved: Option<i128>,
}

impl Args {
    fn add(&mut self, key: &[u8], value: Option<i128>) {
        match key {
            b"Device Type" => self.kind = value,
            b"Device Id" => self.index = value,
            b"Addr" => self.addr = value,
            b"Bytes" => self.bytes = value,
            b"Total Allocated" => self.allocated = value,
            b"Total Reserved" => self.reserved = value,
            _ => {}
        }
    }
}

/// Splits off `, "key": 12` as key and value.
fn entry(text: &[u8]) -> Option<(&[u8], Option<i128>)> {
    let is_between = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
    let start = text.iter().position(|byte| !is_between(byte))?;
    let text = text.get(start..)?.strip_prefix(b"\"")?;
    let end = text.iter().position(|byte| *byte == b'"')?;
    let (key, rest) = (text.get(..end)?, text.get(end + 1..)?);
    let value = rest.trim_ascii_start().strip_prefix(b":")?.trim_ascii();
    let value = value.strip_prefix(b"\"").unwrap_or(value);
    let value = std::str::from_utf8(value.strip_suffix(b"\"").unwrap_or(value)).ok();
    Some((key, value.and_then(|value| value.parse().ok())))
}

impl EventReader {
    /// Reads an instant if an allocator reported it. Unreadable ones are counted.
    pub(super) fn instant(&mut self, cursor: &Cursor, fields: &Fields, offset: u64) {
        let name = fields.name.unwrap_or(StringTable::EMPTY);
        let Some(report) = Report::of_name(self.builder.trace.strings.get(name)) else {
            return;
        };
        if self.builder.trace.memory.len() >= MAX_MEMORY_ROWS {
            self.warn(WarningKind::TooManyEvents, offset);
            return;
        }
        if self.memory(report, cursor, fields).is_none() {
            self.warn(WarningKind::UnreadableMemory, offset);
        }
    }

    fn memory(&mut self, report: Report, cursor: &Cursor, fields: &Fields) -> Option<()> {
        let Some(Time::Ns(ts_ns)) = fields.ts else {
            return None;
        };
        let mut args = Args::default();
        for &(start, end) in &self.extra {
            if let Some((key, value)) = entry(cursor.bytes(start, end)) {
                args.add(key, value);
            }
        }
        let kind = i16::try_from(args.kind?).ok()?;
        let index = i32::try_from(args.index?).ok()?;
        let bytes = args.bytes?;
        let (addr, allocated, reserved) = match report {
            Report::Change => {
                let [addr, allocated, reserved] =
                    [args.addr?, args.allocated?, args.reserved?].map(u64::try_from);
                (addr.ok()?, allocated.ok()?, reserved.ok()?)
            }
            Report::Failed => (0, 0, 0),
        };
        let change = i64::try_from(bytes).ok()?;
        let track = self.track(fields);
        let pid = self.spelled(fields.pid.unwrap_or(Spelling::Text(StringTable::EMPTY)));
        let memory = &mut self.builder.trace.memory;
        let device = memory.device(MemoryDevice { pid, kind, index })?;
        match report {
            Report::Change => memory.push(MemoryEvent {
                ts_ns,
                track,
                device,
                addr,
                bytes: change,
                allocated,
                reserved,
            }),
            Report::Failed => memory.push_failed(FailedAllocation {
                ts_ns,
                track,
                device,
                bytes: change.unsigned_abs(),
            }),
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use crate::import::warning::WarningKind::UnreadableMemory;
    use crate::testing::Timetable;
    use crate::trace::{MemoryDevice, MemoryEvent};

    fn event(name: &str, ts: &str, args: &str) -> String {
        format!(
            r#"{{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "{name}", "pid": 1, "tid": 2, "ts": {ts}, "args": {{{args}}}}}"#
        )
    }

    const ARGS: &str = r#""Total Reserved": 4096, "Total Allocated": 1536, "Bytes": -512, "Addr": 18446744073709551615, "Device Id": 3, "Device Type": 6, "Ev Idx": 7"#;

    #[test]
    fn a_report_of_an_allocator_is_a_row() {
        let profile = Timetable::new()
            .raw(&event("[memory]", "12.345", ARGS))
            .profile();
        let memory = &profile.trace.memory;
        let row = memory.get(0).unwrap();
        let expected = MemoryEvent {
            ts_ns: 12_345,
            track: row.track,
            device: 0,
            addr: u64::MAX,
            bytes: -512,
            allocated: 1536,
            reserved: 4096,
        };
        assert_eq!((memory.len(), row), (1, expected));
        let MemoryDevice { pid, kind, index } = memory.devices()[0];
        assert_eq!(profile.trace.strings.get(pid), "1");
        assert_eq!((kind, index), (6, 3));
    }

    #[test]
    fn an_allocation_that_failed_is_kept_apart() {
        let args = r#""Device Type": 1, "Device Id": 0, "Bytes": 4096, "Total Allocated": 1, "Total Reserved": 2"#;
        let profile = Timetable::new()
            .raw(&event("[OutOfMemory]", "5", args))
            .profile();
        let memory = &profile.trace.memory;
        assert_eq!((memory.len(), memory.is_empty()), (0, false));
        assert_eq!(
            (memory.failed()[0].ts_ns, memory.failed()[0].bytes),
            (5_000, 4096)
        );
    }

    #[test]
    fn damaged_ones_are_counted_and_others_ignored() {
        let mut timetable = Timetable::new()
            .raw(&event("[memory]", "1", ARGS))
            // A different kind of instant.
            .raw(&event("mark", "2", ARGS));
        for (from, to) in [
            ("\"Bytes\": -512, ", ""),
            ("-512", "null"),
            ("-512", "\"much\""),
            ("-512", "9223372036854775808"),
            ("4096", "-4096"),
            ("18446744073709551615", "18446744073709551616"),
        ] {
            timetable = timetable.raw(&event("[memory]", "3", &ARGS.replace(from, to)));
        }
        timetable = timetable.raw(&event("[memory]", "\"never\"", ARGS));
        let profile = timetable.profile();
        assert_eq!(profile.trace.memory.len(), 1);
        assert_eq!(profile.warnings.count(UnreadableMemory), 7);
    }
}
