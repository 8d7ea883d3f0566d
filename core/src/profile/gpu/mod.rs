//! What ran on the GPUs, and how their time splits.
//!
//! | module | contents |
//! |---|---|
//! | [`kernels`] | every kernel, copy and fill with what launched it and for which operator |
//! | [`copies`] | the direction of copies, the type of host memory, the code that requested them |
//! | [`unattributed`] | activity whose launching call is unknown |
//! | [`timeline`], [`timelines`] | computation, communication, copies and idle time: of any GPU activity, and of the GPUs of a profile |
//! | `exposed` | when communication and copies are exposed |
//! | [`gaps`] | when no stream runs anything |
//! | `shares` | GPU time, split among the operations |

pub mod copies;
pub(crate) mod exposed;
pub mod gaps;
pub mod kernels;
pub(crate) mod shares;
pub mod timeline;
pub mod timelines;
pub mod unattributed;
