//! The few drawings of the page, as paths.

use leptos::prelude::*;

/// A drawing of 24 × 24, in the color of the text around it. It carries no meaning that the text
/// beside it does not.
pub fn icon(name: &'static str) -> impl IntoView {
    let path = match name {
        // A roof with a dormer in it.
        "dormer" => {
            "M1.5 20.5 12 4l10.5 16.5M7.5 20.5v-6.3L12 10l4.5 4.2v6.3M12 14.6v5.9M7.5 17.4h9"
        }
        "search" => "M10.5 4.5a6 6 0 1 0 0 12 6 6 0 0 0 0-12M15 15l5 5",
        "file" => "M6 3h8l4 4v14H6zM14 3v4h4",
        "download" => "M12 4v11M7.5 11 12 15.5 16.5 11M5 20h14",
        "up" => "M6 14.5 12 8.5l6 6",
        "down" => "M6 9.5l6 6 6-6",
        "plus" => "M12 5v14M5 12h14",
        "minus" => "M5 12h14",
        "light" => {
            "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4"
        }
        "dark" => "M19.5 14.2A8 8 0 0 1 9.8 4.5a8 8 0 1 0 9.7 9.7",
        "system" => "M3.5 5h17v11h-17zM9 20h6M12 16v4",
        "close" => "M6 6l12 12M18 6 6 18",
        "check" => "M5 12.5 10 17.5 19.5 7",
        "flame" => {
            "M12 3c.5 4 5 5.5 5 10.5a5 5 0 0 1-10 0c0-2 1-3.2 2-4.2.3 1.6 1 2.4 1.8 2.7C10.500 8.500 10.800 5.500 12 3"
        }
        _ => "",
    };
    view! {
        <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
            <path d=path></path>
        </svg>
    }
}
