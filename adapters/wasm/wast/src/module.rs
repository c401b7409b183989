//! A module, decoded: of its parts those that the threads tests use. `script` makes it of bytes;
//! `run` links it; `evaluate` runs its functions.

use std::collections::HashMap;

use crate::access::Access;
use wasmparser::{ExternalKind, FuncType, MemoryType, Operator, Parser, Payload, TypeRef, ValType, Validator};

/// A function's body: its locals, its instructions, and where its blocks end.
#[derive(Debug)]
pub struct Function {
    pub kind: FuncType,
    pub locals: usize,
    pub code: Vec<Operator<'static>>,
    /// The `end` of the block, loop or if at an index.
    pub end: HashMap<usize, usize>,
    /// The `else` of the `if` at an index.
    pub otherwise: HashMap<usize, usize>,
    /// The loads, stores and atomic accesses, by index.
    pub accesses: HashMap<usize, Access>,
}

#[derive(Debug, Default)]
pub struct Module {
    pub functions: Vec<Function>,
    /// The memory that the module makes.
    pub memory: Option<MemoryType>,
    /// The memory that it imports, from a module by a name.
    pub import: Option<(String, String, MemoryType)>,
    pub exports: HashMap<String, (ExternalKind, u32)>,
}

impl Module {
    /// Decodes a module that is valid and uses nothing else than what this tool serves; the error
    /// says what it uses.
    pub fn new(bytes: Vec<u8>) -> Result<Module, String> {
        let bytes: &'static [u8] = bytes.leak();
        Validator::new().validate_all(bytes).map_err(|error| error.to_string())?;
        let (mut module, mut types, mut kinds) = (Module::default(), Vec::new(), Vec::new());
        for payload in Parser::new(0).parse_all(bytes) {
            let payload = payload.map_err(text)?;
            module.take(payload, &mut types, &mut kinds).map_err(|error| format!("not served: {error}"))?;
        }
        Ok(module)
    }

    fn take(
        &mut self,
        payload: Payload<'static>,
        types: &mut Vec<FuncType>,
        kinds: &mut Vec<u32>,
    ) -> Result<(), String> {
        match payload {
            Payload::TypeSection(section) => {
                for kind in section.into_iter_err_on_gc_types() {
                    types.push(kind.map_err(text)?);
                }
            }
            Payload::ImportSection(section) => {
                for import in section {
                    let import = import.map_err(text)?;
                    let TypeRef::Memory(memory) = import.ty else { return Err(format!("import of {:?}", import.ty)) };
                    self.import = Some((import.module.into(), import.name.into(), memory));
                }
            }
            Payload::FunctionSection(section) => {
                for kind in section {
                    kinds.push(kind.map_err(text)?);
                }
            }
            Payload::MemorySection(section) => {
                for memory in section {
                    self.memory = Some(memory.map_err(text)?);
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export.map_err(text)?;
                    self.exports.insert(export.name.into(), (export.kind, export.index));
                }
            }
            Payload::CodeSectionEntry(body) => {
                let kind = types[kinds[self.functions.len()] as usize].clone();
                self.functions.push(function(kind, &body).map_err(text)?);
            }
            Payload::Version { .. }
            | Payload::CodeSectionStart { .. }
            | Payload::CustomSection(_)
            | Payload::End(_) => {}
            other => return Err(format!("{other:?}")),
        }
        Ok(())
    }
}

/// Decodes a function, and finds the ends of its blocks.
fn function(kind: FuncType, body: &wasmparser::FunctionBody<'static>) -> wasmparser::Result<Function> {
    let mut locals = kind.params().len();
    for local in body.get_locals_reader()? {
        let (count, _): (u32, ValType) = local?;
        locals += count as usize;
    }
    let code = body.get_operators_reader()?.into_iter().collect::<wasmparser::Result<Vec<_>>>()?;
    let (mut open, mut end, mut otherwise) = (Vec::new(), HashMap::new(), HashMap::new());
    for (index, operator) in code.iter().enumerate() {
        match operator {
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => open.push(index),
            Operator::Else => _ = otherwise.insert(*open.last().expect("valid"), index),
            // The function's own end has no beginning.
            Operator::End => _ = open.pop().map(|begin| end.insert(begin, index)),
            _ => {}
        }
    }
    let accesses =
        code.iter().enumerate().filter_map(|(index, operator)| Some((index, Access::new(operator)?))).collect();
    Ok(Function { kind, locals, code, end, otherwise, accesses })
}

fn text(error: impl ToString) -> String {
    error.to_string()
}
