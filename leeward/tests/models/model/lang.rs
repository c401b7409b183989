//! The language that the modelled programs are written in: micro-steps, each at most one access
//! to memory, and an assembler with forward labels. The algorithm's files write programs in it,
//! `machine` runs them.

use std::fmt;

/// A register of a thread. Registers are private: using one is no schedule point.
pub type Reg = u8;
/// A word of shared memory (see `layout`).
pub type Loc = u8;
/// An index into `Program::ops`.
pub type Pc = u16;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    Relaxed,
    Acquire,
    Release,
}
pub use Order::{Acquire, Relaxed, Release};

/// An operand of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Src {
    Imm(u8),
    Reg(Reg),
    /// The sum of a register and a constant: `started + 1`.
    Plus(Reg, u8),
}
pub use Src::{Imm, Plus};

/// Where an access goes: a fixed word, or a row of `len` words indexed by a register (an address
/// dependency: the access waits for that register).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At {
    pub base: Loc,
    pub len: u8,
    pub index: Option<Reg>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cond {
    Is,
    IsNot,
    AtLeast,
}
pub use Cond::{AtLeast, Is, IsNot};

impl Cond {
    pub fn holds(self, a: u8, b: u8) -> bool {
        match self {
            Is => a == b,
            IsNot => a != b,
            AtLeast => a >= b,
        }
    }
}

/// One micro-step of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    Load {
        dst: Reg,
        at: At,
        order: Order,
    },
    Store {
        at: At,
        val: Src,
        order: Order,
    },
    /// Writes `val`, gives the old value.
    Swap {
        dst: Reg,
        at: At,
        val: Src,
        order: Order,
    },
    /// Adds (wrapping, so 255 takes one away), gives the old value.
    Add {
        dst: Reg,
        at: At,
        n: u8,
        order: Order,
    },
    /// Compare and swap: gives 1 where it succeeded, else 0.
    Cas {
        dst: Reg,
        at: At,
        old: Src,
        new: Src,
        order: Order,
    },
    /// A blocking lock: waits until the word is 0 and makes it 1, acquire.
    Lock {
        at: At,
    },
    /// A full fence, `fence(SeqCst)`.
    Fence,
    /// Orders what the compiler emits and nothing at run time. A program here *is* what the
    /// compiler emitted, so this is only a comment to the reader.
    CompilerFence,
    /// A full fence here, one in every other thread where the schedule has brought it, and one
    /// here.
    Heavy,
    /// Futex wait: sleeps if the word holds `val`, else goes on at once.
    Wait {
        at: At,
        val: Src,
    },
    /// Futex wake: every sleeper on the word, or any one of them.
    Wake {
        at: At,
        all: bool,
    },
    /// Waits until that thread sleeps or is finished. It stands for a thread that the scheduler
    /// runs only while a more urgent one sleeps.
    AwaitAsleep {
        thread: u8,
    },
    Set {
        dst: Reg,
        src: Src,
    },
    Branch {
        a: Src,
        cond: Cond,
        b: Src,
        to: Pc,
    },
    Jump {
        to: Pc,
    },
    /// The property: it must hold on every execution. It is no access and orders nothing.
    Check {
        a: Src,
        cond: Cond,
        b: Src,
        what: &'static str,
    },
    /// Ends a signal handler.
    SigReturn,
    End,
}

/// A place in a program that may not be known yet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Label(usize);

/// A thread's program.
#[derive(Clone, Default)]
pub struct Program {
    pub name: String,
    pub ops: Vec<Op>,
    /// Where a signal handler starts, for depth 1 and 2 (each has its own registers).
    pub handlers: Vec<Pc>,
    /// How many signals may arrive while the program runs.
    pub signals: u8,
    /// Words that only this thread touches: their accesses are no schedule points.
    pub private: Vec<Loc>,
    /// Words that only this thread writes: its own loads of them are no schedule points.
    pub owned: Vec<Loc>,
    /// The registers that may still be read from each instruction on, as bits.
    pub live: Vec<u16>,
}

/// Writes a program.
#[derive(Default)]
pub struct Asm {
    pub program: Program,
    labels: Vec<Option<Pc>>,
}

impl Asm {
    pub fn new(name: &str) -> Self {
        Self { program: Program { name: name.to_string(), ..Program::default() }, labels: Vec::new() }
    }

    pub fn here(&self) -> Pc {
        Pc::try_from(self.program.ops.len()).expect("a short program")
    }

    pub fn op(&mut self, op: Op) {
        self.program.ops.push(op);
    }

    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    pub fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.here());
    }

    /// Returns a label at this very place (for loops).
    pub fn mark(&mut self) -> Label {
        let label = self.label();
        self.place(label);
        label
    }

    pub fn load(&mut self, dst: Reg, at: At, order: Order) {
        self.op(Op::Load { dst, at, order });
    }

    pub fn store(&mut self, at: At, val: Src, order: Order) {
        self.op(Op::Store { at, val, order });
    }

    pub fn set(&mut self, dst: Reg, src: Src) {
        self.op(Op::Set { dst, src });
    }

    pub fn branch(&mut self, a: Reg, cond: Cond, b: Src, to: Label) {
        let to = Pc::try_from(to.0).expect("few labels");
        self.op(Op::Branch { a: Src::Reg(a), cond, b, to });
    }

    pub fn jump(&mut self, to: Label) {
        let to = Pc::try_from(to.0).expect("few labels");
        self.op(Op::Jump { to });
    }

    pub fn check(&mut self, a: Reg, cond: Cond, b: Src, what: &'static str) {
        self.op(Op::Check { a: Src::Reg(a), cond, b, what });
    }

    /// Puts addresses for labels (until here a jump holds its label's number).
    pub fn finish(mut self) -> Program {
        self.op(Op::End);
        for op in &mut self.program.ops {
            if let Op::Branch { to, .. } | Op::Jump { to } = op {
                *to = self.labels[usize::from(*to)].expect("a label was never placed");
            }
        }
        self.program.live = liveness(&self.program.ops);
        self.program
    }
}

fn bit(src: Src) -> u16 {
    match src {
        Imm(_) => 0,
        Src::Reg(r) | Plus(r, _) => 1 << r,
    }
}

fn index(at: At) -> u16 {
    at.index.map_or(0, |r| 1 << r)
}

/// Returns the registers that an instruction reads, and the one that it writes.
fn uses(op: Op) -> (u16, u16) {
    match op {
        Op::Load { dst, at, .. } | Op::Add { dst, at, .. } => (index(at), 1 << dst),
        Op::Store { at, val, .. } | Op::Wait { at, val } => (index(at) | bit(val), 0),
        Op::Swap { dst, at, val, .. } => (index(at) | bit(val), 1 << dst),
        Op::Cas { dst, at, old, new, .. } => (index(at) | bit(old) | bit(new), 1 << dst),
        Op::Lock { at } | Op::Wake { at, .. } => (index(at), 0),
        Op::Set { dst, src } => (bit(src), 1 << dst),
        Op::Branch { a, b, .. } | Op::Check { a, b, .. } => (bit(a) | bit(b), 0),
        _ => (0, 0),
    }
}

/// Computes the live registers by backward data flow to a fixed point. A register that is not read
/// again is cleared, so that states which differ only there are one.
fn liveness(ops: &[Op]) -> Vec<u16> {
    let mut live = vec![0u16; ops.len() + 1];
    loop {
        let before = live.clone();
        for (pc, &op) in ops.iter().enumerate().rev() {
            let after = match op {
                Op::Jump { to } => live[usize::from(to)],
                Op::Branch { to, .. } => live[pc + 1] | live[usize::from(to)],
                Op::End | Op::SigReturn => 0,
                _ => live[pc + 1],
            };
            let (read, written) = uses(op);
            live[pc] = read | (after & !written);
        }
        if live == before {
            return live;
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Relaxed => "",
            Acquire => " acq",
            Release => " rel",
        })
    }
}
