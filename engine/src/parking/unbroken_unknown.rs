//! What `unbroken` is where it is not known what interrupts a thread.

use core::convert::Infallible;

#[derive(Clone, Copy)]
pub(super) struct Unbroken(Infallible);

impl Unbroken {
    pub(super) fn of_this_thread() -> Option<Unbroken> {
        None
    }

    pub(super) fn begin(self, _: usize) {
        match self.0 {}
    }

    pub(super) fn call(self, _: usize, _: [usize; 4]) -> Option<Result<u32, i32>> {
        match self.0 {}
    }
}
