//! What a piece of code is called, and where it is.

use super::Code;
use crate::base::format::{middle_ellipsis, without_number};
use crate::base::map::Map;
use crate::names::cpu_activity::CpuActivity;
use crate::names::frames::{Frame, is_framework, is_helper};
use crate::names::{MODULE, is_module};
use crate::profile::Profile;
use crate::profile::tree::NodeId;
use crate::trace::{ByName, Category, EventId, StringId};

/// Generated files have long names.
const FILE_CHARS: usize = 40;

/// What a piece of code is called, and where it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// A function, an operator, a range, a runtime call: `resize`, `aten::copy_`.
    pub(crate) function: String,
    /// Where it is: `image_processing_owlv2.py:301`; of what is no Python function, where it is called.
    pub(crate) file: Option<String>,
    /// The nearest module around it.
    pub(crate) module: Option<String>,
    /// The library that computes in it.
    pub(crate) library: Option<&'static str>,
    /// Of what is a function, the one of the program's that calls it: `step` in train.py:30; of a row the
    /// one that always does.
    pub(crate) caller: Option<String>,
    /// A compiler wrote it.
    pub(crate) is_generated: bool,
}

/// What tells places apart: what runs and, unless that is a function, who calls it.
pub(crate) type PlaceKey = (StringId, Option<StringId>);

/// Finds places; names that differ in addresses and numbers alone are one.
pub(super) struct Places<'a> {
    profile: &'a Profile,
    names: ByName<Name>,
    by_text: Map<&'a str, StringId>,
    known: Map<StringId, StringId>,
}

impl<'a> Places<'a> {
    pub(super) fn new(profile: &'a Profile) -> Places<'a> {
        Places {
            profile,
            names: ByName::new(Name::of),
            by_text: Map::default(),
            known: Map::default(),
        }
    }

    /// What tells the place of code apart, and who calls it.
    pub(super) fn key(&mut self, code: Code) -> (PlaceKey, Option<StringId>) {
        let (function, caller) = function_and_caller(self.profile, &mut self.names, code);
        let trace = &self.profile.trace;
        let caller = caller.map(|caller| trace.events.name(caller));
        // A function, and a call of a name that tells what it does, is one thing, whoever calls it.
        let is_function = Frame::of(trace.name(function)).is_some();
        let of_caller = caller.filter(|_| code.activity.is_none() && !is_function);
        let function = trace.events.name(function);
        ((self.canonical(function), of_caller), caller)
    }

    fn canonical(&mut self, name: StringId) -> StringId {
        if let Some(known) = self.known.get(&name) {
            return *known;
        }
        let text = self.profile.trace.strings.get(name);
        let text = text.split(" object at 0x").next().unwrap_or(text);
        let text = match is_module(text) {
            true => without_number(text),
            false => text,
        };
        let canonical = *self.by_text.entry(text).or_insert(name);
        self.known.insert(name, canonical);
        canonical
    }
}

impl Place {
    pub(crate) fn of(profile: &Profile, code: Code) -> Place {
        let trace = &profile.trace;
        let (function, caller) = function_and_caller(profile, &mut ByName::new(Name::of), code);
        let frame = |event: EventId| Frame::of(trace.name(event));
        let own = frame(function);
        let at = |frame: Frame| {
            let file = middle_ellipsis(frame.file(), FILE_CHARS);
            format!("{file}:{}", frame.line)
        };
        let called = caller.and_then(frame).filter(|_| own.is_some());
        Place {
            function: short(trace.name(function)).into_owned(),
            file: own.or_else(|| frame(caller?)).map(at),
            caller: called.map(|frame| format!("`{}` in `{}`", frame.function, at(frame))),
            is_generated: own.is_some_and(Frame::is_generated),
            module: module(profile, function),
            library: library(profile, code.event, function),
        }
    }

    /// Whether it is the same code, whoever calls it.
    pub(crate) fn is_same(&self, other: &Place) -> bool {
        (&self.function, &self.file) == (&other.function, &other.file)
    }

    /// The function of code whose name does not tell what it does.
    pub(crate) fn function_of(profile: &Profile, event: EventId) -> EventId {
        let code = Code {
            event,
            within: event,
            activity: None,
        };
        function_and_caller(profile, &mut ByName::new(Name::of), code).0
    }

    /// "`resize` in `image_processing_owlv2.py:301` (scipy)".
    pub(crate) fn text(&self) -> String {
        let place = self.file.as_deref().map(|file| format!(" in `{file}`"));
        let library = self.library.map(|library| format!(" ({library})"));
        format!(
            "`{}`{}{}",
            self.function,
            place.unwrap_or_default(),
            library.unwrap_or_default()
        )
    }
}

/// What the name of a call tells of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    /// An operator, a range, a call of the runtime.
    NoFrame,
    /// Of a library, built in, or passing a call on.
    Helper,
    Framework,
    /// A function of the program's.
    Own,
}

impl Name {
    fn of(name: &str) -> Name {
        match Frame::of(name) {
            _ if is_helper(name) => Name::Helper,
            None => Name::NoFrame,
            Some(_) if is_framework(name) => Name::Framework,
            Some(_) => Name::Own,
        }
    }
}

/// What the code is called after, and the function of the program's that calls it.
fn function_and_caller(
    profile: &Profile,
    names: &mut ByName<Name>,
    code: Code,
) -> (EventId, Option<EventId>) {
    let (trace, tree) = (&profile.trace, profile.full_tree());
    let is_around = code.activity.is_some_and(CpuActivity::is_around_code);
    let start = match code.activity {
        Some(_) if !is_around => code.within,
        _ => code.event,
    };
    let Some(node) = tree.node_of(start) else {
        return (start, None);
    };
    let mut first = |from: NodeId, until: Option<NodeId>, wanted: &[Name]| {
        let callers = std::iter::once(from).chain(tree.ancestors(from));
        let mut callers = callers.take_while(|at| Some(*at) != until);
        callers.find_map(|at| {
            let event = tree.event(at)?;
            let is_frame = trace.events.category(event) == Category::PythonFunction;
            (is_frame && wanted.contains(&names.of(trace, event))).then_some(event)
        })
    };
    let is_frame = tree.category(trace, node) == Category::PythonFunction;
    let function = match code.activity {
        // Up to the span that tells what it does.
        Some(_) if is_around => {
            let edge = tree.node_of(code.within);
            first(node, edge, &[Name::Own]).unwrap_or(code.within)
        }
        None if is_frame => first(node, None, &[Name::Own, Name::Framework]).unwrap_or(start),
        _ => start,
    };
    let above = tree.node_of(function).and_then(|node| tree.parent(node));
    (
        function,
        above.and_then(|above| first(above, None, &[Name::Own])),
    )
}

/// The class of the nearest module around a call.
fn module(profile: &Profile, event: EventId) -> Option<String> {
    let (trace, tree) = (&profile.trace, profile.full_tree());
    let node = tree.node_of(event)?;
    let mut names = std::iter::once(node)
        .chain(tree.ancestors(node))
        .filter_map(|node| tree.event(node))
        .filter(|event| trace.events.category(*event) == Category::PythonFunction)
        .map(|event| trace.name(event));
    let module = names.find_map(|name| name.strip_prefix(MODULE))?;
    Some(without_number(module).to_owned())
}

/// The library that a function is in most of its time, be it in a function that is built in.
fn library(profile: &Profile, deepest: EventId, function: EventId) -> Option<&'static str> {
    let (trace, tree) = (&profile.trace, profile.full_tree());
    let node = tree.node_of(deepest)?;
    let edge = tree.node_of(function);
    let callers = std::iter::once(node).chain(tree.ancestors(node));
    let mut names = callers
        .take_while(|at| Some(*at) != edge)
        .filter_map(|node| tree.event(node))
        .map(|event| trace.name(event));
    names.find_map(|name| Frame::of(name)?.library())
}

/// A name as people call it: `Tensor.item` for `<built-in method item of Tensor object at 0x7f…>`.
fn short(name: &str) -> std::borrow::Cow<'_, str> {
    if let Some(frame) = Frame::of(name) {
        return frame.function.into();
    }
    if let Some(module) = name.strip_prefix(MODULE) {
        return without_number(module).into();
    }
    let built_in = name.strip_prefix("<built-in ").and_then(|rest| {
        let rest = rest.strip_suffix('>').unwrap_or(rest);
        if let Some(function) = rest.strip_prefix("function ") {
            return Some(function.to_owned());
        }
        let (method, object) = rest.strip_prefix("method ")?.split_once(" of ")?;
        let object = object.split(" object at ").next().unwrap_or(object);
        Some(format!("{object}.{method}"))
    });
    built_in.map_or(name.into(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn names_as_people_call_them() {
        let cases = [
            ("a/image_processing.py(301): resize", "resize"),
            ("<built-in function collect>", "collect"),
            (
                "<built-in method item of Tensor object at 0x7f3c>",
                "Tensor.item",
            ),
            ("nn.Module: BertLayer_3", "BertLayer"),
            ("aten::copy_", "aten::copy_"),
        ];
        for (name, expected) in cases {
            assert_eq!(short(name), expected);
        }
    }
}
