//! Text elements: names, sentences, labels with their values, and links into views.

use dormer_core::output::markup::{Span, line};

use crate::page::prelude::*;

/// The number of letters at the end that are always shown, because long names often differ only there; a few more or
/// less, so that they start with a word.
const TAIL: usize = 16;
const TAIL_REACH: usize = 6;

/// A name whose middle is cut out if the column is too narrow. The ends distinguish names, and selecting it selects the
/// whole name.
pub fn cut_name(text: String) -> impl IntoView {
    match ends(&text) {
        None => view! { <span class="cut whole" prop:textContent=text></span> }.into_any(),
        Some((head, tail)) => {
            let (head, tail) = (head.to_owned(), tail.to_owned());
            view! {
                <span class="cut">
                    <span prop:textContent=head></span>
                    <span prop:textContent=tail></span>
                </span>
            }
            .into_any()
        }
    }
}

/// The part of a name that can shrink and the part that cannot; `None` for a short name, where cutting would save
/// nothing.
fn ends(text: &str) -> Option<(&str, &str)> {
    let letters: Vec<char> = text.chars().collect();
    let usual = letters.len().checked_sub(TAIL)?;
    let head = format::nearest_word(&letters, usual, TAIL_REACH);
    let (tail, _) = text.char_indices().nth(head)?;
    (head >= TAIL / 2).then(|| text.split_at(tail))
}

/// A trace: its file, or its rank and its file.
pub fn trace_label(rank: Option<u64>, file: String) -> impl IntoView {
    let title = file.clone();
    match rank {
        Some(rank) => {
            let rank = format!("rank {rank}");
            view! { <b class="rank">{rank}</b> <span class="soft" title=title>{file}</span> }
                .into_any()
        }
        None => view! { <b title=title>{file}</b> }.into_any(),
    }
}

/// Renders each item.
pub fn each<T, V: IntoView>(
    things: impl IntoIterator<Item = T>,
    draw: impl FnMut(T) -> V,
) -> Vec<V> {
    things.into_iter().map(draw).collect()
}

/// A sentence; text in backticks is a name, quoted verbatim.
pub fn prose(text: String) -> impl IntoView {
    spans(&text, String::into_any)
}

fn spans(text: &str, plain: fn(String) -> AnyView) -> Vec<AnyView> {
    each(line(&with_units(text)), |span| match span {
        Span::Code(name) => view! { <code>{name}</code> }.into_any(),
        Span::Text(text) | Span::Bold(text) | Span::Link { text, .. } => plain(text),
    })
}

/// A sentence whose numbers keep their units beside them when it wraps.
pub fn with_units(sentence: &str) -> String {
    let with_most = ["%", "ms", "µs", "kB", "MB", "GB", "TB"]
        .iter()
        .fold(sentence.to_owned(), |sentence, unit| {
            sentence.replace(&format!(" {unit}"), &format!("\u{a0}{unit}"))
        });
    // Many words start with the letter of seconds.
    let mut kept = String::with_capacity(with_most.len());
    let mut letters = with_most.chars().peekable();
    while let Some(letter) = letters.next() {
        let after_digit = kept.ends_with(|last: char| last.is_ascii_digit());
        let mut ahead = letters.clone();
        let is_seconds =
            ahead.next() == Some('s') && !ahead.next().is_some_and(char::is_alphanumeric);
        kept.push(match letter == ' ' && after_digit && is_seconds {
            true => '\u{a0}',
            false => letter,
        });
    }
    kept
}

/// A headline: prose no line of which ends inside a word with a hyphen.
pub fn title_line(sentence: &str) -> Vec<AnyView> {
    /// Longer names with hyphens may be wider than a phone.
    const WORD: usize = 24;
    spans(sentence, |text| {
        let words = text.split_inclusive(' ').map(str::to_owned);
        let words = each(words, |word| {
            match word.contains('-') && word.len() < WORD {
                true => view! { <span>{word}</span> }.into_any(),
                false => word.into_any(),
            }
        });
        words.into_any()
    })
}

/// A view without content: why, and how to get some.
pub fn nothing_shown(testid: &'static str, why: &str, how: String) -> impl IntoView {
    view! {
        <section class="lead" data-testid=testid>
            <h1>{title_line(why)}</h1>
            <p class="nothing">{prose(how)}</p>
        </section>
    }
}

/// A value longer than this needs a line of its own on a phone.
const LONG: usize = 18;

/// A list of labels with their values; nothing if it is empty.
pub fn pairs(class: &'static str, pairs: Vec<(String, String)>) -> impl IntoView {
    (!pairs.is_empty()).then(|| {
        let pairs = pairs.into_iter();
        let pairs = pairs.map(|(label, value)| {
            let is_long = value.len() > LONG;
            view! { <div class:long=is_long><dt>{label}</dt><dd>{value}</dd></div> }
        });
        view! { <dl class=class>{pairs.collect_view()}</dl> }
    })
}

/// The details of the selection, below a table or a chart. `is_some` says whether anything is selected, `live` how
/// eagerly a screen reader announces changes.
pub fn selection(
    label: &'static str,
    live: Option<&'static str>,
    is_some: impl Fn() -> bool + Send + Sync + 'static,
    shown: impl IntoView,
) -> impl IntoView {
    view! {
        <section class="details" class:some=is_some aria-label=label aria-live=live data-testid="details">
            {shown}
        </section>
    }
}

/// The mark of a category determined only by a kernel's name.
pub const GUESS: &str = "\u{2248}";

/// What the mark means, under a table that has categories.
pub fn category_legend() -> impl IntoView {
    view! {
        <p class="fine under" data-testid="guess-legend">
            <span class="guess">{GUESS}</span>
            " marks a category inferred from the kernel name alone: no launching operator is known, as in GPU graphs."
        </p>
    }
}

/// A link into a view, with this focus.
#[component]
pub fn ViewLink(
    /// The view's slug.
    view: &'static str,
    /// What it shows there.
    focus: Focus,
    #[prop(optional)] class: &'static str,
    /// What a screen reader says, where several links on the page have the same text: the text, and what it is of.
    #[prop(optional, into)]
    spoken: Option<String>,
    children: Children,
) -> impl IntoView {
    let state = expect_context::<AppState>();
    let href = move || state.link_into(view, focus.clone());
    view! { <a class=(!class.is_empty()).then_some(class) href=href data-to=view aria-label=spoken>{children()}</a> }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_cut_name_starts_with_a_word() {
        let cases = [
            (
                "autograd::engine::evaluate_function: ConvolutionBackward0",
                "ConvolutionBackward0",
            ),
            (
                "aten::_scaled_dot_product_flash_attention",
                "_flash_attention",
            ),
        ];
        for (name, end) in cases {
            assert_eq!(ends(name).map(|(_, tail)| tail), Some(end));
        }
        assert_eq!(ends("text_base_model.py:28"), None);
    }

    #[test]
    fn numbers_keep_their_units_beside_them() {
        let cases = [
            ("takes 13.3 s.", "takes 13.3\u{a0}s."),
            ("in 24 steps", "in 24 steps"),
            ("41.7 ms, 3 %", "41.7\u{a0}ms, 3\u{a0}%"),
        ];
        for (sentence, kept) in cases {
            assert_eq!(with_units(sentence), kept);
        }
    }
}
