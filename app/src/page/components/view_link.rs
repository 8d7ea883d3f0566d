//! A link into a view.

use leptos::prelude::*;

use crate::page::state::AppState;
use crate::page::url::Focus;

/// A link into a view, to what `focus` says.
#[component]
pub fn ViewLink(
    /// The view's slug.
    view: &'static str,
    /// What it shows there.
    focus: Focus,
    /// A class of the link.
    #[prop(optional)]
    class: &'static str,
    /// What the link says.
    children: Children,
) -> impl IntoView {
    let state = expect_context::<AppState>();
    let href = move || state.link_into(view, focus.clone());
    view! { <a class=(!class.is_empty()).then_some(class) href=href data-to=view>{children()}</a> }
}
