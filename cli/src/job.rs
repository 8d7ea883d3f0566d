//! `dormer job`: the ranks of one job, each read once and reduced to a digest.

mod files;
mod reading;

use std::io::Write;

use dormer_core::base::format;
use dormer_core::job::Job;
use dormer_core::job::world::{SetApart, Why, World};

use crate::args::JobArgs;
use crate::output::write_file;
use crate::stdout::Out;
use crate::{Failure, stdout};
use files::find;

/// Reads the ranks, analyzes the job, writes the files, prints the summary.
pub(crate) fn run(args: &JobArgs, out: &mut Out) -> Result<(), Failure> {
    let files = find(&args.paths)?;
    let mut unreadable = Vec::new();
    let mut digests = Vec::new();
    for (file, read) in files.iter().zip(reading::read(&files)) {
        match read {
            Ok(digest) => digests.push(digest),
            Err(why) => unreadable.push(SetApart {
                file: file.source.clone(),
                why: Why::Unreadable(why),
            }),
        }
    }
    let mut world = World::new(digests);
    world.set_apart.extend(unreadable);
    for apart in &world.set_apart {
        stdout::complain(&format!("{}: {}", apart.file.name, apart.why));
    }
    let n_windows = world.windows.len();
    let mut windows = world.windows.into_iter();
    let Some(window) = windows.next() else {
        let reason = "none of the files is a rank of a job; dormer report reads a single trace";
        return Err(Failure::Sentence(reason.to_owned()));
    };
    let job = Job::new(window);
    writeln!(out, "{}", format::counted(job.ranks.len() as u64, "rank"))?;
    if n_windows > 1 {
        writeln!(out, "{n_windows} windows")?;
    }
    if let Some(folder) = &args.output {
        for rank in &job.ranks {
            let path = format!("digests/rank{:05}.json.gz", rank.number);
            write_file(folder, &path, &rank.digest.to_file())?;
        }
    }
    Ok(())
}
