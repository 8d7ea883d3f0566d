//! The order in which the files of a job are read, and how many at once. A worker's memory never shrinks, so each file
//! has a worker of its own.

use dormer_core::base::sort::Arrange;

/// Ratio of a trace's text to its compressed size, before the actual size is known.
const TEXT_OF_PACKED: f64 = 14.0;
/// Memory that a worker needs per byte of text.
const MEMORY_OF_TEXT: f64 = 0.35;
/// Memory that all workers together may use.
const MOST_MEMORY: f64 = 1.5e9;
const MOST_WORKERS: f64 = 8.0;

/// The memory limit of a worker in a browser.
const MOST_OF_A_WORKER: f64 = 4e9;
/// Digest bytes per byte of text, and the most digest bytes that the job's analysis can hold in a worker.
const DIGEST_OF_TEXT: f64 = 0.003;
const MOST_DIGESTS: f64 = 3.3e8;

/// Files that wait to be read.
#[derive(Debug, Default)]
pub struct Queue {
    /// The last is the next.
    waiting: Vec<usize>,
    at_once: usize,
    running: usize,
    may_not_fit: bool,
}

/// The text sizes of files.
fn texts(files: &[(f64, bool)]) -> impl Iterator<Item = f64> {
    files.iter().map(|(bytes, is_packed)| match is_packed {
        true => bytes * TEXT_OF_PACKED,
        false => *bytes,
    })
}

impl Queue {
    /// For files with these sizes and whether they are compressed; the largest is read first.
    pub fn new(files: &[(f64, bool)], cores: usize) -> Queue {
        let mut waiting: Vec<usize> = (0..files.len()).rev().collect();
        let bytes = |at: &usize| files.get(*at).map_or(0.0, |(bytes, _)| *bytes);
        waiting.arrange_by(|one, other| bytes(one).total_cmp(&bytes(other)));
        let largest = texts(files).fold(1.0, f64::max);
        let by_memory = MOST_MEMORY / (MEMORY_OF_TEXT * largest);
        let by_cores = cores.saturating_sub(1) as f64;
        let is_large = MEMORY_OF_TEXT * largest > MOST_OF_A_WORKER;
        let is_many = DIGEST_OF_TEXT * texts(files).sum::<f64>() > MOST_DIGESTS;
        Queue {
            may_not_fit: is_large || is_many,
            waiting,
            at_once: by_cores.min(by_memory).clamp(1.0, MOST_WORKERS) as usize,
            running: 0,
        }
    }

    /// How many files are read at once.
    pub fn at_once(&self) -> usize {
        self.at_once
    }

    /// Whether a file, or all digests together, may need more memory than a browser allows a page.
    pub fn may_not_fit(&self) -> bool {
        self.may_not_fit
    }

    /// The next file, if another one may be read now.
    pub fn start(&mut self) -> Option<usize> {
        let next = match self.running < self.at_once {
            true => self.waiting.pop(),
            false => None,
        };
        self.running += usize::from(next.is_some());
        next
    }

    /// A file was read, or cannot be.
    pub fn end(&mut self) {
        self.running = self.running.saturating_sub(1);
    }

    /// Reads no further files.
    pub fn cancel(&mut self) {
        self.waiting.clear();
        self.running = 0;
    }

    /// Nothing is being read and nothing waits.
    pub fn is_over(&self) -> bool {
        self.running == 0 && self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_at_once_as_cores_and_memory_allow() {
        let cases = [
            // Compressed bytes of the largest file, cores, workers.
            (1e6, 1, 1),
            (1e6, 2, 1),
            (1e6, 4, 3),
            (1e6, 64, 8),
            (70e6, 16, 4),
            (1e9, 16, 1),
        ];
        for (bytes, cores, at_once) in cases {
            let queue = Queue::new(&[(10.0, true), (bytes, true)], cores);
            assert_eq!(queue.at_once(), at_once, "{bytes} bytes, {cores} cores");
        }
        // Text counts at its own size.
        assert_eq!(Queue::new(&[(1e9, false)], 16).at_once(), 4);
    }

    #[test]
    fn a_job_that_may_not_fit_is_known_before_it_is_read() {
        let cases = [
            // Files, bytes of each, whether they are compressed, whether they may not fit.
            (64, 70e6, true, false),
            (1, 12e9, false, true),
            (1, 0.9e9, true, true),
            (2_000, 70e6, true, true),
        ];
        for (n, bytes, is_packed, may_not_fit) in cases {
            let queue = Queue::new(&vec![(bytes, is_packed); n], 8);
            assert_eq!(queue.may_not_fit(), may_not_fit, "{n} of {bytes} bytes");
        }
    }

    #[test]
    fn the_largest_file_is_read_first() {
        let sizes = [5.0, 9.0, 5.0, 7.0].map(|bytes| (bytes, true));
        let mut queue = Queue::new(&sizes, 3);
        assert_eq!([queue.start(), queue.start()], [Some(1), Some(3)]);
        assert_eq!(queue.start(), None, "two at once");
        queue.end();
        assert_eq!([queue.start(), queue.start()], [Some(0), None]);
        queue.end();
        queue.end();
        assert!(!queue.is_over(), "one waits");
        assert_eq!(queue.start(), Some(2));
        queue.end();
        assert!(queue.is_over());
    }

    #[test]
    fn after_canceling_nothing_is_read() {
        let mut queue = Queue::new(&[(1.0, true), (2.0, true)], 2);
        queue.start();
        queue.cancel();
        assert!(queue.is_over());
        assert_eq!(queue.start(), None);
    }
}
