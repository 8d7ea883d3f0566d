//! A rank's coordinates in the layout of a server, parsed from names of files and processes: `…-TP-1-DP-0`,
//! `[TP01-DP00-PP00-EP01]`.

use crate::base::format;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Coordinates of a rank. The data-parallel one counts replicas of a server, or the data-parallel ranks of its
/// attention; the expert-parallel one counts the same ranks as the tensor-parallel one.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub(crate) struct Coordinates {
    pub(crate) data: Option<u32>,
    pub(crate) pipeline: Option<u32>,
    pub(crate) tensor: Option<u32>,
    pub(crate) expert: Option<u32>,
}

impl Coordinates {
    /// The coordinates in a name; `None` where it has none.
    pub(crate) fn of(name: &str) -> Option<Coordinates> {
        let mut words = name
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
            .peekable();
        let mut found = Coordinates::default();
        while let Some(word) = words.next() {
            let (letters, digits) = word.split_at(word.len().min(2));
            let known = match letters.to_ascii_uppercase().as_str() {
                "DP" => &mut found.data,
                "PP" => &mut found.pipeline,
                "TP" => &mut found.tensor,
                "EP" => &mut found.expert,
                _ => continue,
            };
            let number = match digits {
                "" => words.peek().and_then(|next| next.parse().ok()),
                digits => digits.parse().ok(),
            };
            *known = known.or(number);
        }
        (found != Coordinates::default()).then_some(found)
    }
}

impl fmt::Display for Coordinates {
    /// In the form servers use in file names: "TP-1-DP-0".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            ("TP", self.tensor),
            ("DP", self.data),
            ("PP", self.pipeline),
            ("EP", self.expert),
        ];
        let known = all
            .iter()
            .filter_map(|(name, at)| Some(format!("{name}-{}", (*at)?)));
        f.write_str(&format::joined(known, "-"))
    }
}

/// The numbers of ranks with these coordinates: tensor parallelism is innermost, then pipelines, then replicas. `None`
/// for ranks with equal coordinates.
pub(crate) fn numbers(all: &[Coordinates]) -> Vec<Option<u32>> {
    let size = |of: fn(&Coordinates) -> Option<u32>| {
        let most = all.iter().filter_map(of).max();
        most.map_or(1, |most| most.saturating_add(1))
    };
    let (tensors, stages) = (size(|of| of.tensor), size(|of| of.pipeline));
    let inner = |of: &Coordinates| {
        let stage = of.pipeline.unwrap_or(0).checked_mul(tensors)?;
        stage.checked_add(of.tensor.unwrap_or(0))
    };
    let whole = |of: &Coordinates| {
        let replica = of.data.unwrap_or(0).checked_mul(tensors)?;
        replica.checked_mul(stages)?.checked_add(inner(of)?)
    };
    let of = |number: &dyn Fn(&Coordinates) -> Option<u32>| -> Vec<Option<u32>> {
        let numbers: Vec<Option<u32>> = all.iter().map(number).collect();
        let is_alone =
            |number: &Option<u32>| numbers.iter().filter(|other| *other == number).count() == 1;
        let alone = numbers.iter();
        alone
            .map(|number| number.filter(|_| is_alone(number)))
            .collect()
    };
    // If only attention is data parallel, that divides ranks that tensor parallelism already counts.
    let of_inner = of(&inner);
    match of_inner.iter().all(Option::is_some) {
        true => of_inner,
        false => of(&whole),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(tensor: u32, pipeline: u32, data: u32) -> Coordinates {
        Coordinates {
            data: Some(data),
            pipeline: Some(pipeline),
            tensor: Some(tensor),
            expert: None,
        }
    }

    #[test]
    fn names_give_coordinates() {
        let some = |data, pipeline, tensor, expert| {
            Some(Coordinates {
                data,
                pipeline,
                tensor,
                expert,
            })
        };
        let cases = [
            (
                "1754-TP-2-DP-1-PP-0-EP-3.trace.json.gz",
                some(Some(1), Some(0), Some(2), Some(3)),
            ),
            ("TP01-DP00", some(Some(0), None, Some(1), None)),
            ("prof-TP-0.trace.json.gz", some(None, None, Some(0), None)),
            ("http-tpu-epoch.json", None),
            ("tp-x.json", None),
        ];
        for (name, expected) in cases {
            assert_eq!(Coordinates::of(name), expected, "{name}");
        }
    }

    #[test]
    fn tensor_parallelism_is_innermost() {
        // Two replicas of two stages of two.
        let all =
            [0, 1].map(|data| [0, 1].map(|stage| [0, 1].map(|tensor| at(tensor, stage, data))));
        let all: Vec<Coordinates> = all.into_iter().flatten().flatten().collect();
        let expected: Vec<Option<u32>> = (0..8).map(Some).collect();
        assert_eq!(numbers(&all), expected);
    }

    #[test]
    fn the_attention_s_data_parallelism_divides_the_ranks_of_tensors() {
        let all = [at(0, 0, 0), at(1, 0, 0), at(2, 0, 1), at(3, 0, 1)];
        assert_eq!(numbers(&all), [Some(0), Some(1), Some(2), Some(3)]);
    }

    #[test]
    fn equal_coordinates_are_not_used() {
        let all = [at(0, 0, 0), at(1, 0, 0), at(1, 0, 0)];
        assert_eq!(numbers(&all), [Some(0), None, None]);
    }
}
