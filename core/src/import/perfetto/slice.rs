//! Thread events: `TrackEvent`.

use super::names::Table;
use super::pairs::Half;
use super::reader::{Packet, Reader};
use super::tracks::{Place, PlaceKind};
use crate::import::warning::WarningKind;
use crate::import::wire::{RecordReader, Value};
use crate::trace::annotations::step_number;
use crate::trace::{Category, EventId, NewEvent, StringId, StringTable};

const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// The fields that are read before the arguments.
#[derive(Default)]
struct Slice<'a> {
    kind: u64,
    track: Option<u64>,
    name: Option<Value<'a>>,
    category: Option<Value<'a>>,
    category_iids: Option<Value<'a>>,
    /// Whether it launches GPU activity, or a flow arrow to it starts here.
    launches: bool,
}

impl Reader {
    /// Reads half of an event, or an event that is not used (instant, counter).
    pub(super) fn slice(&mut self, packet: Packet, value: Value) {
        let mut slice = Slice::default();
        let mut fields = value.fields();
        for (number, value) in fields.by_ref() {
            match number {
                9 => slice.kind = value.number(),
                11 => slice.track = Some(value.number()),
                10 | 23 => slice.name = Some(value),
                22 if slice.category.is_none() => slice.category = Some(value),
                3 if slice.category_iids.is_none() => slice.category_iids = Some(value),
                3000 | 36 | 47 => slice.launches = true,
                _ => {}
            }
        }
        if fields.bad().is_some() {
            self.warn(WarningKind::UnreadableEvent, packet.offset);
            return;
        }
        let of_sequence = self.sequence(packet).track;
        let track = slice.track.unwrap_or(of_sequence);
        match slice.kind {
            BEGIN => self.tally.count(),
            END => {}
            INSTANT | COUNTER => return self.tally.count(),
            _ => return self.warn(WarningKind::UnknownPhase, packet.offset),
        }
        let Some(ts_ns) = self.time(packet) else {
            return;
        };
        let begun = (slice.kind == BEGIN).then(|| self.begin(packet, &slice, track, ts_ns, value));
        let half = Half {
            track,
            ts_ns,
            offset: packet.offset,
            begun,
        };
        self.pairs
            .add(half, self.clocks.is_pytorch, &mut self.events);
    }

    fn begin(
        &mut self,
        packet: Packet,
        slice: &Slice,
        track: u64,
        ts_ns: i64,
        value: Value,
    ) -> Option<EventId> {
        let name = self.name(packet, slice.name);
        let place = self.tracks.place(track, &mut self.events.builder);
        let category = self.category(packet, slice, place, name);
        self.unknown.note(category);
        let builder = &mut self.events.builder;
        let annotations = &mut self.annotations;
        annotations.clear();
        if let Some(names) = self.sequences.get(&packet.sequence) {
            for (_, value) in value.fields().filter(|(number, _)| *number == 4) {
                annotations.read(value, names, builder);
            }
        }
        // Most events of a trace are Python frames, and the tree needs only their times.
        let is_frame = category == Category::PythonFunction;
        let op_args = annotations.op_args(builder).filter(|_| !is_frame);
        let event = NewEvent {
            uid: 0,
            category,
            name,
            track: place.track,
            ts_ns,
            dur_ns: None,
            external_id: annotations.external_id.filter(|_| !is_frame),
            correlation: annotations.correlation.filter(|_| !is_frame),
            op_args: op_args.map(|(id, _)| id),
            extra_args: (!is_frame).then(|| annotations.rest(builder)).flatten(),
        };
        let (number, sequence_number) = (annotations.number, annotations.sequence_number);
        if self.annotations.are_cut() {
            self.warn(WarningKind::LargeMetadata, packet.offset);
        }
        if let Some((_, false)) = op_args {
            self.warn(WarningKind::UnreadableArguments, packet.offset);
        }
        let id = self.events.add(event, number, packet.offset)?;
        let builder = &mut self.events.builder;
        if let Some(number) = sequence_number {
            builder.sequence_number(id, number);
        }
        match event.correlation {
            Some(id) if category.is_gpu() => builder.flow_end(id, place.track),
            Some(id) if slice.launches => builder.flow_start(id, place.track),
            _ => {}
        }
        Some(id)
    }

    fn name(&mut self, packet: Packet, name: Option<Value>) -> StringId {
        let builder = &mut self.events.builder;
        match name {
            Some(Value::Bytes(_)) => builder.string(&name.map(Value::text).unwrap_or_default()),
            Some(iid) => {
                let sequence = self.sequences.entry(packet.sequence).or_default();
                let name = sequence.id(Table::EVENTS, iid.number(), builder);
                name.unwrap_or(StringTable::EMPTY)
            }
            None => StringTable::EMPTY,
        }
    }

    fn category(
        &mut self,
        packet: Packet,
        slice: &Slice,
        place: Place,
        name: StringId,
    ) -> Category {
        let iid = slice.category_iids.and_then(|iids| iids.numbers().next());
        let sequence = self.sequences.get(&packet.sequence);
        let interned = || sequence?.text(Table::CATEGORIES, iid?).map(str::to_owned);
        let written = slice.category.map(|text| text.text().into_owned());
        let Some(written) = written.or_else(interned) else {
            // PyTorch gives these no category, and they do not count as unknown.
            return match place.kind {
                PlaceKind::Overhead => Category::Overhead,
                PlaceKind::Stream => Category::Other,
                PlaceKind::Thread => {
                    self.unknown.count_without(packet.offset);
                    Category::Other
                }
            };
        };
        if let Some(category) = of_rocprof(&written) {
            self.is_rocprof = true;
            return category;
        }
        let category = Category::parse(&written);
        if category == Category::CpuOp
            && step_number(self.events.builder.trace.strings.get(name)).is_some()
        {
            return Category::UserAnnotation;
        }
        if let Some(row) = self.unknown.row(written.as_bytes()) {
            self.unknown.count(row, packet.offset);
        }
        category
    }
}

/// The categories of rocprofv3.
fn of_rocprof(category: &str) -> Option<Category> {
    Some(match category {
        "kernel_dispatch" => Category::Kernel,
        "memory_copy" => Category::GpuMemcpy,
        "hip_api" | "hsa_api" | "rccl_api" => Category::Runtime,
        "marker_api" => Category::UserAnnotation,
        _ => return None,
    })
}
