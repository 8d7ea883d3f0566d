//! The frame of a chart of marks: the pointer and the arrow keys go over the marks, and a screen reader says the one
//! that the keys are on.

use leptos::html::Div;

use crate::page::prelude::*;

/// Which marks the pointer and the keys are on. `Copy`, so pass it around.
#[derive(Clone, Copy, Default)]
pub struct MarkCursor {
    /// The mark under the pointer.
    pub hovered: RwSignal<Option<usize>>,
    /// The mark from which keys continue.
    pub at: RwSignal<Option<usize>>,
    has_focus: RwSignal<bool>,
}

impl MarkCursor {
    /// The mark that has a tooltip.
    pub fn shown(self) -> Option<usize> {
        let at = self.at.get().filter(|_| self.has_focus.get());
        self.hovered.get().or(at)
    }

    pub fn clear(self) {
        self.hovered.set(None);
        self.at.set(None);
    }

    /// Moves among the marks that are drawn; `false` for a key that does not move.
    fn moved(self, key: &str, is_drawn: &[bool]) -> bool {
        let here = self.at.get_untracked();
        let there = match key {
            "ArrowRight" | "ArrowDown" => next(is_drawn, here),
            "ArrowLeft" | "ArrowUp" => previous(is_drawn, here),
            "Home" => next(is_drawn, None),
            "End" => previous(is_drawn, Some(is_drawn.len())),
            _ => return false,
        };
        self.hovered.set(None);
        if there.is_some() {
            self.at.set(there);
        }
        true
    }
}

/// The next mark that is drawn; the first one if the keys are on none.
fn next(is_drawn: &[bool], here: Option<usize>) -> Option<usize> {
    let first = here.map_or(0, |here| here + 1);
    (first..is_drawn.len()).find(|at| is_drawn[*at])
}

/// The previous mark that is drawn; the first one if the keys are on none.
fn previous(is_drawn: &[bool], here: Option<usize>) -> Option<usize> {
    match here {
        None => next(is_drawn, None),
        Some(here) => is_drawn.iter().take(here).rposition(|is_drawn| *is_drawn),
    }
}

/// A chart of marks.
pub trait Plot: Copy + Send + 'static {
    fn id(self) -> &'static str;

    /// Its label for screen readers.
    fn label(self) -> String;

    fn marks(self) -> MarkCursor;

    /// The mark at a position, in pixels.
    fn nearest(self, x: f64, y: f64) -> Option<usize>;

    /// For each mark, whether it is drawn.
    fn is_drawn(self) -> Vec<bool>;

    /// What a screen reader says of a mark.
    fn spoken(self, mark: usize) -> Option<String>;

    /// Handles a click on the hovered mark.
    fn click(self) {}

    /// Handles a key that does not move; `false` if it has no meaning.
    fn press(self, key: &str) -> bool;
}

/// The frame of a chart, with what is drawn inside.
pub fn plot(chart: impl Plot, frame: NodeRef<Div>, inside: impl IntoView + 'static) -> AnyView {
    let marks = chart.marks();
    let moved = move |event: MouseEvent| {
        if let Some((x, y)) = browser::pointer_at(frame, &event) {
            let nearest = chart.nearest(x, y);
            if marks.hovered.get_untracked() != nearest {
                marks.hovered.set(nearest);
            }
        }
    };
    let pressed = move |event: KeyboardEvent| {
        let key = event.key();
        if !browser::has_modifier(&event)
            && (marks.moved(&key, &chart.is_drawn()) || chart.press(&key))
        {
            event.prevent_default();
        }
    };
    view! {
        <div
            class="plot"
            node_ref=frame
            id=chart.id()
            tabindex="0"
            role="group"
            aria-roledescription="chart"
            aria-label=move || chart.label()
            on:mousemove=moved
            on:mouseleave=move |_| marks.hovered.set(None)
            on:click=move |_| chart.click()
            on:keydown=pressed
            on:focus=move |_| marks.has_focus.set(true)
            on:blur=move |_| marks.has_focus.set(false)
        >
            {inside}
            <p class="unseen" role="status">{move || chart.spoken(marks.at.get()?)}</p>
        </div>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrow_keys_go_through_what_is_drawn() {
        let is_drawn = [true, false, true];
        assert_eq!(next(&is_drawn, None), Some(0));
        assert_eq!(next(&is_drawn, Some(0)), Some(2));
        assert_eq!(next(&is_drawn, Some(2)), None);
        assert_eq!(previous(&is_drawn, Some(2)), Some(0));
        assert_eq!(previous(&is_drawn, Some(is_drawn.len())), Some(2));
        assert_eq!(next(&[], None), None);
    }
}
