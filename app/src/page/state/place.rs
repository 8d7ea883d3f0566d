//! Where the user is: the place, the hash that encodes it, and links to other places.

use std::collections::BTreeMap;

use leptos::prelude::*;

use super::AppState;
use crate::page::browser;
use crate::page::url::{DetailsOf, Focus, KeptRange, Place, Theme};
use crate::page::views::EXPORT;

impl AppState {
    /// A value from the place, as a signal.
    pub fn of_place<T: PartialEq + Send + Sync + 'static>(
        self,
        read: impl Fn(&Place) -> T + Send + Sync + 'static,
    ) -> Memo<T> {
        Memo::new(move |_| self.place.with(&read))
    }

    /// The focus of the current view, as a signal.
    pub fn focus(self) -> Memo<Focus> {
        self.of_place(|place| place.focus.clone())
    }

    /// The theme, as a signal.
    pub fn theme(self) -> Memo<Theme> {
        self.of_place(|place| place.theme)
    }

    /// Follows the colors of the page and of the system, for what is drawn in colors that are read from the page.
    pub fn track_colors(self) {
        // An unread memo does not follow its sources: it must be read, not only tracked.
        let _ = self.theme().get();
        self.system_colors.track();
    }

    /// Changes the place and its hash, without a new history entry.
    pub fn go(self, change: impl FnOnce(&mut Place)) {
        self.change_place(change, |_, to| browser::replace_hash(to.hash()));
    }

    /// Goes to a place from which the browser's button leads back.
    pub fn visit(self, change: impl FnOnce(&mut Place)) {
        self.change_place(change, |from, to| {
            browser::push_hash(&from.hash(), &to.hash());
        });
    }

    fn change_place(self, change: impl FnOnce(&mut Place), write: fn(&Place, &Place)) {
        let old = self.place.get_untracked();
        let mut place = old.clone();
        change(&mut place);
        if old != place {
            write(&old, &place);
            self.place.set(place);
        }
    }

    /// Analyzes only a time range, or the whole trace again.
    pub fn analyze(self, window: Option<(u64, u64)>) {
        self.analyze_part(window, None);
    }

    /// Analyzes one GPU only.
    pub fn analyze_gpu(self, device: String) {
        self.analyze_part(None, Some(device));
    }

    /// Deselects rows: they would refer to others.
    fn analyze_part(self, window: Option<(u64, u64)>, device: Option<String>) {
        self.left_behind.update(|left| {
            for focus in left.values_mut() {
                focus.row = None;
            }
        });
        self.go(|place| {
            place.choice.window = window;
            place.choice.device = device;
            place.focus.row = None;
        });
    }

    /// Changes the focus of the current view.
    pub fn look_at(self, change: impl FnOnce(&mut Focus)) {
        self.go(|place| change(&mut place.focus));
    }

    /// The hash of another view, as it was left.
    pub fn link_to(self, slug: &'static str) -> String {
        let is_here = self.place.with(|place| place.view == slug);
        let left = self.left_behind.with(|left| left.get(slug).cloned());
        match is_here {
            true => self.place.with(Place::hash),
            false => self.link_into(slug, left.unwrap_or_default()),
        }
    }

    /// The hash of another view with this focus.
    pub fn link_into(self, slug: &'static str, focus: Focus) -> String {
        let mut place = self.place.get();
        place.view = slug.to_owned();
        place.focus = focus;
        place.hash()
    }

    /// The hash of the current place with details shown.
    pub fn link_to_details(self, details: DetailsOf) -> String {
        let mut place = self.place.get();
        place.focus.details = Some(details);
        place.hash()
    }

    /// Follows a hash that the browser went to, by a link, back or forward. Returns the place if it names files to
    /// fetch other than the open ones.
    pub fn follow(self, hash: &str) -> Option<Place> {
        let old_view = untrack(|| self.view().slug);
        let old = self.place.get_untracked();
        if !old.is_of_many() {
            self.left_behind.update(|left| {
                left.insert(old_view, old.focus);
            });
        }
        if old_view != EXPORT {
            self.before_export.set(old_view);
        }
        let known = self.kept_ranges();
        let mut place = Place::parse(hash);
        // Ranges that were not here before come from the link.
        let came = place.focus.kept.iter();
        let came = came.filter(|range| !known.contains(range)).cloned();
        let came: Vec<KeptRange> = came.collect();
        self.linked_ranges.update(|linked| linked.extend(came));
        let of_open = self.place.with_untracked(|place| place.urls.clone());
        let link = (!place.urls.is_empty() && place.urls != of_open).then(|| place.clone());
        place.urls = of_open;
        let open = self.place.with_untracked(|place| place.file.clone());
        if place.is_of_many() {
            // The address of a view over many traces does not describe the trace that is open beside it.
            self.place.with_untracked(|open| {
                place.choice.window = open.choice.window;
                place.choice.device.clone_from(&open.choice.device);
            });
        }
        if place.file.is_empty() || link.is_some() {
            place.file = open;
        } else if place.file != open && untrack(|| self.is_open()) {
            // The link is to a place in another trace; this one has no such place.
            self.linked_trace.set(Some(place.file));
            place.file = open;
        }
        self.place.set(place);
        link
    }

    /// Deselects rows: they refer to others now.
    pub fn forget_rows(self) {
        let forget = |focus: &mut Focus| {
            focus.row = None;
            focus.top = None;
            focus.details = None;
        };
        self.left_behind
            .update(|left| left.values_mut().for_each(forget));
        self.look_at(forget);
    }

    /// Resets the selection, searches and ranges of the previous trace.
    pub fn forget_focus(self) {
        self.analyze(None);
        self.left_behind.set(BTreeMap::new());
        self.folds.set(BTreeMap::new());
        self.look_at(|focus| *focus = Focus::default());
    }
}
