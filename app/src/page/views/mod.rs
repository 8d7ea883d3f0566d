//! The views, and the list of them.

pub mod compare;
pub mod export;
pub mod kernels;
pub mod operations;
pub mod overview;
pub mod report;
pub mod roofline;
pub mod start;
pub mod system;
pub mod timeline;
pub mod tree;

use leptos::prelude::*;

/// A view: a link in the navigation and what it leads to.
pub struct View {
    /// Its name in the URL.
    pub slug: &'static str,
    /// Its name on the page.
    pub title: &'static str,
    /// A rule is drawn above its link.
    pub starts_group: bool,
    /// It fills the window and scrolls inside, instead of growing down the page.
    pub fills: bool,
    /// Draws it.
    pub draw: fn() -> AnyView,
}

/// Views are told apart by their names.
impl PartialEq for View {
    fn eq(&self, other: &View) -> bool {
        self.slug == other.slug
    }
}

/// Every view, in the order of the navigation; the first is the one without a name in the URL.
pub const VIEWS: &[View] = &[
    View {
        slug: "overview",
        title: "Overview",
        starts_group: false,
        fills: false,
        draw: || overview::Overview().into_any(),
    },
    View {
        slug: "report",
        title: "Report",
        starts_group: false,
        fills: false,
        draw: || report::Report().into_any(),
    },
    View {
        slug: "operations",
        title: "Operations",
        starts_group: false,
        fills: true,
        draw: || operations::Operations().into_any(),
    },
    View {
        slug: "roofline",
        title: "Roofline",
        starts_group: false,
        fills: false,
        draw: || roofline::Roofline().into_any(),
    },
    View {
        slug: "kernels",
        title: "Kernels",
        starts_group: false,
        fills: true,
        draw: || kernels::Kernels().into_any(),
    },
    View {
        slug: "tree",
        title: "Tree",
        starts_group: false,
        fills: true,
        draw: || tree::Tree().into_any(),
    },
    View {
        slug: "timeline",
        title: "Timeline",
        starts_group: false,
        fills: true,
        draw: || timeline::Timeline().into_any(),
    },
    View {
        slug: "system",
        title: "System",
        starts_group: false,
        fills: false,
        draw: || system::System().into_any(),
    },
    View {
        slug: "compare",
        title: "Compare",
        starts_group: true,
        fills: false,
        draw: || compare::Compare().into_any(),
    },
    View {
        slug: "export",
        title: "Export",
        starts_group: false,
        fills: false,
        draw: || export::Export().into_any(),
    },
];

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
