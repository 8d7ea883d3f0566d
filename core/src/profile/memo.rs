//! Values that later stages compute once per profile, whatever GPU and thresholds are chosen.
//!
//! A value is identified by its type. Each stage therefore has its own types, and a change of choices recomputes only
//! what depends on them.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A type, and its value once that is computed: a [`Cell`] of the type.
type Entry = (TypeId, Arc<dyn Any + Send + Sync>);

type Cell<T> = OnceLock<Arc<T>>;

/// Values by type.
#[derive(Default)]
pub(crate) struct Memo {
    entries: Mutex<Vec<Entry>>,
}

impl Memo {
    /// The value of a type, computed on first use. Other threads wait for it.
    pub(crate) fn get<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        // Computed without holding the lock: one value may depend on another.
        Arc::clone(self.cell().get_or_init(|| Arc::new(make())))
    }

    fn cell<T: Any + Send + Sync>(&self) -> Arc<Cell<T>> {
        let wanted = TypeId::of::<T>();
        let mut all = self.lock();
        let known = all.iter().find(|(of, _)| *of == wanted);
        let known = known.and_then(|(_, cell)| Arc::clone(cell).downcast().ok());
        known.unwrap_or_else(|| {
            let cell = Arc::<Cell<T>>::default();
            all.push((wanted, cell.clone()));
            cell
        })
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
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use std::thread;

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

    #[test]
    fn threads_share_what_one_of_them_makes() {
        let (memo, n_made) = (Memo::default(), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| memo.get(|| n_made.fetch_add(1, Relaxed)));
            }
        });
        assert_eq!(n_made.into_inner(), 1);
    }
}
