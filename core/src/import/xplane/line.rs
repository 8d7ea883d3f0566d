//! Lines: the streams of a GPU and the threads of the CPU.

use std::borrow::Cow;

use crate::import::wire::Fields;

/// Picoseconds in a nanosecond.
pub(super) const PS: i64 = 1000;

/// A stream or a thread.
pub(super) struct Line<'a> {
    pub(super) id: u64,
    pub(super) name: Cow<'a, str>,
    /// Its start time. In picoseconds, times since 1970 would overflow.
    pub(super) start_ns: i64,
    pub(super) fields: Fields<'a>,
}

impl<'a> Line<'a> {
    pub(super) fn read(fields: Fields<'a>) -> Line<'a> {
        let mut line = Line {
            id: 0,
            name: Default::default(),
            start_ns: 0,
            fields: fields.clone(),
        };
        for (number, value) in fields {
            match number {
                1 => line.id = value.number(),
                2 => line.name = value.text(),
                11 if line.name.is_empty() => line.name = value.text(),
                3 => line.start_ns = value.signed(),
                _ => {}
            }
        }
        line
    }

    pub(super) fn events(&self) -> impl Iterator<Item = Fields<'a>> + use<'a> {
        let events = self.fields.clone().filter(|(number, _)| *number == 4);
        events.map(|(_, event)| event.fields())
    }
}

/// The stream of a line such as `Stream #7(Kernel,MemcpyD2H)`.
pub(super) fn stream(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("Stream #")?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit());
    rest.get(..end.unwrap_or(rest.len()))
        .filter(|digits| !digits.is_empty())
}
