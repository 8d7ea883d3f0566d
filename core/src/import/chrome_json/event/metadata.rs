//! Names of processes and threads, which events of phase `M` give.

use super::{EventReader, Fields};
use crate::import::warning::WarningKind;
use crate::trace::StringTable;

impl EventReader {
    pub(super) fn metadata(&mut self, fields: &Fields, offset: u64) {
        let name = fields.name.unwrap_or(StringTable::EMPTY);
        let pid = fields.pid.map(|spelling| self.spelled(spelling));
        let tid = fields.tid.map(|spelling| self.spelled(spelling));
        match (self.builder.trace.strings.get(name), pid, tid) {
            ("process_name", Some(pid), _) => {
                if let Some(name) = fields.args_name {
                    let text = self.builder.trace.strings.get(name);
                    self.unknown.process(text);
                    self.builder.process_name(pid, name);
                }
            }
            ("process_labels", Some(pid), _) => {
                if let Some(label) = fields.args_labels {
                    self.builder.process_label(pid, label);
                }
            }
            ("thread_name", Some(pid), Some(tid)) => {
                if let Some(name) = fields.args_name {
                    self.builder.thread_name(pid, tid, name);
                }
            }
            ("process_sort_index" | "thread_sort_index", ..) => {}
            _ => self
                .warnings
                .add(WarningKind::UnknownMetadata, Some(offset)),
        }
    }
}
