//! The parts that views are made of, one a file.
//!
//! | parts | files |
//! |---|---|
//! | around every view | `header`, `trace_bars`, `palette`, `thresholds`, `op_details`, `key_sheet` |
//! | dialogs | `dialog`, `file_chooser`, `gpu_dialog`, `models_dialog`, `offline`, `recent`, `sender_question` |
//! | long tables | `virtual_table` (frame, keys), `virtual_rows` (pages of rows), `row_window` (what is visible) |
//! | tables of a sheet | `sheet_table`, `sheet_rows`, `sheet_columns`, `table_*`, `column_list`, `pivot` |
//! | tables of a tree | `tree_table` |
//! | charts | `charts`, `plot` (keys of charts of marks), `roofline_chart`, `step_bars`, `gap_chart`, `canvas` (for charts that are painted) |
//! | findings and documents | `findings`, `limits`, `document` |
//! | choices | `gpu_picker`, `gpus_alone` |
//! | small elements | `buttons`, `text` |

pub mod buttons;
pub mod canvas;
pub mod charts;
pub mod column_list;
pub mod dialog;
pub mod document;
pub mod file_chooser;
pub mod findings;
pub mod gap_chart;
pub mod gpu_dialog;
pub mod gpu_picker;
pub mod gpus_alone;
pub mod header;
pub mod key_sheet;
pub mod limits;
pub mod list;
pub mod models_dialog;
pub mod offline;
pub mod op_details;
pub mod palette;
pub mod pivot;
pub mod plot;
pub mod recent;
pub mod roofline_chart;
pub mod row_window;
pub mod sender_question;
pub mod sheet_columns;
pub mod sheet_rows;
pub mod sheet_table;
pub mod step_bars;
pub mod table_column;
pub mod table_grip;
pub mod table_layout;
pub mod table_text;
pub mod table_tools;
pub mod text;
pub mod thresholds;
pub mod trace_bars;
pub mod tree_table;
pub mod virtual_rows;
pub mod virtual_table;
