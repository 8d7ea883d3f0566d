//! What files about a job are made from.

use std::cell::OnceCell;

use crate::job::Job;
use crate::job::sheets::{JobSheet, sheets};
use crate::job::world::SetApart;

/// What the files are made from.
#[derive(Debug)]
pub struct Input<'a> {
    /// The ranks of one window of the profiler, put together.
    pub job: &'a Job,
    /// Files that take no part in it.
    pub set_apart: &'a [SetApart],
    sheets: OnceCell<Vec<JobSheet>>,
}

impl<'a> Input<'a> {
    /// Of a job and the files that were set apart from it.
    pub fn new(job: &'a Job, set_apart: &'a [SetApart]) -> Input<'a> {
        Input {
            job,
            set_apart,
            sheets: OnceCell::new(),
        }
    }

    /// Its sheets, made when they are first asked for.
    pub fn sheets(&self) -> &[JobSheet] {
        let make = || sheets(self.job, self.set_apart);
        self.sheets.get_or_init(make)
    }
}
