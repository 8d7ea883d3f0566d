//! Dispatches packets: which of their fields are read, and by which module.

use std::io::Write;

use flate2::write::ZlibDecoder;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::annotations::Annotations;
use super::clocks::Clocks;
use super::names::{NameRoom, Sequence};
use super::pairs::Pairs;
use super::touching;
use super::tracks::Tracks;
use crate::import::categories::UnknownCategories;
use crate::import::unordered::Unordered;
use crate::import::warning::{WarningKind, Warnings};
use crate::import::wire::{Fields, RecordReader, Recording, Records, Tally, Value};
use crate::trace::{DeviceProperties, Source, Trace};

/// `SequenceFlags`: the earlier state of the sequence is invalid.
const IS_CLEARED: u64 = 1;

/// More sequences than this are damage: those beyond share one state.
const MOST_SEQUENCES: usize = 1 << 20;

/// Reads the packets of a trace.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) events: Unordered,
    pub(super) unknown: UnknownCategories,
    pub(super) sequences: HashMap<u32, Sequence, FxBuildHasher>,
    name_room: NameRoom,
    pub(super) tracks: Tracks,
    pub(super) clocks: Clocks,
    pub(super) pairs: Pairs,
    pub(super) annotations: Annotations,
    /// The compute capability of each GPU, if the trace has it.
    pub(super) archs: Vec<(u64, String)>,
    /// Whether it has categories of rocprofv3.
    pub(super) is_rocprof: bool,
    pub(super) tally: Tally,
    /// Whether packets within a packet are being read.
    is_inside: bool,
}

/// The header fields of a packet, whatever its content.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Packet {
    /// Its time; `None` if unknown.
    ns: Option<i64>,
    pub(super) sequence: u32,
    /// Its offset in the trace.
    pub(super) offset: u64,
}

/// The fields of a packet besides its content; they may come after it.
#[derive(Default)]
struct Header {
    sequence: u32,
    /// The time that its clock showed.
    shown: Option<u64>,
    clock: Option<u64>,
    /// The names of the sequence are no longer valid.
    is_cleared: bool,
    /// Packets of the sequence before this one were lost.
    is_after_loss: bool,
}

impl Header {
    /// `None` if the packet is damaged.
    fn read(record: &[u8]) -> Option<Header> {
        let mut header = Header::default();
        let mut fields = Fields::of(record);
        for (number, value) in fields.by_ref() {
            match number {
                8 => header.shown = Some(value.number()),
                58 => header.clock = Some(value.number()),
                10 => header.sequence = value.number() as u32,
                13 => header.is_cleared |= value.number() & IS_CLEARED != 0,
                41 => header.is_cleared |= value.number() != 0,
                42 => header.is_after_loss |= value.number() != 0,
                _ => {}
            }
        }
        fields.bad().is_none().then_some(header)
    }
}

impl RecordReader for Reader {
    fn record(&mut self, record: &[u8], offset: u64) {
        let Some(header) = Header::read(record) else {
            self.warn(WarningKind::UnreadableEvent, offset);
            return;
        };
        let mut packet = Packet {
            ns: None,
            sequence: header.sequence,
            offset,
        };
        if self.sequences.len() >= MOST_SEQUENCES && !self.sequences.contains_key(&packet.sequence)
        {
            packet.sequence = 0;
        }
        if header.is_after_loss {
            self.warn(WarningKind::PacketsLost, offset);
        }
        if header.is_cleared {
            let sequence = self.sequences.entry(packet.sequence).or_default();
            sequence.clear(&mut self.name_room);
        }
        // Names and clocks first: an event in the same packet refers to them.
        for (number, value) in Fields::of(record) {
            match number {
                6 => self.clocks.snapshot(packet.sequence, value.fields()),
                12 => self.names(packet, value),
                59 => self.defaults(packet, value),
                60 => self
                    .tracks
                    .describe(value.fields(), &mut self.events.builder),
                _ => continue,
            }
            self.tally.is_any = true;
        }
        // Needed for every packet, whatever its content: a time can be relative to the previous one.
        packet.ns = header.shown.and_then(|shown| {
            let known = self.sequences.get(&packet.sequence);
            let clock = header.clock.or(known.and_then(|sequence| sequence.clock));
            self.clocks.ns(packet.sequence, clock, shown)
        });
        for (number, value) in Fields::of(record) {
            match number {
                11 => self.slice(packet, value),
                50 => self.compressed(packet, value.bytes()),
                53 => self.stage(packet, value),
                133 => self.warn(WarningKind::ZstdPackets, offset),
                _ => continue,
            }
            self.tally.is_any = true;
        }
    }

    fn warn(&mut self, kind: WarningKind, offset: u64) {
        self.events.warn(kind, offset);
    }
}

impl Reader {
    pub(super) fn sequence(&mut self, packet: Packet) -> &mut Sequence {
        self.sequences.entry(packet.sequence).or_default()
    }

    /// The time of a packet that needs one.
    pub(super) fn time(&mut self, packet: Packet) -> Option<i64> {
        if packet.ns.is_none() {
            self.warn(WarningKind::MissingTime, packet.offset);
        }
        packet.ns
    }

    fn names(&mut self, packet: Packet, value: Value) {
        let sequence = self.sequences.entry(packet.sequence).or_default();
        let (bad, is_full) = sequence.read(value.fields(), &mut self.name_room);
        if bad.is_some() {
            self.warn(WarningKind::UnreadableEvent, packet.offset);
        }
        if is_full {
            self.warn(WarningKind::LargeMetadata, packet.offset);
        }
    }

    fn defaults(&mut self, packet: Packet, value: Value) {
        for (number, value) in value.fields() {
            match number {
                58 => self.sequence(packet).clock = Some(value.number()),
                11 => {
                    let mut fields = value.fields();
                    if let Some((_, track)) = fields.find(|(number, _)| *number == 11) {
                        self.sequence(packet).track = track.number();
                    }
                }
                _ => {}
            }
        }
    }

    /// Reads the packets inside a compressed packet.
    fn compressed(&mut self, packet: Packet, bytes: &[u8]) {
        if self.is_inside {
            self.warn(WarningKind::UnreadableEvent, packet.offset);
            return;
        }
        self.is_inside = true;
        let mut inside = Inside {
            records: Records::default(),
            reader: self,
            offset: packet.offset,
        };
        let mut inflater = ZlibDecoder::new(&mut inside);
        let is_right = inflater
            .write_all(bytes)
            .and_then(|()| inflater.try_finish())
            .is_ok();
        drop(inflater);
        let Inside {
            mut records,
            reader,
            ..
        } = inside;
        records.end(&mut At(reader, packet.offset));
        self.is_inside = false;
        if !is_right {
            self.warn(WarningKind::UnreadableEvent, packet.offset);
        }
    }
}

/// Receives the content of a compressed packet.
struct Inside<'a> {
    records: Records,
    reader: &'a mut Reader,
    offset: u64,
}

/// Reads records as if all were at one offset: that of the packet that holds them.
struct At<'a>(&'a mut Reader, u64);

impl RecordReader for At<'_> {
    fn record(&mut self, record: &[u8], _: u64) {
        self.0.record(record, self.1);
    }

    fn warn(&mut self, kind: WarningKind, _: u64) {
        self.0.warn(kind, self.1);
    }
}

impl Write for Inside<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.records.push(bytes, &mut At(self.reader, self.offset));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Recording for Reader {
    fn tally(&self) -> Tally {
        self.tally
    }

    fn into_trace(mut self) -> (Trace, Warnings) {
        let is_pytorch = self.clocks.is_pytorch;
        self.pairs.finish(is_pytorch, &mut self.events);
        let trace = &mut self.events.builder.trace;
        trace.source = match (is_pytorch, self.is_rocprof) {
            (true, _) => Source::KinetoPerfetto,
            (_, true) => Source::Rocprofv3,
            _ => Source::Perfetto,
        };
        self.archs.sort();
        trace.devices = self
            .archs
            .iter()
            .map(|(gpu, arch)| device(*gpu, arch))
            .collect();
        self.unknown
            .warn(trace.events.len(), &mut self.events.warnings);
        let (trace, mut warnings) = self.events.finish();
        touching::warn(&trace, &mut warnings);
        (trace, warnings)
    }
}

/// The device properties that `sm_90` implies.
fn device(gpu: u64, arch: &str) -> DeviceProperties {
    let version = arch.strip_prefix("sm_");
    let digits = version.unwrap_or_default();
    let (major, minor) = digits
        .split_at_checked(digits.len().saturating_sub(1))
        .unwrap_or_default();
    DeviceProperties {
        id: i64::try_from(gpu).ok(),
        vendor: version.map_or("", |_| "NVIDIA"),
        compute_major: major.parse().ok(),
        compute_minor: minor.parse().ok(),
        ..DeviceProperties::default()
    }
}
