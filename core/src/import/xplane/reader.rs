//! Reads planes one by one, to threads and streams with their events.

use std::collections::BTreeMap;

use super::event::{GpuEvent, HostEvent};
use super::line::{Line, stream};
use super::operators::Operators;
use super::plane::{Plane, Stat};
use crate::import::unordered::{Unordered, stream_track};
use crate::import::warning::{WarningKind, Warnings};
use crate::import::wire::{Fields, RecordReader, Recording, Tally};
use crate::trace::{DeviceProperties, Source, Trace, TrackId, lifetime};

/// The plane with the profiler's own metadata.
const ENVIRONMENT: &str = "Task Environment";

/// At most this many profiler times are kept, for files that were concatenated.
const MOST_PROFILERS: usize = 1 << 16;

/// Reads the planes of a trace.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) events: Unordered,
    /// GPUs that had activity.
    devices: BTreeMap<u64, DeviceProperties>,
    pub(super) operators: Operators,
    tally: Tally,
}

impl RecordReader for Reader {
    fn record(&mut self, record: &[u8], offset: u64) {
        let (plane, bad) = Plane::read(record);
        if bad.is_some() {
            self.warn(WarningKind::UnreadableEvent, offset);
        }
        if plane.name.starts_with('/') || plane.name == ENVIRONMENT {
            self.tally.is_any = true;
        }
        match &*plane.name {
            "/host:CPU" => self.host(&plane, offset),
            "/host:metadata" => self.programs(&plane, offset),
            ENVIRONMENT => self.profiler(&plane),
            name => match name.strip_prefix("/device:GPU:").map(str::parse) {
                Some(Ok(gpu)) => self.gpu(&plane, gpu, offset),
                _ if name.starts_with("/device:") && plane.lines().next().is_some() => {
                    self.warn(WarningKind::OtherDevices, offset);
                }
                _ => {}
            },
        }
    }

    fn warn(&mut self, kind: WarningKind, offset: u64) {
        self.events.warn(kind, offset);
    }
}

impl Reader {
    fn gpu(&mut self, plane: &Plane, gpu: u64, offset: u64) {
        let n_before = self.events.builder.trace.events.len();
        for line in plane.lines().map(Line::read) {
            // Other lines repeat, by module or step, what the streams did.
            let Some(stream) = stream(&line.name) else {
                continue;
            };
            let track = stream_track(&mut self.events.builder, gpu, stream);
            self.warn_if_damaged(&line.fields, offset);
            for fields in line.events() {
                self.warn_if_damaged(&fields, offset);
                let event = GpuEvent::read(plane, &line, fields);
                self.tally.count();
                self.gpu_event(event, (gpu, stream), track, offset);
            }
        }
        if self.events.builder.trace.events.len() == n_before {
            return;
        }
        let mut device = DeviceProperties {
            id: i64::try_from(gpu).ok(),
            ..DeviceProperties::default()
        };
        plane.each_stat(|name, stat| {
            let small = || stat.number().and_then(|number| u32::try_from(number).ok());
            match name {
                "core_count" => device.n_sms = small(),
                "memory_size" => device.total_memory = stat.number(),
                "compute_cap_major" => device.compute_major = small(),
                "compute_cap_minor" => device.compute_minor = small(),
                "device_vendor" => {
                    device.vendor = match stat.text().as_deref() {
                        Some("Nvidia") => "NVIDIA",
                        Some("AMD") => "AMD",
                        _ => "",
                    };
                }
                _ => {}
            }
        });
        self.devices.insert(gpu, device);
    }

    fn host(&mut self, plane: &Plane, offset: u64) {
        for line in plane.lines().map(Line::read) {
            let track = self.thread(&line);
            self.warn_if_damaged(&line.fields, offset);
            for fields in line.events() {
                self.warn_if_damaged(&fields, offset);
                self.tally.count();
                if let Some(event) = HostEvent::read(plane, &line, fields) {
                    self.host_event(event, track, offset);
                }
            }
        }
    }

    /// Warns if a line or an event is damaged before its end.
    fn warn_if_damaged(&mut self, fields: &Fields, offset: u64) {
        if fields.are_damaged() {
            self.warn(WarningKind::UnreadableEvent, offset);
        }
    }

    fn thread(&mut self, line: &Line) -> TrackId {
        let builder = &mut self.events.builder;
        let tid = line.id.to_string();
        let track = builder.track("CPU", &tid);
        let [pid, tid, name] = ["CPU", &tid, &line.name].map(|text| builder.string(text));
        builder.process_name(pid, pid);
        builder.thread_name(pid, tid, name);
        track
    }

    /// Records when the profiler ran.
    fn profiler(&mut self, plane: &Plane) {
        let (mut start, mut stop) = (None, None);
        plane.each_stat(|name, stat| match name {
            "profile_start_time" => start = stat.number(),
            "profile_stop_time" => stop = stat.number(),
            _ => {}
        });
        let builder = &mut self.events.builder;
        if let (Some(start), Some(stop)) = (start, stop)
            && builder.trace.metadata.len() < MOST_PROFILERS
        {
            let json = format!(r#"{{"profile_start_time": {start}, "profile_stop_time": {stop}}}"#);
            builder.metadata(lifetime::PROFILER, &json);
        }
    }

    /// Keeps the programs until it is known which of their instructions ran.
    fn programs(&mut self, plane: &Plane, offset: u64) {
        for (program, named) in plane.named() {
            plane.stats_of_name(named, &mut |name, stat| {
                if let ("Hlo Proto" | "hlo_proto", Stat::Text(proto)) = (name, stat)
                    && !self.operators.program(program, proto)
                {
                    self.warn(WarningKind::LargeMetadata, offset);
                }
            });
        }
    }
}

impl Recording for Reader {
    fn tally(&self) -> Tally {
        self.tally
    }

    fn into_trace(mut self) -> (Trace, Warnings) {
        let trace = &mut self.events.builder.trace;
        trace.source = Source::Xla;
        trace.devices = self.devices.into_values().collect();
        self.operators.add(&mut self.events);
        self.events.finish()
    }
}
