//! The parts that views are made of, one a file.

pub mod buttons;
pub mod canvas;
pub mod charts;
pub mod dialog;
pub mod document;
pub mod findings;
pub mod gap_chart;
pub mod gpu_dialog;
pub mod gpu_picker;
pub mod header;
pub mod key_sheet;
pub mod limits;
pub mod models_dialog;
pub mod op_details;
pub mod palette;
pub mod roofline_chart;
pub mod row_window;
pub mod sheet_table;
pub mod step_bars;
pub mod table_column;
pub mod thresholds;
pub mod tree_table;
pub mod versus;
pub mod virtual_rows;
pub mod virtual_table;
pub mod words;
