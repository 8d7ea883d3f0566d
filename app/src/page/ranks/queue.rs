//! In which order the files of a job are read, and how many at once. A worker's memory never shrinks, so
//! each file has one of its own.

use dormer_core::base::sort::Arrange;

/// Text of a trace over its compressed size, before the file tells it.
const TEXT_OF_PACKED: f64 = 14.0;
/// Memory that a worker takes for each byte of text.
const MEMORY_OF_TEXT: f64 = 0.35;
/// Memory that all workers may take.
const MOST_MEMORY: f64 = 1.5e9;
const MOST_WORKERS: f64 = 8.0;

/// Files that wait to be read.
#[derive(Debug, Default)]
pub struct Queue {
    /// The next one stands last.
    waiting: Vec<usize>,
    at_once: usize,
    running: usize,
}

impl Queue {
    /// Of files with so many bytes, and whether they are compressed; the largest is read first.
    pub fn new(files: &[(f64, bool)], cores: usize) -> Queue {
        let mut waiting: Vec<usize> = (0..files.len()).rev().collect();
        let bytes = |at: &usize| files.get(*at).map_or(0.0, |(bytes, _)| *bytes);
        waiting.arrange_by(|one, other| bytes(one).total_cmp(&bytes(other)));
        let texts = files.iter().map(|(bytes, is_packed)| match is_packed {
            true => bytes * TEXT_OF_PACKED,
            false => *bytes,
        });
        let largest = texts.fold(1.0, f64::max);
        let by_memory = MOST_MEMORY / (MEMORY_OF_TEXT * largest);
        let by_cores = cores.saturating_sub(1) as f64;
        Queue {
            waiting,
            at_once: by_cores.min(by_memory).clamp(1.0, MOST_WORKERS) as usize,
            running: 0,
        }
    }

    /// How many files are read at once.
    pub fn at_once(&self) -> usize {
        self.at_once
    }

    /// The next file, where another one may be read now.
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

    /// Reads no more.
    pub fn cancel(&mut self) {
        self.waiting.clear();
        self.running = 0;
    }

    /// Nothing is read and nothing waits.
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
            // Compressed bytes of the largest, cores, workers.
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
        // Text counts as it is.
        assert_eq!(Queue::new(&[(1e9, false)], 16).at_once(), 4);
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
