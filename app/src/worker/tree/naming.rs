//! The names and kinds of rows, and the row of a call.

use std::collections::HashSet;

use dormer_core::base::format;
use dormer_core::names::frames::CodeOf;
use dormer_core::names::without_prefix;
use dormer_core::profile::cpu::tree::{Label, MergedId, NodeId};
use dormer_core::trace::{Category, StringId};

use super::replays::What;
use super::shape::{Calls, Item, Shape, as_heading, thread_name};

impl Calls<'_> {
    /// The item of a call, or the aggregate of calls with its name; if there are several, the one whose position is
    /// most similar to the call's. In aggregates, what a runtime call launched belongs to its operator, so a runtime
    /// call stands for its operator.
    pub(super) fn of_call(&self, call: NodeId) -> Option<Item> {
        let (trace, calls) = (&self.profile.trace, self.profile.full_tree());
        let name = |node: NodeId| calls.event(node).map(|event| trace.events.name(event));
        let owner = || match calls.category(trace, call).is_runtime() {
            true => calls.op_above(trace, call).unwrap_or(call),
            false => call,
        };
        let same = |call: NodeId| Some(Label::Call(name(call)?));
        let tree = match &self.shape {
            Shape::Recorded(..) => return Some(call.0),
            // Callers are below the names.
            Shape::Callers(_) => {
                let label = Some(same(owner())?);
                let mut roots = self.roots().into_iter();
                return roots.find(|item| self.merged(*item).map(|of| of.label) == label);
            }
            Shape::Merged(tree) => tree,
        };
        let call = owner();
        let label = same(call)?;
        let around: HashSet<StringId> = calls.ancestors(call).filter_map(name).collect();
        let most = {
            let tree = tree.borrow();
            let names = tree.of_names();
            // Nodes above it that are also around the call, minus those that are not.
            let likeness = |item: MergedId| {
                let above = std::iter::successors(names.parent(item), |node| names.parent(*node));
                above.fold(0_i32, |likeness, node| {
                    match names.get(node).map(|of| of.label) {
                        Some(Label::Call(name)) if around.contains(&name) => likeness + 1,
                        Some(Label::Call(_)) => likeness - 1,
                        _ => likeness,
                    }
                })
            };
            let same = names
                .ids()
                .filter(|node| names.get(*node).is_some_and(|of| of.label == label));
            // Of equal ones, the first.
            same.rev().max_by_key(|item| likeness(*item))?
        };
        let held = tree.borrow_mut().holding(most);
        held.map(|item| item.0)
    }

    /// The name used for searching; `None` for a heading.
    pub(super) fn searched(&self, item: Item) -> Option<StringId> {
        match (&self.shape, as_heading(item)) {
            (Shape::Merged(_) | Shape::Callers(_), None) => match self.merged(item)?.label {
                Label::Call(name) | Label::Class(name) | Label::Annotation(name) => Some(name),
                Label::OutsideModules | Label::OutsideAnnotations => None,
            },
            _ => {
                let event = self.event(item)?;
                Some(self.profile.trace.events.name(event))
            }
        }
    }

    /// The displayed name.
    pub(super) fn name(&self, item: Item) -> String {
        let trace = &self.profile.trace;
        match (&self.shape, as_heading(item)) {
            (_, Some(position)) => self.heading(position),
            (Shape::Merged(_) | Shape::Callers(_), None) => {
                let name = self.merged(item).map(|of| of.label.name(trace));
                without_prefix(name.unwrap_or_default()).to_owned()
            }
            (Shape::Recorded(..), None) => {
                if let Some(What::Part(name)) = self.replayed(item).map(|node| &node.what) {
                    return name.clone();
                }
                let name = self.searched(item);
                let name = name.map_or("", |name| trace.strings.get(name));
                without_prefix(name).to_owned()
            }
        }
    }

    /// A thread's name, or the text of the heading after the last thread.
    fn heading(&self, position: usize) -> String {
        let thread = self.profile.full_tree().tracks().get(position);
        thread.map_or_else(
            || "Unfinished or overlapping calls".to_owned(),
            |thread| thread_name(&self.profile.trace, thread.track),
        )
    }

    /// The name with the number of modules that it stands for.
    pub(super) fn counted_name(&self, item: Item) -> String {
        let name = self.name(item);
        match self.instances(item) {
            Some(of) => format!("{name} \u{d7}{}", format::count(u64::from(of.n))),
            None => name,
        }
    }

    /// Whose code a row is; `None` if it is not a Python function.
    pub(super) fn code(&self, item: Item) -> Option<CodeOf> {
        let name = match self.merged(item).map(|of| of.label) {
            Some(Label::Call(name)) => name,
            Some(_) => return None,
            None => self.profile.trace.events.name(self.event(item)?),
        };
        CodeOf::frame(self.profile.trace.strings.get(name))
    }

    /// The kind of a row, in words.
    pub(super) fn kind(&self, item: Item) -> String {
        if as_heading(item).is_some() {
            return "thread".to_owned();
        }
        match self.merged(item).map(|of| of.label) {
            Some(Label::Annotation(_)) => return Category::UserAnnotation.label().to_owned(),
            Some(Label::OutsideModules | Label::OutsideAnnotations) => return String::new(),
            Some(Label::Class(_)) => return "modules".to_owned(),
            Some(Label::Call(_)) | None => {}
        }
        let Some(event) = self.event(item) else {
            return "layer".to_owned();
        };
        let trace = &self.profile.trace;
        let name = trace.strings.get(trace.events.name(event));
        let category = trace.events.category(event);
        match (category, self.code(item)) {
            (Category::PythonFunction, Some(code)) => format!("Python, {}", code.label()),
            (Category::PythonFunction, None) if without_prefix(name) != name => "module".to_owned(),
            _ => category.label().to_owned(),
        }
    }
}
