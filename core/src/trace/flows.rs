//! Host-to-device flow arrows.

use super::{Column, LinkId, TrackId};

/// The arrow head of an `ac2g` flow: where the work it stands for ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowEnd {
    /// Flow id; the link id of the launch and of the work.
    pub id: LinkId,
    /// Track of the work.
    pub track: TrackId,
}

/// The `ac2g` flows of a trace, starts and ends apart, in file order.
#[derive(Debug, Default)]
pub struct FlowTable {
    /// Ids with a start (`s`).
    pub starts: Column<LinkId>,
    /// Ends (`f`).
    pub ends: Column<FlowEnd>,
}
