//! Values that later stages compute once per profile, whatever GPU and thresholds are chosen.
//!
//! A value is identified by its type. Each stage therefore has its own types, and a change of choices recomputes only
//! what depends on them.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A value and its type.
struct Entry {
    of: TypeId,
    value: Arc<dyn Any + Send + Sync>,
}

/// Values by type.
#[derive(Default)]
pub(crate) struct Memo {
    entries: Mutex<Vec<Entry>>,
}

impl Memo {
    /// The value of a type, computed on first use.
    pub(crate) fn get<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        if let Some(known) = self.find() {
            return known;
        }
        // Computed without holding the lock: one value may depend on another.
        let made = Arc::new(make());
        let value = Arc::clone(&made);
        self.lock().push(Entry {
            of: TypeId::of::<T>(),
            value,
        });
        made
    }

    fn find<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let of = TypeId::of::<T>();
        let all = self.lock();
        let known = all.iter().find(|known| known.of == of)?;
        Arc::clone(&known.value).downcast().ok()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Memo of {} values", self.lock().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_is_made_once() {
        let memo = Memo::default();
        let mut n_made = 0;
        for _ in 0..2 {
            memo.get(|| {
                n_made += 1;
                7_u32
            });
        }
        assert_eq!(n_made, 1);
        assert_eq!(*memo.get(|| 8_u64), 8);
        assert_eq!(*memo.get(|| 9_u32), 7);
    }
}
