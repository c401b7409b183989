//! Runs the steps of a file: links modules, calls exports, starts and joins threads, and counts
//! what held. `main` prints the counts.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};

use leeward_engine::Config;
use leeward_wasm::{Runtime, Threads};
use wasmparser::{ExternalKind, MemoryType};

use crate::evaluate::{End, Instance};
use crate::linear::Linear;
use crate::module::Module;
use crate::script::{Invoke, Line, Step};
use crate::waits::{Waits, Way};

/// What became of a file's steps.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Assertions that held.
    pub held: usize,
    /// Assertions about a module's text or validity, which were left out.
    pub left_out: usize,
    /// What failed, or is not served: by line.
    pub failed: Vec<String>,
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.held += other.held;
        self.left_out += other.left_out;
        self.failed.extend(other.failed);
    }
}

/// The instances that a thread of a file knows.
pub struct World<'a> {
    runtime: &'a Runtime<Arc<Linear>, Threads>,
    way: Way,
    named: HashMap<String, Arc<Instance>>,
    registered: HashMap<String, Arc<Instance>>,
    last: Option<Arc<Instance>>,
    counts: Counts,
}

/// Runs a file, whose waits are made in one way.
pub fn run(steps: &[Line], way: Way) -> Counts {
    let runtime = Runtime::new(Config::small(0x5eed), Threads::default()).expect("memory for a table");
    World::new(&runtime, way).run(steps)
}

impl<'a> World<'a> {
    fn new(runtime: &'a Runtime<Arc<Linear>, Threads>, way: Way) -> World<'a> {
        let (named, registered) = (HashMap::new(), HashMap::new());
        World { runtime, way, named, registered, last: None, counts: Counts::default() }
    }

    fn run(mut self, steps: &[Line]) -> Counts {
        thread::scope(|scope| {
            let mut threads: HashMap<&str, ScopedJoinHandle<'_, Counts>> = HashMap::new();
            for Line(line, step) in steps {
                let done = match step {
                    Step::Thread { name, shared, steps } => {
                        let mut world = World::new(self.runtime, self.way);
                        if let Some(shared) = shared {
                            world.named.insert(shared.clone(), self.named[shared].clone());
                        }
                        threads.insert(name, scope.spawn(move || world.run(steps)));
                        Ok(())
                    }
                    Step::Wait { name } => {
                        let thread = threads.remove(name.as_str()).expect("a thread of that name");
                        self.counts.add(thread.join().expect("no panic"));
                        Ok(())
                    }
                    step => self.step(step),
                };
                if let Err(error) = done {
                    self.counts.failed.push(format!("line {line}: {error}"));
                }
            }
        });
        self.counts
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Module { name, module } => {
                let instance = Arc::new(self.link(module)?);
                self.named.extend(name.clone().map(|name| (name, instance.clone())));
                self.last = Some(instance);
                return Ok(());
            }
            Step::Register { name, module } => {
                let instance = self.instance(module.as_deref())?.clone();
                self.registered.insert(name.clone(), instance);
                return Ok(());
            }
            Step::Invoke(call) => return self.invoke(call).map(drop).map_err(|end| format!("{end:?}")),
            Step::Returns(call, expected) => {
                let results = self.invoke(call).map_err(|end| format!("{end:?}"))?;
                let same = results.len() == expected.len()
                    && results.iter().zip(expected).all(|(result, any)| any.contains(result));
                if !same {
                    return Err(format!("{}: {results:?} and not {expected:?}", call.name));
                }
            }
            Step::Traps(call, message) => match self.invoke(call) {
                Err(End::Trap(trap)) if &trap == message => {}
                end => return Err(format!("{}: {end:?} and not {message}", call.name)),
            },
            Step::Unlinkable(module, message) => match self.link(module) {
                Err(error) if &error == message => {}
                Err(error) => return Err(format!("{error} and not {message}")),
                Ok(_) => return Err(format!("linked, and not {message}")),
            },
            Step::Parsers => {
                self.counts.left_out += 1;
                return Ok(());
            }
            Step::Unserved(what) => return Err(format!("not served: {what}")),
            Step::Thread { .. } | Step::Wait { .. } => unreachable!("`run` does these"),
        }
        self.counts.held += 1;
        Ok(())
    }

    fn instance(&self, name: Option<&str>) -> Result<&Arc<Instance>, String> {
        let found = name.map_or(self.last.as_ref(), |name| self.named.get(name));
        found.ok_or_else(|| format!("no instance {name:?}"))
    }

    fn invoke(&self, call: &Invoke) -> Result<Vec<u64>, End> {
        let instance = self.instance(call.module.as_deref()).map_err(End::Unserved)?;
        match instance.module.exports.get(&call.name) {
            Some((ExternalKind::Func, index)) => instance.call(*index, &call.arguments),
            other => Err(End::Unserved(format!("export {}: {other:?}", call.name))),
        }
    }

    fn link(&self, module: &Arc<Module>) -> Result<Instance, String> {
        let memory = match (&module.import, &module.memory) {
            (Some((from, name, kind)), _) => {
                let from = self.registered.get(from).filter(|from| from.module.exports.contains_key(name));
                let memory = from.and_then(|from| from.memory.clone()).ok_or("unknown import")?;
                Some(Some(memory).filter(|memory| fits(memory.linear(), kind)).ok_or("incompatible import type")?)
            }
            (None, Some(kind)) => {
                let linear =
                    Linear::new(kind.initial, kind.maximum, kind.shared).ok_or("a memory too large for this tool")?;
                Some(Waits::new(self.runtime, linear, self.way))
            }
            (None, None) => None,
        };
        Ok(Instance { module: module.clone(), memory })
    }
}

/// Returns true if a memory may be imported as one of that type.
fn fits(linear: &Linear, kind: &MemoryType) -> bool {
    let maximum = kind.maximum.is_none_or(|most| linear.maximum.is_some_and(|maximum| maximum <= most));
    leeward_wasm::LinearMemory::is_shared(linear) == kind.shared && linear.pages() >= kind.initial && maximum
}
