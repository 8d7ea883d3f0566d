//! The header of a plane: names, and statistics by name.

use std::borrow::Cow;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::import::wire::{Bad, Fields, Value};

/// A plane: a device or the host, with its lines, which are streams or threads.
#[derive(Debug, Default)]
pub(super) struct Plane<'a> {
    pub(super) name: Cow<'a, str>,
    /// Names of events. Ids can be negative; cast to unsigned they are still distinct.
    events: HashMap<u64, Named<'a>, FxBuildHasher>,
    stats: HashMap<u64, Cow<'a, str>, FxBuildHasher>,
    fields: Option<Fields<'a>>,
}

/// Metadata that events refer to by number.
#[derive(Debug, Default)]
pub(super) struct Named<'a> {
    pub(super) name: Cow<'a, str>,
    fields: Option<Fields<'a>>,
}

/// The value of a statistic; fractions are ignored.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stat<'a> {
    Number(i128),
    Text(&'a [u8]),
}

impl<'a> Stat<'a> {
    pub(super) fn number(self) -> Option<u64> {
        match self {
            Stat::Number(number) => u64::try_from(number).ok(),
            _ => None,
        }
    }

    pub(super) fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Stat::Text(text) => Some(String::from_utf8_lossy(text)),
            _ => None,
        }
    }
}

/// An entry of a map: its key and its value.
fn entry(fields: Fields<'_>) -> (u64, Fields<'_>) {
    let (mut key, mut value) = (0, Fields::of(&[]));
    for (number, of) in fields {
        match number {
            1 => key = of.number(),
            2 => value = of.fields(),
            _ => {}
        }
    }
    (key, value)
}

impl<'a> Plane<'a> {
    /// Reads names; stops at damage.
    pub(super) fn read(record: &'a [u8]) -> (Plane<'a>, Option<Bad>) {
        let mut fields = Fields::of(record);
        let mut plane = Plane {
            fields: Some(fields.clone()),
            ..Plane::default()
        };
        for (number, value) in fields.by_ref() {
            match number {
                2 => plane.name = value.text(),
                4 => {
                    let (id, fields) = entry(value.fields());
                    let mut of = Named {
                        fields: Some(fields.clone()),
                        ..Named::default()
                    };
                    for (number, value) in fields {
                        match number {
                            2 => of.name = value.text(),
                            // Its display name.
                            4 if of.name.is_empty() => of.name = value.text(),
                            _ => {}
                        }
                    }
                    plane.events.insert(id, of);
                }
                5 => {
                    let (id, mut fields) = entry(value.fields());
                    if let Some((_, name)) = fields.find(|(number, _)| *number == 2) {
                        plane.stats.insert(id, name.text());
                    }
                }
                _ => {}
            }
        }
        (plane, fields.bad())
    }

    /// The fields of the plane with a given number.
    fn all(&self, number: u32) -> impl Iterator<Item = Value<'a>> + use<'a> {
        let fields = self.fields.clone().into_iter().flatten();
        fields
            .filter(move |(of, _)| *of == number)
            .map(|(_, value)| value)
    }

    /// Its lines.
    pub(super) fn lines(&self) -> impl Iterator<Item = Fields<'a>> + use<'a> {
        self.all(3).map(Value::fields)
    }

    /// Passes on the statistics of the plane itself.
    pub(super) fn each_stat(&self, mut visit: impl FnMut(&str, Stat)) {
        for stat in self.all(6) {
            self.stat(stat, &mut visit);
        }
    }

    /// The names of its events, with their ids.
    pub(super) fn named(&self) -> impl Iterator<Item = (u64, &Named<'a>)> {
        self.events.iter().map(|(id, named)| (*id, named))
    }

    /// The name of an event.
    pub(super) fn event(&self, id: u64) -> Option<&Named<'a>> {
        self.events.get(&id)
    }

    /// Passes on the statistics of an event or of an event name.
    pub(super) fn stats_of(&self, fields: &Fields, field: u32, visit: &mut impl FnMut(&str, Stat)) {
        for (number, value) in fields.clone() {
            if number == field {
                self.stat(value, visit);
            }
        }
    }

    /// Passes on the statistics shared by all events of a name.
    pub(super) fn stats_of_name(&self, named: &Named, visit: &mut impl FnMut(&str, Stat)) {
        if let Some(fields) = &named.fields {
            self.stats_of(fields, 5, visit);
        }
    }

    fn stat(&self, stat: Value, visit: &mut impl FnMut(&str, Stat)) {
        let (mut name, mut value) = (None, None);
        for (number, of) in stat.fields() {
            match number {
                1 => name = self.stats.get(&of.number()),
                3 => value = Some(Stat::Number(i128::from(of.number()))),
                4 => value = Some(Stat::Number(i128::from(of.signed()))),
                5 | 6 => value = Some(Stat::Text(of.bytes())),
                // Frequent texts are interned and referred to by number.
                7 => {
                    let text = self.stats.get(&of.number());
                    value = text.map(|text| Stat::Text(text.as_bytes()));
                }
                _ => {}
            }
        }
        if let (Some(name), Some(value)) = (name, value) {
            visit(name, value);
        }
    }
}
