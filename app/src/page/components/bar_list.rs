//! Categories with their time, as bars that are a table.

use dormer_core::report::overview::FamilyTime;
use leptos::prelude::*;

use super::{ViewLink, each};
use crate::page::url::Focus;

/// A table of categories: name, bar, time, share. The longest bar is as wide as its column.
pub fn bar_list(families: Vec<FamilyTime>, view: &'static str) -> impl IntoView {
    let longest = families
        .iter()
        .map(|family| family.percent)
        .fold(f64::MIN_POSITIVE, f64::max);
    let rows = each(families, |time| {
        let token = time.family.token();
        let width = format!("{:.2}%", 100.0 * time.percent / longest);
        let focus = Focus::of_category(token.to_owned());
        view! {
            <tr>
                <th scope="row">
                    <i class=format!("dot c-{token}") aria-hidden="true"></i>
                    <ViewLink view focus>{time.family.label()}</ViewLink>
                </th>
                <td class="bar" aria-hidden="true">
                    <span class=format!("c-{token}") style:width=width></span>
                </td>
                <td class="n">{time.time()}</td>
                <td class="n soft">{time.share()}</td>
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
