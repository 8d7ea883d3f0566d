//! Infers the sizes of a diffusion transformer from those of its GEMMs.

use crate::base::sort::Arranged;
use crate::perf::model_config::DiffusionModel;

/// M, N and K.
type Sizes = [u64; 3];

/// A diffusion transformer from its GEMMs before, between and after attentions, and from the number of heads and the
/// head dimension; `None` if the sizes do not match known blocks.
pub(in crate::profile::graphs::shapes) fn blocks_of(
    parts: &[Vec<Sizes>],
    [heads, head_dim]: [u64; 2],
) -> Option<DiffusionModel> {
    let hidden = heads.checked_mul(head_dim)?;
    let (start, blocks) = parts.split_first()?;
    let all = || blocks.iter().flatten();
    let both = |inner: u64| hidden.saturating_add(inner);
    let goes_back =
        |inner: u64| all().any(|[_, n, k]| *n == hidden && (*k == inner || *k == both(inner)));
    let ups = all().filter(|[_, n, k]| *k == hidden && *n > hidden && goes_back(*n));
    let inner = ups.map(|[_, n, _]| *n).max()?;
    let count = |part: &[Sizes], depth: u64| {
        let of_it = part.iter().filter(|[_, n, k]| [*n, *k] == [hidden, depth]);
        of_it.count()
    };
    // Down projections of both streams, or the output projection of a single-stream block.
    let downs: Vec<usize> = blocks.iter().map(|part| count(part, inner)).collect();
    let single = blocks.iter().filter(|part| count(part, both(inner)) == 1);
    let (single, double) = (single.count(), downs.iter().filter(|n| **n > 0).count());
    let drops_text = single == 0 && downs.last() == Some(&1);
    let two_streams = downs.get(..double - usize::from(drops_text && double > 0))?;
    let are_blocks =
        double > 0 && double + single == blocks.len() && two_streams.iter().all(|n| *n == 2);
    let is_known = |[_, n, k]: &Sizes| match k {
        // For the modulation, Q, K and V, an MLP, both together, and the final layer.
        _ if *k == hidden => {
            let columns = [1, 2, 3, 6].map(|times| hidden.saturating_mul(times));
            let inner = [inner, inner.saturating_add(hidden.saturating_mul(3))];
            *n < hidden || columns.contains(n) || inner.contains(n)
        }
        _ => *n == hidden && [inner, both(inner)].contains(k),
    };
    if !are_blocks || !all().all(is_known) {
        return None;
    }
    // The embeddings of both streams; conditioning has few rows.
    const FEW_ROWS: u64 = 16;
    let embeds = start
        .iter()
        .filter(|[m, n, k]| *m > FEW_ROWS && *n == hidden && *k != hidden);
    let widths = embeds.map(|[.., k]| *k).arranged();
    let (channels, text_width) = match widths[..] {
        [image, text] => (Some(image), Some(text)),
        _ => (None, None),
    };
    Some(DiffusionModel {
        class: "diffusion transformer".to_owned(),
        double_blocks: double as u64,
        single_blocks: single as u64,
        heads,
        head_dim,
        text_width,
        channels,
        patch: 1,
        inner,
        has_known_blocks: true,
        drops_text,
    })
}
