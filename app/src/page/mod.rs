//! The page: what the user sees and does.
//!
//! | module | what |
//! |---|---|
//! | [`shell`] | header, navigation, and the current view |
//! | [`views`] | the views, and the list of them |
//! | [`components`] | the parts that views are made of |
//! | [`state`], [`url`] | what the page knows, and which part of it the URL encodes |
//! | [`engine`] | the only access to the worker |
//! | [`unseen`] | what is drawn before it is needed |
//! | [`keys`] | the page's keyboard shortcuts |
//! | [`prelude`] | what every view and component uses |
//! | [`ranks`] | many files as ranks of one job |
//! | [`fleet`] | the summary of many traces |
//! | [`runs`] | the runs of a log directory |
//! | [`browser`] | everything that touches the browser |

pub mod browser;
pub mod components;
pub mod engine;
pub mod fleet;
pub mod keys;
pub mod prelude;
pub mod ranks;
pub mod runs;
pub mod shell;
pub mod state;
pub mod unseen;
pub mod url;
pub mod views;

pub use shell::app;
