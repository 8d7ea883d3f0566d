//! The launch size of a kernel.

use crate::trace::extra_args::behind;
use crate::trace::{EventId, Trace};

/// Grid and block of a launch, as recorded with the kernel; `None` if not recorded.
///
/// On AMD GPUs, the grid counts threads instead of blocks for calls that take a number of threads.
pub(crate) fn launch_size(trace: &Trace, kernel: EventId) -> Option<([u64; 3], [u64; 3])> {
    let args = trace.strings.get(trace.events.extra_args(kernel)?);
    Some((three(args, "grid")?, three(args, "block")?))
}

/// The three numbers after a key: `"grid": [512, 1, 1]`.
fn three(args: &str, key: &str) -> Option<[u64; 3]> {
    let list = behind(args, key)?.strip_prefix('[')?;
    let mut numbers = list.get(..list.find(']')?)?.split(',');
    let mut next = || numbers.next()?.trim().parse().ok();
    Some([next()?, next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_three_numbers() {
        let args = r#""stream": 7, "grid": [512, 2 ,1], "block" :[128,1,1], "short": [1]"#;
        assert_eq!(three(args, "grid"), Some([512, 2, 1]));
        assert_eq!(three(args, "block"), Some([128, 1, 1]));
        assert_eq!(three(args, "short"), None);
        assert_eq!(three(args, "cluster"), None);
        assert_eq!(three(r#""grid": [-1, 2, 3]"#, "grid"), None);
    }
}
