//! Events to rows of the trace.

use std::borrow::Cow;

use super::event::{GpuEvent, HostEvent};
use super::reader::Reader;
use crate::base::format::is_digits;
use crate::import::limits;
use crate::import::warning::WarningKind;
use crate::import::wire::RecordReader;
use crate::trace::{Category, NewEvent, TrackId};

impl Reader {
    pub(super) fn gpu_event(
        &mut self,
        mut event: GpuEvent,
        (gpu, stream): (u64, &str),
        track: TrackId,
        offset: u64,
    ) {
        let Some(timed) = event.timed else { return };
        if !limits::has_room(&self.events.builder.trace) {
            return self.warn(WarningKind::TooManyEvents, offset);
        }
        event.args.raw("device", gpu);
        event.args.raw("stream", stream);
        let builder = &mut self.events.builder;
        let name = builder.string(&timed.name);
        let correlation = event.correlation.map(|id| builder.link(id));
        if let Some(id) = correlation {
            builder.flow_end(id, track);
            self.operators.kernel(id, event.instruction, name);
        }
        let new = NewEvent {
            uid: 0,
            category: event.category,
            name,
            track,
            ts_ns: timed.start_ns,
            // A missing duration is zero.
            dur_ns: Some(timed.dur_ns.unwrap_or(0)),
            external_id: None,
            correlation,
            op_args: None,
            extra_args: event.args.get().map(|text| builder.string(text)),
        };
        self.events.add(new, None, offset);
    }

    pub(super) fn host_event(&mut self, event: HostEvent, track: TrackId, offset: u64) {
        let HostEvent {
            timed,
            correlation,
            memory,
        } = event;
        let n_reports = self.events.builder.trace.memory.len();
        if !limits::has_room(&self.events.builder.trace) || n_reports >= limits::MAX_MEMORY_ROWS {
            return self.warn(WarningKind::TooManyEvents, offset);
        }
        if memory.add(&timed.name, timed.start_ns, track, &mut self.events.builder) {
            return;
        }
        // A marker without a duration.
        let Some(dur_ns) = timed.dur_ns else { return };
        let builder = &mut self.events.builder;
        let correlation = correlation.map(|id| builder.link(id));
        let (category, name) = match (correlation, frame(&timed.name)) {
            (Some(id), _) => {
                builder.flow_start(id, track);
                (Category::Runtime, timed.name)
            }
            (None, Some(frame)) => (Category::PythonFunction, Cow::Owned(frame)),
            (None, None) => (Category::CpuOp, timed.name),
        };
        let new = NewEvent {
            uid: 0,
            category,
            name: builder.string(&name),
            track,
            ts_ns: timed.start_ns,
            dur_ns: Some(dur_ns),
            external_id: None,
            correlation,
            op_args: None,
            extra_args: None,
        };
        let added = self.events.add(new, None, offset);
        if let (Some(event), Some(id)) = (added, correlation) {
            self.operators.call(id, event);
        }
    }
}

/// A Python frame in PyTorch's notation: `$api.py:2754 wait` becomes `api.py(2754): wait`.
fn frame(name: &str) -> Option<String> {
    let name = name.strip_prefix('$')?;
    let framed = || {
        let (place, function) = name.split_once(' ')?;
        let (file, line) = place.rsplit_once(':')?;
        is_digits(line).then(|| format!("{file}({line}): {function}"))
    };
    // A built-in has no file.
    Some(framed().unwrap_or_else(|| format!("<built-in {name}>")))
}
