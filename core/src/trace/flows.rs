//! Host-to-device flow arrows.

use serde::{Deserialize, Serialize};

use super::column::{Row, rows};
use super::{Column, LinkId, TrackId};

/// One end of an `ac2g` flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowPoint {
    /// Flow id; the link id of the launch and of its GPU activity.
    pub id: LinkId,
    /// For a start, the thread of the call; for an end, the stream of the GPU activity.
    pub track: TrackId,
}

rows! {
    FlowPoint: u64,
        |point| u64::from(point.id.0) << 32 | u64::from(point.track.0),
        |bits| FlowPoint { id: LinkId((bits >> 32) as u32), track: TrackId(bits as u32) };
}

/// The `ac2g` flows of a trace, starts and ends separately, in file order.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct FlowTable {
    /// Starts (`s`).
    pub starts: Column<FlowPoint>,
    /// Ends (`f`).
    pub ends: Column<FlowPoint>,
}
