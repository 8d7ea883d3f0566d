//! A summary for tests: one run of which only the model is known.

use super::{Run, Summary};
use crate::fleet::rows::Status;
use crate::fleet::texts::Text;

pub(crate) fn summary() -> Summary {
    Summary {
        sentence: "1 run".to_owned(),
        by: "build".to_owned(),
        texts: vec!["r0".to_owned(), "llama".to_owned()],
        runs: vec![Run {
            id: Text(0),
            model: Some(Text(1)),
            gpu: None,
            build: None,
            host: None,
            job: None,
            uri: None,
            start_ns: None,
            status: Status::Ok,
            total_ns: Some(7),
            busy_ns: None,
            compute_ns: None,
            exposed_comm_ns: None,
            exposed_copy_ns: None,
            idle_ns: None,
            finding: None,
            worth_ns: None,
        }],
        ..Summary::default()
    }
}
