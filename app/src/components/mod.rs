//! The parts that views are made of, one a file.

pub mod bar_list;
pub mod column_chooser;
pub mod copy_button;
pub mod details;
pub mod findings;
pub mod gauge;
pub mod header;
pub mod icon;
pub mod log_scale;
pub mod markdown;
pub mod name;
pub mod prose;
pub mod roofline_chart;
pub mod share;
pub mod sheet_table;
pub mod split_bar;
pub mod table_column;
pub mod thresholds;
pub mod virtual_rows;

pub use bar_list::BarList;
pub use copy_button::CopyButton;
pub use details::Details;
pub use findings::Findings;
pub use gauge::Gauge;
pub use header::{Header, Navigation};
pub use icon::Icon;
pub use markdown::Markdown;
pub use name::Name;
pub use prose::Prose;
pub use roofline_chart::RoofChart;
pub use share::Share;
pub use sheet_table::SheetTable;
pub use split_bar::SplitBar;
pub use table_column::{TableColumn, Width};
pub use thresholds::{ThresholdsButton, ThresholdsPanel};
pub use virtual_rows::{ROW_PX, VirtualRows};
