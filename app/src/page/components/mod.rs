//! The parts that views are made of, one a file.

pub mod bar_list;
pub mod buttons;
pub mod canvas;
pub mod column_chooser;
pub mod dialog;
pub mod document;
pub mod fact_table;
pub mod findings;
pub mod gpu_dialog;
pub mod gpu_picker;
pub mod header;
pub mod key_sheet;
pub mod log_scale;
pub mod models_dialog;
pub mod op_details;
pub mod palette;
pub mod reproduce;
pub mod roofline_chart;
pub mod row_window;
pub mod selected_row;
pub mod sheet_table;
pub mod sort_heading;
pub mod split_bar;
pub mod table_cell;
pub mod table_column;
pub mod thresholds;
pub mod tree_search;
pub mod tree_table;
pub mod versus;
pub mod view_link;
pub mod virtual_rows;
pub mod virtual_table;
pub mod waterfall;
pub mod words;

pub use bar_list::bar_list;
pub use buttons::{StepButton, Steps, Switch, copy_button, icon};
pub use fact_table::{bars, facts_table, gaps};
pub use findings::findings;
pub use gpu_picker::gpu_picker;
pub use header::{header, navigation, window_bar};
pub use key_sheet::{key_sheet, keys_button};
pub use models_dialog::{models_button, models_dialog};
pub use op_details::{details_button, details_panel};
pub use palette::palette;
pub use reproduce::reproduce;
pub use roofline_chart::roof_chart;
pub use row_window::RowWindow;
pub use selected_row::selected_row;
pub use sheet_table::SheetTable;
pub use sort_heading::SortHeading;
pub use split_bar::split_bar;
pub use table_column::{TableColumn, Width};
pub use thresholds::{thresholds_button, thresholds_panel};
pub use tree_search::tree_search;
pub use tree_table::{TreeLine, TreeRows, fold_mark, indent};
pub use versus::{open_error, versus};
pub use view_link::ViewLink;
pub use virtual_rows::{VirtualRow, VirtualRows};
pub use virtual_table::{Line, RowAct, VirtualTable};
pub use waterfall::waterfall;
pub use words::{category_legend, cut_name, pairs, prose};

use leptos::prelude::*;

/// Draws each of some things.
pub fn each<T, V: IntoView>(
    things: impl IntoIterator<Item = T>,
    draw: impl FnMut(T) -> V,
) -> Vec<V> {
    things.into_iter().map(draw).collect()
}
