//! Tables of a file, stored by columns: `{"model": [0, 0, 3], "runs": [4, 2, 9]}`.

use super::metric::Metric;
use super::rows::Status;
use super::texts::Text;

/// A cell of a column, which may refer to a text.
pub(in crate::fleet) trait Cell {
    /// The text that it refers to.
    fn text(&self) -> Option<Text> {
        None
    }

    /// Replaces the text that it refers to.
    fn renumber(&mut self, _of: &mut dyn FnMut(Text) -> Text) {}
}

impl Cell for Text {
    fn text(&self) -> Option<Text> {
        Some(*self)
    }

    fn renumber(&mut self, of: &mut dyn FnMut(Text) -> Text) {
        *self = of(*self);
    }
}

impl<C: Cell> Cell for Option<C> {
    fn text(&self) -> Option<Text> {
        self.as_ref().and_then(Cell::text)
    }

    fn renumber(&mut self, of: &mut dyn FnMut(Text) -> Text) {
        if let Some(cell) = self {
            cell.renumber(of);
        }
    }
}

impl Cell for bool {}
impl Cell for f64 {}
impl Cell for i64 {}
impl Cell for u32 {}
impl Cell for Metric {}
impl Cell for Status {}

/// What is wrong with the columns of a table.
pub(in crate::fleet) struct BadColumn {
    /// The column.
    pub(in crate::fleet) column: &'static str,
    /// The reason: "has 3 values, the first column has 4".
    pub(in crate::fleet) reason: String,
}

/// A row with its fields, and the same fields as columns.
macro_rules! columns {
    ($(
        $(#[$meta:meta])*
        $row:ident in $columns:ident {
            $($(#[$doc:meta])* $field:ident: $of:ty,)+
        }
    )+) => {
        $(
            $(#[$meta])*
            #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
            pub struct $row {
                $($(#[$doc])* pub $field: $of,)+
            }

            impl $row {
                /// Replaces the texts that the row refers to.
                pub(in crate::fleet) fn renumber(&mut self, of: &mut dyn FnMut(Text) -> Text) {
                    $($crate::fleet::columns::Cell::renumber(&mut self.$field, of);)+
                }
            }

            #[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
            pub(crate) struct $columns {
                $($field: Vec<$of>,)+
            }

            impl $columns {
                pub(crate) fn of(rows: &[$row]) -> $columns {
                    let mut columns = $columns::default();
                    for row in rows {
                        $(columns.$field.push(row.$field.clone());)+
                    }
                    columns
                }

                /// The rows, if all columns have the same length and refer to existing texts.
                pub(in crate::fleet) fn rows(
                    self,
                    n_texts: usize,
                ) -> Result<Vec<$row>, $crate::fleet::columns::BadColumn> {
                    let lengths = [$((stringify!($field), self.$field.len())),+];
                    let n_rows = lengths[0].1;
                    $crate::fleet::columns::same_length(&lengths)?;
                    $($crate::fleet::columns::texts_exist(
                        stringify!($field), &self.$field, n_texts)?;)+
                    $(let mut $field = self.$field.into_iter();)+
                    let rows = (0..n_rows).map_while(|_| Some($row {
                        $($field: $field.next()?,)+
                    }));
                    Ok(rows.collect())
                }
            }
        )+
    };
}
pub(crate) use columns;

/// Checks that every column has as many values as the first.
pub(in crate::fleet) fn same_length(lengths: &[(&'static str, usize)]) -> Result<(), BadColumn> {
    let expected = lengths.first().map_or(0, |(_, length)| *length);
    let different = lengths.iter().find(|(_, length)| *length != expected);
    different.map_or(Ok(()), |(column, length)| {
        Err(BadColumn {
            column,
            reason: format!("has {length} values, the first column has {expected}"),
        })
    })
}

/// Checks that every text of a column is in the table of texts.
pub(in crate::fleet) fn texts_exist(
    column: &'static str,
    cells: &[impl Cell],
    n_texts: usize,
) -> Result<(), BadColumn> {
    let texts = cells.iter().filter_map(Cell::text);
    let missing = texts
        .map(|text| text.0)
        .find(|text| *text as usize >= n_texts);
    missing.map_or(Ok(()), |text| {
        Err(BadColumn {
            column,
            reason: format!("names text {text} of {n_texts}"),
        })
    })
}
