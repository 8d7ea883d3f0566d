//! Categories with their time, as bars that are a table.

use leptos::prelude::*;

use super::{ViewLink, each};
use crate::page::url::Focus;
use crate::protocol::FamilyTime;

/// A table of categories: name, bar, time, share. The longest bar is as wide as its column.
pub fn bar_list(families: Vec<FamilyTime>, view: &'static str) -> impl IntoView {
    let longest = families
        .iter()
        .map(|family| family.percent)
        .fold(f64::MIN_POSITIVE, f64::max);
    let rows = each(families, |family| {
        let width = format!("{:.2}%", 100.0 * family.percent / longest);
        let focus = Focus::of_category(family.token.clone());
        view! {
            <tr>
                <th scope="row">
                    <i class=format!("dot c-{}", family.token) aria-hidden="true"></i>
                    <ViewLink view focus>{family.label}</ViewLink>
                </th>
                <td class="bar" aria-hidden="true">
                    <span class=format!("c-{}", family.token) style:width=width></span>
                </td>
                <td class="n">{family.time}</td>
                <td class="n soft">{family.share}</td>
            </tr>
        }
    });
    view! {
        <table class="bars" data-testid="families">
            <thead class="unseen">
                <tr><th scope="col">"Category"</th><td></td><th scope="col">"Time"</th><th scope="col">"Share"</th></tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
}
