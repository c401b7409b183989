//! The event: what `<leeward/event.h>` and `<leeward/shared.h>` call.

use core::ffi::c_int;

use leeward::futex::{Private, Shared, Timeout};
use leeward::raw::{Event, slow};
use libc::timespec;

use super::deadline::until;

// `LEE_1_EVENT_SET`; and zeroes are an event that is clear.
const _: () = assert!(size_of::<Event>() == 4 && slow::EVENT_SET == 1);
// SAFETY: a number.
const _: () = assert!(unsafe { core::mem::transmute::<Event, u32>(Event::new()) } == 0);

/// Defines the functions of one kind of event.
macro_rules! event {
    ($futex:ty, $set:ident, $wait:ident, $timedwait:ident) => {
        /// Sets the event.
        #[unsafe(no_mangle)]
        pub extern "C" fn $set(event: &Event<$futex>) {
            event.set();
        }

        /// Waits for an event that was clear.
        #[unsafe(no_mangle)]
        pub extern "C" fn $wait(event: &Event<$futex>) {
            slow::wait(event, Timeout::Never);
        }

        /// Waits for an event that was clear, until the deadline at most.
        #[unsafe(no_mangle)]
        pub extern "C" fn $timedwait(event: &Event<$futex>, deadline: Option<&timespec>) -> c_int {
            until(deadline, |timeout| slow::wait(event, timeout))
        }
    };
}

event!(Private, lee_1_event_set, lee_1_event_wait_slow, lee_1_event_timedwait_slow);
event!(Shared, lee_1_shared_event_set, lee_1_shared_event_wait_slow, lee_1_shared_event_timedwait_slow);
