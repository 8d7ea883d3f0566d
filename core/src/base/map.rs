//! Hash tables with a hash that is fast for small keys.

use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;

/// A hash table.
pub(crate) type Map<K, V> = HashMap<K, V, FxBuildHasher>;

/// A set of such keys.
pub(crate) type Set<K> = HashSet<K, FxBuildHasher>;
