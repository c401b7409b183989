//! The handler of SIGSYS: the kernel calls it for each system call that the filter traps, with the
//! program's registers. It serves the call, and puts the answer where the kernel would.

use core::ffi::{c_int, c_void};

use crate::counts::add;
use crate::futexes::{Call, End};
use crate::state::{Place, State, counts, own};
use crate::{exits, futexes, native, regions, signals};

/// The code of a signal that a filter sends.
const BY_FILTER: c_int = 1;
/// The length of the instruction that makes a system call.
const INSTRUCTION: i64 = 2;

/// The places of the arguments among the registers.
const ARGUMENTS: [c_int; 6] = [libc::REG_RDI, libc::REG_RSI, libc::REG_RDX, libc::REG_R10, libc::REG_R8, libc::REG_R9];

/// Serves a system call that was trapped. All signals that can be put off are blocked.
pub extern "C" fn trapped(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's.
    if unsafe { (*info).si_code } != BY_FILTER {
        return;
    }
    let at = signals::mask_after(context);
    // SAFETY: the kernel's set has 64 bits.
    let mut mask = unsafe { at.read() };
    // SAFETY: the kernel's context of a handler, of which this is the only user.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let registers = &mut context.uc_mcontext.gregs;
    let number = registers[libc::REG_RAX as usize];
    let arguments = ARGUMENTS.map(|place| registers[place as usize] as u64);
    let before = own(|own| own.place.get());
    let end = match (before, number) {
        // What the thread masks is in force again when it returns from here, wherever it is.
        (_, libc::SYS_rt_sigprocmask) => End::Answer(signals::change_mask(&mut mask, arguments)),
        (Place::Program, _) => {
            own(|own| own.go(Place::Trap));
            let end = serve(Call { number, arguments }, mask);
            own(|own| own.go(Place::Program));
            end
        }
        _ => End::Answer(serve_own(Call { number, arguments })),
    };
    match end {
        End::Answer(answer) => registers[libc::REG_RAX as usize] = answer,
        // The number is still in its register.
        End::Restart => registers[libc::REG_RIP as usize] -= INSTRUCTION,
    }
    // SAFETY: as above.
    unsafe { at.write(mask) };
}

/// Serves a call of the program's.
fn serve(call: Call, mask: u64) -> End {
    State::get();
    let Call { number, arguments } = call;
    let counted = |place: usize, answer: i64| {
        add(&counts().calls[place][if answer < 0 { 6 } else { 1 }], 1);
        End::Answer(answer)
    };
    match number {
        libc::SYS_exit => exits::exit(arguments[0]),
        libc::SYS_set_robust_list => counted(19, exits::set_list(arguments)),
        libc::SYS_get_robust_list => get_list(call),
        libc::SYS_rt_sigaction => End::Answer(signals::change_handler(arguments)),
        libc::SYS_mmap | libc::SYS_mremap => End::Answer(map(call)),
        _ => futexes::serve(call, mask),
    }
}

/// Serves a call that the trap itself made, by way of the C library.
fn serve_own(call: Call) -> i64 {
    match call.number {
        libc::SYS_futex => futexes::serve_own(call),
        // SAFETY: the C library's own call.
        number => unsafe { native::call(number, call.arguments.map(|argument| argument as usize)) },
    }
}

/// Serves `get_robust_list`: the engine for the calling thread, the kernel for others, as it knows
/// those of all processes.
fn get_list(call: Call) -> End {
    let [thread, head, length, ..] = call.arguments;
    let can_be_written = [head, length]
        .iter()
        .all(|at| at % 8 == 0 && native::is_readable(*at as usize) && native::is_writable(*at as usize));
    let calls = &counts().calls[20];
    let is_own = thread == 0 || thread as usize == native::thread();
    if !is_own || !can_be_written {
        add(&calls[0], 1);
        return End::Answer(serve_own(call));
    }
    add(&calls[1], 1);
    let State { engine, process } = State::get();
    let answer = engine.robust_syscall(process, &crate::state::NUMBERS, call.number as u64, call.arguments);
    End::Answer(answer.unwrap_or(-i64::from(libc::ENOSYS)))
}

/// Serves `mmap` and `mremap`, and notes shared memory.
fn map(call: Call) -> i64 {
    let [old, len, new_len, ..] = call.arguments.map(|argument| argument as usize);
    let answer = serve_own(call);
    if answer > 0 {
        match call.number {
            libc::SYS_mmap => regions::add(answer as usize, len),
            _ if regions::is_shared(old) => regions::add(answer as usize, new_len),
            _ => {}
        }
    }
    answer
}
