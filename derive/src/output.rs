//! What is written for a struct: the implementation, and what must hold for it to be sound.

use proc_macro::{Delimiter, Group, Span, TokenStream, TokenTree};

use crate::item::{Error, Field, Item};

const TRAIT: &str = "::leeward::shared::AnyBytes";

/// Parses Rust that stands in this file.
fn rust(source: &str) -> TokenStream {
    match source.parse() {
        Ok(tokens) => tokens,
        Err(error) => panic!("leeward: {source}: {error}"),
    }
}

/// Lets the compiler's messages about tokens point to `span`.
fn at(span: Span, tokens: TokenStream) -> TokenStream {
    let moved = |mut token: TokenTree| {
        token.set_span(span);
        token
    };
    tokens.into_iter().map(moved).collect()
}

/// Returns an error of the compiler.
pub fn compile_error(error: &Error) -> TokenStream {
    at(error.span, rust(&format!("::core::compile_error! {{ {:?} }}", error.message)))
}

/// Writes the implementation.
///
/// Each type of a field is asked to be `AnyBytes`, in the where clause, so that a generic struct is
/// `AnyBytes` where its fields are. What follows the implementation fails to compile if the struct
/// has other fields than were read, since another macro may change it afterwards, or implements
/// `Drop`.
pub fn implementation(item: &Item) -> TokenStream {
    let mut output = rust("#[automatically_derived] #[allow(private_bounds)] unsafe impl");
    output.extend(declarations(item));
    output.extend(rust(&format!("{TRAIT} for")));
    output.extend(name(item));
    output.extend(rust("where"));
    output.extend(item.predicates.iter().cloned());
    item.fields.iter().for_each(|field| output.extend(bound(field)));
    output.extend(rust("{} #[allow(dead_code, drop_bounds, unused_variables)] const _: () ="));
    output.extend(braces(checks(item)));
    output.extend(rust(";"));
    output
}

/// Returns the field's bound, with messages at the field's type.
fn bound(field: &Field) -> TokenStream {
    let mut bound: TokenStream = field.of_type.iter().cloned().collect();
    let span = field.of_type.first().map_or_else(Span::call_site, TokenTree::span);
    bound.extend(at(Span::call_site().located_at(span), rust(&format!(": {TRAIT},"))));
    bound
}

/// Returns what must compile beside the implementation.
fn checks(item: &Item) -> TokenStream {
    // Two implementations for a struct that implements `Drop`.
    let mut checks = rust("trait __AnyBytesMayNotImplementDrop {}");
    checks.extend(rust("impl<T: ::core::ops::Drop + ?Sized> __AnyBytesMayNotImplementDrop for T {} impl"));
    checks.extend(declarations(item));
    checks.extend(rust("__AnyBytesMayNotImplementDrop for"));
    checks.extend(name(item));
    checks.extend(predicates(item));
    // All fields, of the types that were read, in an implementation, where `Self` means the struct.
    checks.extend(rust("{} trait __AnyBytesHasFields { fn __leeward_fields(_: Self); } impl"));
    checks.extend(declarations(item));
    checks.extend(rust("__AnyBytesHasFields for"));
    checks.extend(name(item));
    checks.extend(predicates(item));
    let (mut pattern, mut types) = (TokenStream::new(), TokenStream::new());
    for (index, field) in item.fields.iter().enumerate() {
        pattern.extend([field.name.clone()]);
        pattern.extend(rust(&format!(": __leeward_{index},")));
        types.extend(rust("let _:"));
        types.extend(field.of_type.iter().cloned());
        types.extend(rust(&format!("= __leeward_{index};")));
    }
    let mut argument = TokenStream::from(TokenTree::from(item.name.clone()));
    argument.extend(braces(pattern));
    argument.extend(rust(": Self"));
    let mut function = rust("fn __leeward_fields");
    function.extend([TokenTree::from(Group::new(Delimiter::Parenthesis, argument))]);
    function.extend(braces(types));
    checks.extend(braces(function));
    checks
}

fn braces(tokens: TokenStream) -> TokenStream {
    TokenTree::from(Group::new(Delimiter::Brace, tokens)).into()
}

/// Returns the struct's own where clause.
fn predicates(item: &Item) -> TokenStream {
    let mut predicates = rust("where");
    predicates.extend(item.predicates.iter().cloned());
    predicates
}

/// Returns `<..>` with the parameters as they are declared.
fn declarations(item: &Item) -> TokenStream {
    angles(item.parameters.iter().map(|parameter| &parameter.declaration))
}

/// Returns the struct's name with its parameters.
fn name(item: &Item) -> TokenStream {
    let mut name = TokenStream::from(TokenTree::from(item.name.clone()));
    name.extend(angles(item.parameters.iter().map(|parameter| &parameter.name)));
    name
}

/// Returns `<..>` around a list.
fn angles<'a>(list: impl Iterator<Item = &'a Vec<TokenTree>>) -> TokenStream {
    let mut tokens = rust("<");
    for one in list {
        tokens.extend(one.iter().cloned());
        tokens.extend(rust(","));
    }
    tokens.extend(rust(">"));
    tokens
}
