//! The parts that views are made of, one a file.

pub mod bar_list;
pub mod copy_button;
pub mod details;
pub mod header;
pub mod icon;
pub mod name;
pub mod share;
pub mod sheet_table;
pub mod split_bar;
pub mod virtual_rows;

pub use bar_list::BarList;
pub use copy_button::CopyButton;
pub use details::Details;
pub use header::{Header, Navigation};
pub use icon::Icon;
pub use name::Name;
pub use share::Share;
pub use sheet_table::{SheetTable, TableColumn, Width};
pub use split_bar::SplitBar;
pub use virtual_rows::{ROW_PX, VirtualRows};
