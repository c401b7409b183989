//! The alignment of short loops in their cache lines. The crate in `kovan/` uses this file too.

/// The number of alignments at which each short loop is compiled and measured.
///
/// A loop of a few instructions takes up to three times as long at an unlucky alignment: some
/// processors must not cache a jump across a 32-byte line. The linker chooses the alignment of a
/// single copy, so every entrant is measured at all of them, and none is lucky or unlucky as a
/// whole.
pub const ALIGNMENTS: u32 = 4;

/// Puts the code that follows 16 * `ALIGNMENT` bytes into a cache line.
#[inline(always)]
pub fn align<const ALIGNMENT: u32>() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: no-operations.
    unsafe {
        std::arch::asm!(".p2align 6", ".rept 16 * {alignment}", "nop", ".endr", alignment = const ALIGNMENT,
            options(nomem, nostack, preserves_flags));
    }
}

/// The time of one step of a loop, in nanoseconds: the mean over all alignments, and the least of
/// them.
#[allow(dead_code)] // Unused in kovan/, which is only measured.
pub struct Times {
    pub mean: f64,
    pub cheapest: f64,
}

/// Measures about `n` steps, divided evenly among the alignments. `time` gives the time of a number
/// of steps at an alignment.
#[allow(dead_code)]
pub fn nanoseconds(n: u64, time: impl Fn(u64, u32) -> std::time::Duration) -> Times {
    let each = n / u64::from(ALIGNMENTS);
    let times: Vec<f64> =
        (0..ALIGNMENTS).map(|alignment| time(each, alignment).as_nanos() as f64 / each as f64).collect();
    let cheapest = times.iter().copied().fold(f64::INFINITY, f64::min);
    Times { mean: times.iter().sum::<f64>() / times.len() as f64, cheapest }
}
