//! The layout of the heatmap: rows of ranks and nodes, and colors of values.

use dormer_core::job::overview::{Measure, RankName};

/// With more ranks than this, nodes are shown, and only the ranks of unfolded nodes.
pub(super) const MOST_RANKS: usize = 256;
/// Colors from lowest to highest.
pub(super) const LEVELS: usize = 7;

/// A row of the heatmap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Row {
    /// A node, by number, with the positions of its ranks.
    Host {
        host: usize,
        name: String,
        ranks: Vec<usize>,
        is_open: bool,
    },
    /// A rank's position and its number.
    Rank(usize, u32),
}

impl Row {
    pub(super) fn label(&self) -> String {
        match self {
            Row::Host { name, .. } => name.clone(),
            Row::Rank(_, number) => number.to_string(),
        }
    }
}

/// The name of a node in the address.
pub(super) fn token(host: usize) -> String {
    format!("h{host}")
}

/// The rows; `opened` has the [`token`]s of unfolded nodes.
pub(super) fn rows(ranks: &[RankName], opened: &[String]) -> Vec<Row> {
    let rank = |at: usize| Row::Rank(at, ranks.get(at).map_or(0, |rank| rank.number));
    if ranks.len() <= MOST_RANKS {
        return (0..ranks.len()).map(rank).collect();
    }
    let mut hosts: Vec<(&str, Vec<usize>)> = Vec::new();
    for (at, of) in ranks.iter().enumerate() {
        match hosts.iter_mut().find(|(name, _)| *name == of.host) {
            Some((_, ranks)) => ranks.push(at),
            None => hosts.push((&of.host, vec![at])),
        }
    }
    let rows = hosts
        .into_iter()
        .enumerate()
        .flat_map(|(host, (name, of_host))| {
            let is_open = opened.contains(&token(host));
            let shown = if is_open { of_host.clone() } else { Vec::new() };
            let head = Row::Host {
                host,
                name: name.to_owned(),
                ranks: of_host,
                is_open,
            };
            std::iter::once(head).chain(shown.into_iter().map(rank))
        });
    rows.collect()
}

/// The value of a cell; for a node, the highest of its ranks.
pub(super) fn value(measure: &Measure, row: &Row, step: usize) -> Option<f64> {
    let of_rank = |at: usize| *measure.values.get(at)?.get(step)?;
    match row {
        Row::Rank(at, _) => of_rank(*at),
        Row::Host { ranks, .. } => ranks.iter().filter_map(|at| of_rank(*at)).reduce(f64::max),
    }
}

/// Maps a value to a color.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    pub(super) lowest: f64,
    pub(super) highest: f64,
}

impl Scale {
    /// The scale of all values. It starts at zero unless all values are far from it, so that small differences of large
    /// values stay small.
    pub(super) fn new(measure: &Measure) -> Option<Scale> {
        let numbers = || measure.values.iter().flatten().flatten().copied();
        let lowest = numbers().reduce(f64::min)?;
        let highest = numbers().reduce(f64::max)?;
        let lowest = match lowest >= 0.0 && lowest < highest / 2.0 {
            true => 0.0,
            false => lowest.min(highest - 0.1 * highest.abs()),
        };
        Some(Scale { lowest, highest })
    }

    pub(super) fn level(&self, number: f64) -> usize {
        let wide = self.highest - self.lowest;
        let share = if wide > 0.0 {
            (number - self.lowest) / wide
        } else {
            0.0
        };
        ((share * LEVELS as f64) as usize).min(LEVELS - 1)
    }
}

/// Positions of cells, in CSS pixels.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Grid {
    /// Space for labels at the left.
    pub(super) gutter_px: f64,
    pub(super) row_px: f64,
    pub(super) step_px: f64,
    pub(super) n_rows: usize,
    pub(super) n_steps: usize,
}

impl Grid {
    pub(super) fn new(
        width: f64,
        n_rows: usize,
        n_steps: usize,
        letters: usize,
        letter_px: f64,
    ) -> Grid {
        let gutter_px = (letters.clamp(2, 14) as f64 * letter_px + 12.0).min(0.4 * width);
        let row_px = (420.0 / n_rows.max(1) as f64).clamp(4.0, 24.0);
        Grid {
            gutter_px,
            row_px,
            step_px: ((width - gutter_px) / n_steps.max(1) as f64).max(0.0),
            n_rows,
            n_steps,
        }
    }

    pub(super) fn height_px(&self) -> f64 {
        self.row_px * self.n_rows as f64
    }

    /// The cell at a point: row and step.
    pub(super) fn at(&self, x: f64, y: f64) -> Option<(usize, usize)> {
        if x < self.gutter_px || y < 0.0 || self.step_px <= 0.0 {
            return None;
        }
        let (row, step) = (y / self.row_px, (x - self.gutter_px) / self.step_px);
        let (row, step) = (row as usize, step as usize);
        (row < self.n_rows && step < self.n_steps).then_some((row, step))
    }

    /// Left and top edge of a cell.
    pub(super) fn corner(&self, row: usize, step: usize) -> (f64, f64) {
        (
            self.gutter_px + step as f64 * self.step_px,
            row as f64 * self.row_px,
        )
    }
}

#[cfg(test)]
mod tests {
    use dormer_core::job::overview::MeasureUnit;

    use super::*;

    fn ranks(n: u32) -> Vec<RankName> {
        let rank = |number| RankName {
            number,
            host: format!("node{}", number / 8),
            file: String::new(),
        };
        (0..n).map(rank).collect()
    }

    fn measure(values: &[&[Option<f64>]]) -> Measure {
        Measure {
            key: "idle".to_owned(),
            label: String::new(),
            doc: String::new(),
            unit: MeasureUnit::Percent,
            values: values.iter().map(|row| row.to_vec()).collect(),
        }
    }

    #[test]
    fn many_ranks_are_shown_by_host_until_one_is_opened() {
        assert_eq!(rows(&ranks(256), &[]).len(), 256);
        assert_eq!(rows(&ranks(1024), &[]).len(), 128);
        let opened = rows(&ranks(1024), &[token(1)]);
        assert_eq!(opened.len(), 136);
        let labels: Vec<String> = opened.iter().take(4).map(Row::label).collect();
        assert_eq!(labels, ["node0", "node1", "8", "9"]);
    }

    #[test]
    fn a_host_is_as_its_highest_rank() {
        let measure = measure(&[&[Some(3.0)], &[Some(5.0)], &[None]]);
        let host = |ranks| Row::Host {
            host: 0,
            name: String::new(),
            ranks,
            is_open: false,
        };
        assert_eq!(value(&measure, &host(vec![0, 1, 2]), 0), Some(5.0));
        assert_eq!(value(&measure, &host(vec![2]), 0), None);
        assert_eq!(value(&measure, &Row::Rank(0, 7), 0), Some(3.0));
        assert_eq!(value(&measure, &Row::Rank(0, 7), 1), None);
    }

    #[test]
    fn colors_start_at_zero_unless_all_numbers_are_far_from_it() {
        let scale = |numbers: &[Option<f64>]| {
            let scale = Scale::new(&measure(&[numbers]));
            scale.map(|scale| (scale.lowest, scale.highest, scale.level(scale.highest)))
        };
        assert_eq!(
            scale(&[Some(10.0), None, Some(70.0)]),
            Some((0.0, 70.0, LEVELS - 1))
        );
        assert_eq!(
            scale(&[Some(60.0), Some(100.0)]),
            Some((60.0, 100.0, LEVELS - 1))
        );
        assert_eq!(
            scale(&[Some(99.0), Some(100.0)]),
            Some((90.0, 100.0, LEVELS - 1))
        );
        assert_eq!(scale(&[Some(0.0)]), Some((0.0, 0.0, 0)));
        assert_eq!(scale(&[None]), None);
    }

    #[test]
    fn a_point_is_in_a_cell_or_outside_all() {
        let grid = Grid::new(420.0, 4, 5, 2, 4.0);
        let (x, y) = grid.corner(2, 3);
        assert_eq!(grid.at(x + 1.0, y + 1.0), Some((2, 3)));
        assert_eq!(grid.at(grid.gutter_px - 1.0, 1.0), None);
        assert_eq!(grid.at(419.0, grid.height_px() + 1.0), None);
    }
}
