//! A small evaluator of functions, for what the threads tests need: integers, memory accesses,
//! blocks and calls. The three instructions that wait and notify are the adapter's. `run` calls it.

use std::sync::Arc;

use leeward_wasm::{Outcome, Trap};
use wasmparser::{BlockType, Operator};

use crate::access::{Access, Action};
use crate::linear::Linear;
use crate::module::{Function, Module};
use crate::waits::Waits;

/// The reason why a function gave no result.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    Trap(String),
    /// The function has an instruction that this tool does not have.
    Unserved(String),
}

impl From<Trap> for End {
    fn from(trap: Trap) -> End {
        End::Trap(trap.to_string())
    }
}

/// A module with its memory.
pub struct Instance {
    pub module: Arc<Module>,
    pub memory: Option<Waits>,
}

/// A block that is open: where a branch to it goes on, with how many values on how high a stack.
struct Label {
    target: usize,
    is_loop: bool,
    height: usize,
    results: usize,
}

/// A function's call.
struct Frame<'a> {
    instance: &'a Instance,
    function: &'a Function,
    locals: Vec<u64>,
    stack: Vec<u64>,
    labels: Vec<Label>,
    next: usize,
}

impl Instance {
    pub fn call(&self, function: u32, arguments: &[u64]) -> Result<Vec<u64>, End> {
        let function = &self.module.functions[function as usize];
        let mut locals = arguments.to_vec();
        locals.resize(function.locals, 0);
        Frame { instance: self, function, locals, stack: Vec::new(), labels: Vec::new(), next: 0 }.run()
    }

    fn waits(&self) -> &Waits {
        self.memory.as_ref().expect("valid: there is a memory")
    }

    fn linear(&self) -> &Linear {
        self.waits().linear()
    }
}

impl Frame<'_> {
    fn run(mut self) -> Result<Vec<u64>, End> {
        while let Some(operator) = self.function.code.get(self.next) {
            let at = self.next;
            self.next += 1;
            if let Some(access) = self.function.accesses.get(&at) {
                self.access(access)?;
            } else if !self.control(operator, at)? && !self.waits(operator)? {
                self.compute(operator)?;
            }
        }
        let results = self.function.kind.results().len();
        Ok(self.stack.split_off(self.stack.len() - results))
    }

    fn pop(&mut self) -> u64 {
        self.stack.pop().expect("valid: a value")
    }

    fn pop32(&mut self) -> u32 {
        self.pop() as u32
    }

    /// Executes a block's begin or end, a branch or a call; returns false if it is none.
    fn control(&mut self, operator: &Operator<'_>, at: usize) -> Result<bool, End> {
        match operator {
            Operator::Nop | Operator::AtomicFence => {}
            Operator::Block { blockty } => self.open(at, *blockty, false),
            Operator::Loop { blockty } => self.open(at, *blockty, true),
            Operator::If { blockty } => {
                let holds = self.pop() != 0;
                self.open(at, *blockty, false);
                if !holds {
                    // An `if` without `else` ends at its `end`, which closes it.
                    self.next = self.function.otherwise.get(&at).map_or(self.function.end[&at], |at| at + 1);
                }
            }
            Operator::Else | Operator::Br { relative_depth: 0 } => self.branch(0),
            Operator::Br { relative_depth } => self.branch(*relative_depth),
            Operator::BrIf { relative_depth } => {
                if self.pop() != 0 {
                    self.branch(*relative_depth);
                }
            }
            Operator::Return => self.next = self.function.code.len(),
            Operator::End => _ = self.labels.pop(),
            Operator::Unreachable => return Err(End::Trap("unreachable".into())),
            Operator::Call { function_index } => {
                let callee = &self.instance.module.functions[*function_index as usize];
                let arguments = self.stack.split_off(self.stack.len() - callee.kind.params().len());
                let results = self.instance.call(*function_index, &arguments)?;
                self.stack.extend(results);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn open(&mut self, at: usize, kind: BlockType, is_loop: bool) {
        let end = self.function.end[&at];
        let results = usize::from(!is_loop && matches!(kind, BlockType::Type(_)));
        let target = if is_loop { at + 1 } else { end + 1 };
        self.labels.push(Label { target, is_loop, height: self.stack.len(), results });
    }

    fn branch(&mut self, depth: u32) {
        let Some(index) = self.labels.len().checked_sub(1 + depth as usize) else {
            self.next = self.function.code.len();
            return;
        };
        let label = &self.labels[index];
        let values = self.stack.split_off(self.stack.len() - label.results);
        self.stack.truncate(label.height);
        self.stack.extend(values);
        self.next = label.target;
        self.labels.truncate(if label.is_loop { index + 1 } else { index });
    }

    /// Executes one of the three instructions that the adapter serves; returns false if it is none.
    fn waits(&mut self, operator: &Operator<'_>) -> Result<bool, End> {
        let waits = self.instance.memory.as_ref();
        let answer = match operator {
            Operator::MemoryAtomicWait32 { memarg } => {
                let (timeout, expected, base) = (self.pop() as i64, self.pop32(), self.pop());
                waits.expect("valid").wait32(base, memarg.offset, expected, timeout).map(|end: Outcome| end as u32)?
            }
            Operator::MemoryAtomicWait64 { memarg } => {
                let (timeout, expected, base) = (self.pop() as i64, self.pop(), self.pop());
                waits.expect("valid").wait64(base, memarg.offset, expected, timeout).map(|end: Outcome| end as u32)?
            }
            Operator::MemoryAtomicNotify { memarg } => {
                let (count, base) = (self.pop32(), self.pop());
                waits.expect("valid").notify(base, memarg.offset, count)?
            }
            _ => return Ok(false),
        };
        self.stack.push(answer.into());
        Ok(true)
    }

    fn access(&mut self, access: &Access) -> Result<(), End> {
        let operands = match access.action {
            Action::Load => 0,
            Action::Store | Action::Change(_) => 1,
            Action::CompareExchange => 2,
        };
        let operands = self.stack.split_off(self.stack.len() - operands);
        let base = self.pop();
        let (linear, bytes) = (self.instance.linear(), access.bytes);
        let address = linear.address(base, access.offset, bytes, access.atomic)?;
        let value = match access.action {
            Action::Load => linear.load(address, bytes),
            Action::Store => {
                linear.store(address, bytes, operands[0]);
                return Ok(());
            }
            Action::Change(change) => linear.change(address, bytes, |old| change.apply(old, operands[0])),
            Action::CompareExchange => {
                linear.change(address, bytes, |old| if old == operands[0] { operands[1] } else { old })
            }
        };
        self.stack.push(value);
        Ok(())
    }

    /// Executes an instruction on values. Values of 32 bits are kept without a sign.
    fn compute(&mut self, operator: &Operator<'_>) -> Result<(), End> {
        let value = match operator {
            Operator::I32Const { value } => u64::from(*value as u32),
            Operator::I64Const { value } => *value as u64,
            Operator::LocalGet { local_index } => self.locals[*local_index as usize],
            Operator::LocalSet { local_index } => {
                self.locals[*local_index as usize] = self.pop();
                return Ok(());
            }
            Operator::LocalTee { local_index } => {
                let value = self.pop();
                self.locals[*local_index as usize] = value;
                value
            }
            Operator::Drop => {
                self.pop();
                return Ok(());
            }
            Operator::MemorySize { .. } => self.instance.linear().pages(),
            Operator::MemoryGrow { .. } => {
                let by = self.pop();
                u64::from(self.instance.linear().grow(by) as u32)
            }
            Operator::I32Eqz | Operator::I64Eqz => u64::from(self.pop() == 0),
            _ => {
                let (right, left) = (self.pop(), self.pop());
                binary(operator, left, right)?
            }
        };
        self.stack.push(value);
        Ok(())
    }
}

/// Executes an instruction that has two operands.
fn binary(operator: &Operator<'_>, left: u64, right: u64) -> Result<u64, End> {
    Ok(match operator {
        Operator::I32Eq | Operator::I64Eq => u64::from(left == right),
        Operator::I32Ne | Operator::I64Ne => u64::from(left != right),
        Operator::I32LtU | Operator::I64LtU => u64::from(left < right),
        Operator::I32GeU | Operator::I64GeU => u64::from(left >= right),
        Operator::I32And | Operator::I64And => left & right,
        Operator::I32Or | Operator::I64Or => left | right,
        Operator::I32Add => u64::from((left as u32).wrapping_add(right as u32)),
        Operator::I32Sub => u64::from((left as u32).wrapping_sub(right as u32)),
        Operator::I64Add => left.wrapping_add(right),
        other => return Err(End::Unserved(format!("{other:?}"))),
    })
}
