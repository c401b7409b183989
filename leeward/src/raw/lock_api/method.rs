//! One method of a trait of `lock_api`, in the shape that a version gives it (the table in
//! `mod.rs`).

/// Makes the types of guards that a trait has: version 0.4 has one of a fixed name, for a lock.
macro_rules! guards {
    (lock_api $guard:ty: UpgradableGuard) => {};
    (lock_api $guard:ty: $($name:ident)+) => {
        type GuardMarker = $guard;
    };
    (lock_api_05 $guard:ty: $($name:ident)+) => {
        $(type $name = $guard;)+
    };
}
pub(crate) use guards;

/// Makes a method: `method! { VERSION GUARD: SHAPE NAME }`, which calls the lock's own method of that
/// name. Those that have a time limit say what they call, `NAME(self, LIMIT: TYPE) = CALL`.
macro_rules! method {
    (lock_api $guard:ty: locks $name:ident) => {
        #[inline(always)]
        #[track_caller]
        fn $name(&self) {
            Self::$name(self);
        }
    };
    (lock_api_05 $guard:ty: locks $name:ident) => {
        #[inline(always)]
        #[track_caller]
        fn $name(&self) -> $guard {
            Self::$name(self);
            <$guard>::new()
        }
    };

    (lock_api $guard:ty: tries $name:ident) => {
        #[inline]
        fn $name(&self) -> bool {
            Self::$name(self)
        }
    };
    (lock_api_05 $guard:ty: tries $name:ident) => {
        #[inline]
        fn $name(&self) -> Option<$guard> {
            Self::$name(self).then_some(<$guard>::new())
        }
    };

    (lock_api $guard:ty: tries_within $name:ident($self:ident, $limit:ident: $time:ty) = $locked:expr) => {
        fn $name(&$self, $limit: $time) -> bool {
            $locked
        }
    };
    (lock_api_05 $guard:ty: tries_within $name:ident($self:ident, $limit:ident: $time:ty) = $locked:expr) => {
        fn $name(&$self, $limit: $time) -> Option<$guard> {
            bool::then_some($locked, <$guard>::new())
        }
    };

    ($api:ident $guard:ty: unlocks $name:ident) => {
        method! { $api $guard: unlocks $name by $name }
    };
    (lock_api $guard:ty: unlocks $name:ident by $own:ident) => {
        #[inline(always)]
        unsafe fn $name(&self) {
            // SAFETY: the caller's promise.
            unsafe { Self::$own(self) };
        }
    };
    (lock_api_05 $guard:ty: unlocks $name:ident by $own:ident) => {
        #[inline(always)]
        unsafe fn $name(&self, _: $guard) {
            // SAFETY: the caller's promise.
            unsafe { Self::$own(self) };
        }
    };

    (lock_api $guard:ty: bumps $name:ident) => {
        #[inline]
        unsafe fn $name(&self) {
            // SAFETY: the caller's promise.
            unsafe { Self::$name(self) };
        }
    };
    (lock_api_05 $guard:ty: bumps $name:ident) => {
        #[inline]
        unsafe fn $name(&self, _: &mut $guard) {
            // SAFETY: the caller's promise.
            unsafe { Self::$name(self) };
        }
    };

    (lock_api $guard:ty: turns $name:ident) => {
        #[inline]
        #[track_caller]
        unsafe fn $name(&self) {
            // SAFETY: the caller's promise.
            unsafe { Self::$name(self) };
        }
    };
    (lock_api_05 $guard:ty: turns $name:ident) => {
        #[inline]
        #[track_caller]
        unsafe fn $name(&self, guard: $guard) -> $guard {
            // SAFETY: the caller's promise.
            unsafe { Self::$name(self) };
            guard
        }
    };

    (lock_api $guard:ty: tries_to_turn $name:ident($self:ident $(, $limit:ident: $time:ty)?) =
        $own:ident($($given:expr)?)) => {
        #[inline]
        unsafe fn $name(&$self $(, $limit: $time)?) -> bool {
            // SAFETY: the caller's promise.
            unsafe { Self::$own($self $(, $given)?) }
        }
    };
    (lock_api_05 $guard:ty: tries_to_turn $name:ident($self:ident $(, $limit:ident: $time:ty)?) =
        $own:ident($($given:expr)?)) => {
        #[inline]
        unsafe fn $name(&$self, guard: $guard $(, $limit: $time)?) -> Result<$guard, $guard> {
            // SAFETY: the caller's promise.
            let is_upgraded = unsafe { Self::$own($self $(, $given)?) };
            if is_upgraded { Ok(guard) } else { Err(guard) }
        }
    };
}
pub(crate) use method;
