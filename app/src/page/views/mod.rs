//! The views, and the list of them.

pub mod compare;
pub mod export;
pub mod fleet;
pub mod job;
pub mod kernels;
pub mod memory;
pub mod operations;
pub mod overview;
pub mod report;
pub mod roofline;
pub mod runs;
pub mod start;
pub mod steps;
pub mod system;
pub mod timeline;
pub mod tree;

use leptos::prelude::*;

/// A view: its link in the navigation, its digit key, its entry in the palette, and its content.
pub struct View {
    /// Its name in the URL.
    pub slug: &'static str,
    /// Its name on the page.
    pub title: &'static str,
    /// Whether a rule is drawn above its link.
    pub starts_group: bool,
    /// Whether it fills the window and scrolls inside, instead of growing down the page.
    pub fills: bool,
    /// Its tables whose selected row has details beside the view: the name of the table in the URL, and the sheet.
    pub sheets: &'static [(&'static str, &'static str)],
    pub draw: fn() -> AnyView,
}

impl View {
    const fn new(slug: &'static str, title: &'static str, draw: fn() -> AnyView) -> View {
        View {
            slug,
            title,
            starts_group: false,
            fills: false,
            sheets: &[],
            draw,
        }
    }
}

/// Views are identified by their slugs.
impl PartialEq for View {
    fn eq(&self, other: &View) -> bool {
        self.slug == other.slug
    }
}

/// Every view, in the order of the navigation; the first has no name in the URL.
#[rustfmt::skip]
pub const VIEWS: &[View] = &[
    View::new("overview", "Overview", || overview::overview().into_any()),
    View::new("report", "Report", || report::report().into_any()),
    View { fills: true, sheets: operations::SHEETS, ..View::new("operations", "Operations", || operations::operations().into_any()) },
    View { sheets: roofline::SHEETS, ..View::new("roofline", "Roofline", || roofline::roofline().into_any()) },
    View { fills: true, sheets: kernels::SHEETS, ..View::new("kernels", "Kernels", || kernels::kernels().into_any()) },
    View { fills: true, ..View::new("tree", "Call tree", || tree::tree().into_any()) },
    View { fills: true, ..View::new("timeline", "Timeline", || timeline::timeline().into_any()) },
    View::new("system", "Idle & communication", || system::system().into_any()),
    View::new("memory", "Memory", || memory::memory().into_any()),
    View::new("steps", "Steps", || steps::steps().into_any()),
    View { starts_group: true, ..View::new("compare", "Compare", || compare::compare().into_any()) },
    View::new(EXPORT, "Export", || export::export().into_any()),
];

/// The slug of the Export view, which exported pages do not open at.
pub const EXPORT: &str = "export";

pub fn title_of(slug: &str) -> &'static str {
    let view = VIEWS.iter().find(|view| view.slug == slug);
    view.map_or("", |view| view.title)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::url::Place;

    #[test]
    fn every_slug_is_unique_and_survives_the_url() {
        for view in VIEWS {
            let same = VIEWS.iter().filter(|other| other.slug == view.slug);
            assert_eq!(same.count(), 1, "{}", view.slug);
            let hash = format!("#/{}", view.slug);
            assert_eq!(Place::parse(&hash).hash(), hash);
        }
    }
}
