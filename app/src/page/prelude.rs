//! What every view and component uses: Leptos, the page's state and engine, and the components.

pub use dormer_core::base::format;
pub use leptos::ev::{KeyboardEvent, MouseEvent};
pub use leptos::prelude::*;

pub use super::browser;
pub use super::components::buttons::{
    Choosable, StepButton, Steps, choosable, close_button, copy_button, copy_made, first_of, icon,
    on_or_off, one_of, show_all,
};
pub use super::components::charts::{
    COMPARE_TABLES, bar_list, bars, chart_figures, dot, facts_table, gaps, split_bar, stacked,
    tooltip, waterfall,
};
pub use super::components::dialog::{ReadFile, dialog, dialog_button, dialog_header, show_while};
pub use super::components::findings::{evidence_list, findings};
pub use super::components::limits::limits;
pub use super::components::list::{heads, list};
pub use super::components::op_details::{self, details_button};
pub use super::components::row_window::RowWindow;
pub use super::components::sheet_table::SheetTable;
pub use super::components::table_column::{
    TableColumn, Width, category_cell, gauge_cell, share_cell, text_cell,
};
pub use super::components::text::{
    GUESS, ViewLink, category_legend, cut_name, each, nothing_shown, pairs, prose, selection,
    title_line, trace_label, with_units,
};
pub use super::components::thresholds::thresholds_button;
pub use super::components::tree_table::{TreeRows, fold_mark, indent, tree_search};
pub use super::components::virtual_rows::{VirtualRow, VirtualRows};
pub use super::components::virtual_table::{Line, RowAct, VirtualTable, sort_heading};
pub use super::engine::Engine;
pub use super::state::AppState;
pub use super::url::{DetailsOf, Focus};
