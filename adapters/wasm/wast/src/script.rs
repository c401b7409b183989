//! A test file as steps that own all they need, so that threads can run them. `main` makes them of
//! a file's text; `run` runs them.

use std::sync::Arc;

use wast::core::{WastArgCore, WastRetCore};
use wast::parser::{self, ParseBuffer};
use wast::token::{Id, Span};
use wast::{QuoteWat, WastArg, WastDirective, WastExecute, WastInvoke, WastRet, Wat};

use crate::module::Module;

/// A call of an export.
#[derive(Debug)]
pub struct Invoke {
    pub module: Option<String>,
    pub name: String,
    pub arguments: Vec<u64>,
}

/// A directive of a file.
#[derive(Debug)]
pub enum Step {
    Module {
        name: Option<String>,
        module: Arc<Module>,
    },
    Register {
        name: String,
        module: Option<String>,
    },
    Invoke(Invoke),
    /// Each result is one of several values.
    Returns(Invoke, Vec<Vec<u64>>),
    Traps(Invoke, String),
    Unlinkable(Arc<Module>, String),
    Thread {
        name: String,
        shared: Option<String>,
        steps: Vec<Line>,
    },
    Wait {
        name: String,
    },
    /// An assertion about the text or the validity of a module, which is the parser's business.
    Parsers,
    /// What this tool does not do.
    Unserved(String),
}

/// A step and its line in the file.
#[derive(Debug)]
pub struct Line(pub usize, pub Step);

/// Parses a file.
pub fn parse(text: &str) -> Result<Vec<Line>, String> {
    let mut lexer = wast::lexer::Lexer::new(text);
    lexer.allow_confusing_unicode(true);
    let buffer = ParseBuffer::new_with_lexer(lexer).map_err(|error| error.to_string())?;
    let wast: wast::Wast<'_> = parser::parse(&buffer).map_err(|error| error.to_string())?;
    Ok(steps(wast.directives, text))
}

fn steps(directives: Vec<WastDirective<'_>>, text: &str) -> Vec<Line> {
    let line = |span: Span| span.linecol_in(text).0 + 1;
    directives.into_iter().map(|directive| Line(line(directive.span()), step(directive, text))).collect()
}

fn step(directive: WastDirective<'_>, text: &str) -> Step {
    let served = match directive {
        WastDirective::Module(mut module) => {
            let name = owned(module.name());
            decode(&mut module).map(|module| Step::Module { name, module })
        }
        WastDirective::Register { name, module, .. } => Ok(Step::Register { name: name.into(), module: owned(module) }),
        WastDirective::Invoke(call) => invoke(&call).map(Step::Invoke),
        WastDirective::AssertReturn { exec: WastExecute::Invoke(call), results, .. } => {
            let results = results.iter().map(result).collect::<Result<_, _>>();
            invoke(&call).and_then(|call| Ok(Step::Returns(call, results?)))
        }
        WastDirective::AssertTrap { exec: WastExecute::Invoke(call), message, .. } => {
            invoke(&call).map(|call| Step::Traps(call, message.into()))
        }
        WastDirective::AssertUnlinkable { module, message, .. } => {
            decode(&mut QuoteWat::Wat(module)).map(|module| Step::Unlinkable(module, message.into()))
        }
        WastDirective::AssertInvalid { .. } | WastDirective::AssertMalformed { .. } => Ok(Step::Parsers),
        WastDirective::Thread(thread) => {
            let (name, shared) = (thread.name.name().into(), owned(thread.shared_module));
            Ok(Step::Thread { name, shared, steps: steps(thread.directives, text) })
        }
        WastDirective::Wait { thread, .. } => Ok(Step::Wait { name: thread.name().into() }),
        other => Err(format!("{other:?}")),
    };
    served.unwrap_or_else(Step::Unserved)
}

fn owned(name: Option<Id<'_>>) -> Option<String> {
    name.map(|name| name.name().into())
}

fn decode(module: &mut QuoteWat<'_>) -> Result<Arc<Module>, String> {
    if let QuoteWat::Wat(Wat::Component(_)) = module {
        return Err("a component".into());
    }
    Module::new(module.encode().map_err(|error| error.to_string())?).map(Arc::new)
}

fn invoke(call: &WastInvoke<'_>) -> Result<Invoke, String> {
    let argument = |argument: &WastArg<'_>| match argument {
        WastArg::Core(WastArgCore::I32(value)) => Ok(u64::from(*value as u32)),
        WastArg::Core(WastArgCore::I64(value)) => Ok(*value as u64),
        other => Err(format!("argument {other:?}")),
    };
    let arguments = call.args.iter().map(argument).collect::<Result<_, _>>()?;
    Ok(Invoke { module: owned(call.module), name: call.name.into(), arguments })
}

fn result(result: &WastRet<'_>) -> Result<Vec<u64>, String> {
    match result {
        WastRet::Core(result) => core_result(result),
        #[allow(unreachable_patterns, reason = "components are another feature of the parser's")]
        other => Err(format!("result {other:?}")),
    }
}

fn core_result(result: &WastRetCore<'_>) -> Result<Vec<u64>, String> {
    match result {
        WastRetCore::I32(value) => Ok(vec![u64::from(*value as u32)]),
        WastRetCore::I64(value) => Ok(vec![*value as u64]),
        WastRetCore::Either(results) => {
            results.iter().map(core_result).collect::<Result<Vec<_>, _>>().map(|all| all.concat())
        }
        other => Err(format!("result {other:?}")),
    }
}
