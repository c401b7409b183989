//! Where a short loop lies in its cache lines. Also used by the separate crate in `kovan/`.

/// Each loop over something that takes nanoseconds is there so many times, at different places of a cache line. A loop of a few
/// instructions takes up to three times as long at an unlucky place (some processors must not cache a jump across a 32-byte
/// line), and what place it gets is otherwise the linker's whim: this way nobody is lucky or unlucky as a whole.
pub const PLACES: u32 = 4;

/// Puts what follows 16 * `PLACE` bytes into a cache line.
#[inline(always)]
pub fn begin_at<const PLACE: u32>() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: no-operations.
    unsafe {
        std::arch::asm!(".p2align 6", ".rept 16 * {place}", "nop", ".endr", place = const PLACE, options(nomem, nostack, preserves_flags));
    }
}

/// The time of one step of a loop, in nanoseconds: over all places of the loop, and at the best one.
#[allow(dead_code)] // kovan/ is only measured
pub struct Times {
    pub mean: f64,
    pub cheapest: f64,
}

/// Takes about `n` steps, as many at each place; `time` gives the time of so many at a place.
#[allow(dead_code)]
pub fn nanoseconds(n: u64, time: impl Fn(u64, u32) -> std::time::Duration) -> Times {
    let each = n / u64::from(PLACES);
    let times: Vec<f64> = (0..PLACES).map(|place| time(each, place).as_nanos() as f64 / each as f64).collect();
    let cheapest = times.iter().copied().fold(f64::INFINITY, f64::min);
    Times { mean: times.iter().sum::<f64>() / times.len() as f64, cheapest }
}
