//! The names in a column of a table: how each is displayed, and which parts are omitted if the column is too narrow, so
//! that different names never look the same.
//!
//! ```text
//! with room for 18 letters            what is shown
//! gemm_128x64_nn                       gemm_128x64_nn       there is room
//! my::kernel_of_layer<4, float>        my::kern…4, float>   the middle goes
//! very_long_name_add_of_floats_v2      very…ame_add_of_f…   what differs stays
//! very_long_name_mul_of_floats_v2      very…ame_mul_of_f…
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use dormer_core::base::format;
use dormer_core::base::sort::{Arrange, Gather};

/// Letters kept at the end if the middle is omitted.
const TAIL: usize = 18;
/// Letters kept at the start, next to the distinguishing part.
const HEAD: usize = 12;
/// The fewest letters shown around the distinguishing part.
const LEAST_PIECE: usize = 4;
/// The most letters shown before the distinguishing part, so that it is a whole word.
const MOST_BEFORE: usize = 12;
/// The most distinguishing positions of a name. A name that needs more is not shortened.
const MOST_MARKS: usize = 6;
/// Letters around the distinguishing part of names with the same displayed form.
const PIECE: usize = 20;

/// A name as displayed in its column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShownName {
    /// The displayed form.
    pub text: String,
    /// The omitted parts of the text, in bytes.
    pub left_out: Vec<(usize, usize)>,
}

/// How the names of a column are displayed if this many letters fit, by recorded name.
pub(super) fn column_names(names: BTreeSet<String>, room: usize) -> BTreeMap<String, ShownName> {
    let texts = texts(names);
    let letters: Vec<Vec<char>> = texts.values().map(|text| text.chars().collect()).collect();
    let mut kept = cuts(&letters, room);
    // Names with too many distinguishing positions may still look the same: these are not shortened.
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (letters, kept) in letters.iter().zip(&kept) {
        *seen.entry(text_of(letters, kept)).or_default() += 1;
    }
    for (letters, kept) in letters.iter().zip(&mut kept) {
        if seen.get(&text_of(letters, kept)).is_some_and(|n| *n > 1) {
            *kept = whole(letters);
        }
    }
    let cuts = letters.iter().zip(&kept);
    let cuts = cuts.map(|(letters, kept)| hidden(letters, kept));
    let names = texts.into_iter().zip(cuts);
    names
        .map(|((name, text), left_out)| (name, ShownName { text, left_out }))
        .gather()
}

/// The displayed form of a name. The reference's name of a kernel without an operator, `hipGraphLaunch->kernel
/// (Synthetic Op)`, is reduced to the kernel; an operator before it stays.
pub(super) fn short_name(name: &str) -> String {
    let synthetic = name.strip_suffix(" (Synthetic Op)");
    match synthetic.and_then(|name| name.split_once("->")) {
        Some((launch, kernel)) if launch.contains("GraphLaunch") => format::kernel_name(kernel),
        Some((op, kernel)) => format!("{op} \u{2192} {}", format::kernel_name(kernel)),
        None => format::kernel_name(name),
    }
}

/// Displayed forms of names. If different names have the same form, the parts that distinguish them are added.
fn texts(names: BTreeSet<String>) -> BTreeMap<String, String> {
    let mut alike: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in names {
        alike.entry(short_name(&name)).or_default().push(name);
    }
    let mut texts = BTreeMap::new();
    for (text, names) in alike {
        let letters: Vec<Vec<char>> = names.iter().map(|name| name.chars().collect()).collect();
        let pieces = settled(&letters, &|letters, marks| pieces(letters, marks));
        for (name, pieces) in names.into_iter().zip(pieces) {
            let text = match pieces.is_empty() {
                true => text.clone(),
                false => format!("{text} ({pieces})"),
            };
            texts.insert(name, text);
        }
    }
    texts
}

/// The kept parts of each name, as ranges of letters.
fn cuts(names: &[Vec<char>], room: usize) -> Vec<Vec<Range<usize>>> {
    let is_long = |letters: &&Vec<char>| room > 0 && letters.len() > room;
    let long: Vec<Vec<char>> = names.iter().filter(is_long).cloned().collect();
    let mut marks = marks_of(&long, &|letters, marks| {
        text_of(letters, &kept(letters, marks, room))
    })
    .into_iter();
    let cut = |letters: &Vec<char>| match is_long(&letters) {
        true => kept(letters, &marks.next().unwrap_or_default(), room),
        false => whole(letters),
    };
    names.iter().map(cut).collect()
}

/// All of a name.
fn whole(letters: &[char]) -> Vec<Range<usize>> {
    std::iter::once(0..letters.len()).collect()
}

/// What `show` makes of each name, with the marks needed to distinguish it from the others.
fn settled(names: &[Vec<char>], show: &dyn Fn(&[char], &[usize]) -> String) -> Vec<String> {
    let marks = marks_of(names, show).into_iter();
    names
        .iter()
        .zip(marks)
        .map(|(letters, marks)| show(letters, &marks))
        .collect()
}

/// The positions that must be shown of each name so that `show` returns distinct texts. Names that would need more than
/// [`MOST_MARKS`] stay the same.
fn marks_of(names: &[Vec<char>], show: &dyn Fn(&[char], &[usize]) -> String) -> Vec<Vec<usize>> {
    let mut marks: Vec<Vec<usize>> = vec![Vec::new(); names.len()];
    let mut looks: Vec<String> = names.iter().map(|letters| show(letters, &[])).collect();
    // A mark changes what else is shown of a name, so that it may then look like another one.
    for _ in 0..MOST_MARKS {
        let mut alike: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, look) in looks.iter().enumerate() {
            alike.entry(look).or_default().push(at);
        }
        let alike = alike.into_values().filter(|alike| alike.len() > 1);
        let alike: Vec<Vec<usize>> = alike.collect();
        if alike.is_empty() {
            break;
        }
        for of_look in alike {
            let letters = of_look.iter().filter_map(|at| names.get(*at));
            let mark = common(&letters.map(Vec::as_slice).collect::<Vec<_>>());
            for at in of_look {
                let Some(((letters, marks), look)) =
                    names.get(at).zip(marks.get_mut(at)).zip(looks.get_mut(at))
                else {
                    continue;
                };
                if let Err(place) = marks.binary_search(&mark) {
                    marks.insert(place, mark);
                    *look = show(letters, marks);
                }
            }
        }
    }
    marks
}

/// The length of the names' common prefix.
fn common(names: &[&[char]]) -> usize {
    let (Some(first), Some(last)) = (names.iter().min(), names.iter().max()) else {
        return 0;
    };
    // In sorted order, the first and the last have the shortest common prefix.
    let same = first.iter().zip(*last);
    same.take_while(|(one, other)| one == other).count()
}

/// The kept parts of a name that does not fit: both ends, or the start and the parts at the marks.
fn kept(letters: &[char], marks: &[usize], room: usize) -> Vec<Range<usize>> {
    let n = letters.len();
    if marks.is_empty() {
        let tail = TAIL.min(room / 2);
        let start = format::nearest_word(letters, n.saturating_sub(tail), tail / 3);
        let head = (start + room).saturating_sub(n + 1);
        return whole_numbers(letters, marks, joined(vec![0..head, start..n], n));
    }
    let head = match marks.len() {
        1 | 2 => HEAD.min(room / 4),
        _ => HEAD.min(room / 8),
    };
    // An ellipsis before each piece, and one at the end.
    let pieces = room.saturating_sub(head + marks.len() + 1);
    let piece = (pieces / marks.len()).max(LEAST_PIECE);
    let around = marks.iter().map(|mark| {
        let start = mark.saturating_sub(before(letters, *mark, piece));
        let end = (start + piece).max(mark + 1).min(n);
        // At the end of the name, more of what precedes it.
        end.saturating_sub(piece).min(start)..end
    });
    let ranges = joined(std::iter::once(0..head).chain(around).collect(), n);
    whole_numbers(letters, marks, widened(ranges, n, room))
}

/// Shortens ranges that start or end inside a number: what remains of one reads like another. Marks stay.
fn whole_numbers(
    letters: &[char],
    marks: &[usize],
    mut ranges: Vec<Range<usize>>,
) -> Vec<Range<usize>> {
    let is_digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    let is_inside = |at: usize| at > 0 && is_digit(at - 1) && is_digit(at);
    for range in &mut ranges {
        let Range { mut start, mut end } = range.clone();
        while start < end && is_inside(start) && !marks.contains(&start) {
            start += 1;
        }
        while start < end && is_inside(end) && !marks.contains(&(end - 1)) {
            end -= 1;
        }
        if start < end {
            *range = start..end;
        }
    }
    ranges
}

/// How many letters before a position belong to its word, as far as they fit into a piece.
fn before(letters: &[char], at: usize, piece: usize) -> usize {
    let most = MOST_BEFORE.min(piece / 2);
    let is_of_word = |letter: &char| letter.is_alphanumeric() || *letter == '_';
    let start = at.saturating_sub(most);
    let near = letters.get(start..at.min(letters.len()));
    let near = near.unwrap_or_default();
    let word = near.iter().rev().take_while(|letter| is_of_word(letter));
    match word.count() {
        // The word is longer than that.
        n if n == near.len() && start > 0 => most.min(LEAST_PIECE),
        n => n,
    }
}

/// Sorts and merges ranges. Ranges with only one letter between them are merged: the ellipsis would be as long.
fn joined(mut ranges: Vec<Range<usize>>, n: usize) -> Vec<Range<usize>> {
    ranges.retain(|range| range.start < range.end);
    ranges.arrange_by_key(|range| (range.start, range.end));
    let mut all: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match all.last_mut() {
            Some(last) if range.start <= last.end + 1 => last.end = last.end.max(range.end),
            _ => all.push(range),
        }
    }
    if let Some(last) = all.last_mut()
        && last.end + 1 == n
    {
        last.end = n;
    }
    all
}

/// Adds remaining space to the last piece.
fn widened(mut ranges: Vec<Range<usize>>, n: usize, room: usize) -> Vec<Range<usize>> {
    let shown: usize = ranges.iter().map(ExactSizeIterator::len).sum();
    let is_open = ranges.last().is_some_and(|last| last.end < n);
    let ellipses = ranges.len().saturating_sub(1) + usize::from(is_open);
    let spare = room.saturating_sub(shown + ellipses);
    if let Some(last) = ranges.last_mut() {
        last.end = (last.end + spare).min(n);
    }
    joined(ranges, n)
}

/// A name with the omitted parts replaced by ellipses.
fn text_of(letters: &[char], kept: &[Range<usize>]) -> String {
    let mut text = String::new();
    let mut end = 0;
    for range in kept {
        if range.start > end {
            text.push('\u{2026}');
        }
        text.extend(letters.get(range.clone()).unwrap_or_default());
        end = range.end;
    }
    if end < letters.len() {
        text.push('\u{2026}');
    }
    text
}

/// The omitted parts of a name, in bytes.
fn hidden(letters: &[char], kept: &[Range<usize>]) -> Vec<(usize, usize)> {
    let bytes = |to: usize| -> usize {
        let before = letters.iter().take(to);
        before.map(|letter| letter.len_utf8()).sum()
    };
    let starts = kept.iter().map(|range| range.start);
    let starts = starts.chain(std::iter::once(letters.len()));
    let ends = std::iter::once(0).chain(kept.iter().map(|range| range.end));
    let gaps = ends.zip(starts).filter(|(from, to)| from < to);
    gaps.map(|(from, to)| (bytes(from), bytes(to))).collect()
}

/// The letters around the marks of a name; empty without marks.
fn pieces(letters: &[char], marks: &[usize]) -> String {
    let around = marks.iter().map(|mark| {
        let start = mark.saturating_sub(LEAST_PIECE);
        start..(start + PIECE).min(letters.len())
    });
    let around = joined(around.collect(), letters.len());
    match around.is_empty() {
        true => String::new(),
        false => text_of(letters, &around),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names as displayed if this many letters fit.
    fn looks(names: &[&str], room: usize) -> Vec<String> {
        let all = names.iter().map(|name| (*name).to_owned()).collect();
        let all = column_names(all, room);
        let look = |name: &&str| {
            let shown = &all[*name];
            let (mut text, mut end) = (String::new(), 0);
            for (from, to) in &shown.left_out {
                text += &shown.text[end..*from];
                text.push('…');
                end = *to;
            }
            text + &shown.text[end..]
        };
        names.iter().map(look).collect()
    }

    #[test]
    fn a_name_is_cut_only_where_there_is_no_room() {
        let names = ["aten::mm", "my::kernel_of_a_layer<4, float>"];
        assert_eq!(looks(&names, 40), names);
        assert_eq!(looks(&names, 31), names);
        assert_eq!(looks(&names, 0), names, "no room is asked for");
        // The middle is omitted: the ends say the most.
        assert_eq!(
            looks(&names, 30),
            ["aten::mm", "my::kernel_of_…layer<4, float>"]
        );
        assert_eq!(looks(&names, 20), ["aten::mm", "my::kerne…<4, float>"]);
    }

    #[test]
    fn no_number_loses_digits() {
        let shapes = "8192×2432 · 2432×9728 · 8192×9728 bf16";
        assert_eq!(looks(&[shapes], 28), ["8192×2432 · …8192×9728 bf16"]);
        assert_eq!(looks(&[shapes], 24), ["8192×2432…8192×9728 bf16"]);
    }

    #[test]
    fn what_names_have_in_common_goes_and_what_differs_stays() {
        let name = |op: &str| {
            format!("triton_poi_fused_layer_norm_of_many_words_{op}_and_more_of_the_same_0")
        };
        let [add, mul, div] = ["add", "mul", "div"].map(name);
        assert_eq!(
            looks(&[&add, &mul, &div], 30),
            [
                "triton_…rds_add_and_more_of_t…",
                "triton_…rds_mul_and_more_of_t…",
                "triton_…rds_div_and_more_of_t…",
            ]
        );
        // A name that only has the same start is shortened independently.
        assert_eq!(
            looks(&[&add, "triton_poi_fused_layer_norm_of_another_kind_3"], 30)[1],
            "triton_poi_fus…_another_kind_3"
        );
    }

    #[test]
    fn names_that_differ_in_several_places_show_all_of_them() {
        let name = |tile: &str, k: &str| {
            format!("cutlass_gemm_{tile}_with_a_long_part_that_is_the_same_{k}_and_the_end_of_it")
        };
        let all = [("64", "k1"), ("64", "k2"), ("32", "k1"), ("32", "k2")];
        let all = all.map(|(tile, k)| name(tile, k));
        let all = all.each_ref().map(String::as_str);
        for room in [20, 24, 30, 40, 60] {
            let looks = looks(&all, room);
            let different: BTreeSet<&String> = looks.iter().collect();
            assert_eq!(different.len(), all.len(), "{room}: {looks:?}");
            let longest = looks.iter().map(|look| look.chars().count()).max();
            assert!(longest <= Some(room), "{room}: {looks:?}");
        }
    }

    #[test]
    fn a_name_that_another_one_begins_with_is_distinguished_from_it() {
        let short = "void_of_a_kernel_with_a_very_long_name_indeed";
        let long = format!("{short}_indeed");
        let looks = looks(&[short, &long], 20);
        assert_ne!(looks[0], looks[1]);
    }

    #[test]
    fn letters_of_several_bytes_are_kept_whole() {
        let looks = looks(&["größe×größe×größe×größe×größe×größe"], 12);
        assert_eq!(looks, ["größe×…größe"]);
    }

    #[test]
    fn names_of_graph_kernels_are_short_and_differ() {
        let long = |options: &str| {
            format!(
                "hipGraphLaunch->Cijk_Alik_Bljk_BBS_BH_MT32x32x256_MI16x16x1_{options}_WG64_4_1 (Synthetic Op)"
            )
        };
        let wholes = [
            long("SN_LDSB1_GRVWA8"),
            long("SN_LDSB1_GRVWA4"),
            long("SN_LDSB0_GRVWA8"),
            "hipGraphLaunch->void vllm::rms_norm<float>(float*) (Synthetic Op)".to_owned(),
            "aten::index->my_gather (Synthetic Op)".to_owned(),
            "aten::mm".to_owned(),
        ];
        let names = wholes.each_ref().map(String::as_str);
        for room in [0, 24, 60] {
            let texts = looks(&names, room);
            let distinct: BTreeSet<&String> = texts.iter().collect();
            assert_eq!(distinct.len(), texts.len(), "{texts:?}");
        }
        assert_eq!(
            looks(&names, 0)[3..],
            [
                "vllm::rms_norm<float>",
                "aten::index \u{2192} my_gather",
                "aten::mm"
            ]
        );
    }
}
