//! The details of one operation, operator, kernel or call.

use serde::{Deserialize, Serialize};

/// Asks for the details of something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DetailsQuery {
    /// A row of a sheet.
    Row {
        /// The sheet's name.
        sheet: String,
        /// Its position in the sheet.
        row: u32,
    },
    /// The operation, kernel or call that an event belongs to.
    Event(u32),
}
