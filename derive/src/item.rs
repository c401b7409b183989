//! What is read of a struct: its name, its generic parameters, its bounds and its fields.

use proc_macro::{Delimiter, Ident, Literal, Spacing, Span, TokenStream, TokenTree};

/// A struct that may be `AnyBytes`.
pub struct Item {
    pub name: Ident,
    pub parameters: Vec<Parameter>,
    /// The predicates of the where clause, with a comma after the last one.
    pub predicates: Vec<TokenTree>,
    pub fields: Vec<Field>,
}

/// A generic parameter: a lifetime, a type or a constant.
pub struct Parameter {
    /// As it is declared, without its default.
    pub declaration: Vec<TokenTree>,
    /// As it is named in the type.
    pub name: Vec<TokenTree>,
}

/// A field of a struct.
pub struct Field {
    /// Its name or, in a tuple, its index.
    pub name: TokenTree,
    pub of_type: Vec<TokenTree>,
}

/// The reason why a type cannot be `AnyBytes` by derive, and what it is about.
pub struct Error {
    pub span: Span,
    pub message: &'static str,
}

const ENUM: &str = "`AnyBytes` cannot be derived for an enum: some bytes are no value of it. Keep an integer in a \
                    `#[repr(C)]` struct instead, and name its values by constants";
const UNION: &str = "`AnyBytes` cannot be derived for a union: if any bytes are a value of each of its fields, write \
                     `unsafe impl AnyBytes` for it";
const REPR: &str = "`AnyBytes` asks for a layout that is the same in every program: write `#[repr(C)]` (or \
                    `#[repr(transparent)]`) above this struct";
const UNKNOWN: &str = "`AnyBytes` cannot be derived for this: write `unsafe impl AnyBytes` for it";

/// Tokens that are read one after the other.
struct Cursor {
    tokens: Vec<TokenTree>,
    at: usize,
}

/// Reads the input of the derive.
pub fn read(input: TokenStream) -> Result<Item, Error> {
    let mut cursor = Cursor::new(input.into_iter().collect());
    let has_layout = cursor.attributes();
    cursor.visibility();
    let keyword = cursor.ident()?;
    match keyword.to_string().as_str() {
        "struct" => {}
        "enum" => return Err(Error { span: keyword.span(), message: ENUM }),
        "union" => return Err(Error { span: keyword.span(), message: UNION }),
        _ => return Err(Error { span: keyword.span(), message: UNKNOWN }),
    }
    let name = cursor.ident()?;
    if !has_layout {
        return Err(Error { span: name.span(), message: REPR });
    }
    let parameters = cursor.parameters()?;
    let mut predicates = cursor.predicates();
    let fields = match cursor.next() {
        Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => named(body.stream())?,
        Some(TokenTree::Group(body)) => {
            predicates = cursor.predicates();
            unnamed(body.stream())
        }
        _ => Vec::new(),
    };
    Ok(Item { name, parameters, predicates, fields })
}

/// Returns true if an attribute's content is a `repr` with `C` or `transparent`.
fn is_layout(attribute: TokenStream) -> bool {
    let mut tokens = attribute.into_iter();
    let is_repr = tokens.next().is_some_and(|token| is_ident(&token, "repr"));
    let Some(TokenTree::Group(list)) = tokens.next() else { return false };
    is_repr && list.stream().into_iter().any(|token| is_ident(&token, "C") || is_ident(&token, "transparent"))
}

/// Reads the fields of a struct with names.
fn named(body: TokenStream) -> Result<Vec<Field>, Error> {
    let field = |tokens| {
        let mut cursor = Cursor::new(tokens);
        cursor.attributes();
        cursor.visibility();
        let name = TokenTree::Ident(cursor.ident()?);
        // The colon.
        cursor.next();
        Ok(Field { name, of_type: cursor.rest() })
    };
    split(body.into_iter().collect()).into_iter().map(field).collect()
}

/// Reads the fields of a tuple.
fn unnamed(body: TokenStream) -> Vec<Field> {
    let field = |(index, tokens)| {
        let mut cursor = Cursor::new(tokens);
        cursor.attributes();
        cursor.visibility();
        Field { name: Literal::usize_unsuffixed(index).into(), of_type: cursor.rest() }
    };
    split(body.into_iter().collect()).into_iter().enumerate().map(field).collect()
}

/// Reads a generic parameter.
fn parameter(tokens: Vec<TokenTree>) -> Result<Parameter, Error> {
    let mut cursor = Cursor::new(tokens);
    cursor.attributes();
    let declared = cursor.rest();
    let mut cursor = Cursor::new(declared.clone());
    let mut name = Vec::new();
    if cursor.peek().is_some_and(|token| is_punct(token, '\'')) {
        name.extend(cursor.next());
    } else if cursor.peek().is_some_and(|token| is_ident(token, "const")) {
        cursor.next();
    }
    name.push(TokenTree::Ident(cursor.ident()?));
    // The default begins with an equals sign that is in no angle brackets.
    let mut angles = Angles::default();
    let declaration = declared.into_iter().take_while(|token| !(angles.see(token) == 0 && is_punct(token, '=')));
    Ok(Parameter { declaration: declaration.collect(), name })
}

/// Splits tokens at the commas that are in no angle brackets.
fn split(tokens: Vec<TokenTree>) -> Vec<Vec<TokenTree>> {
    let mut angles = Angles::default();
    let mut parts = vec![Vec::new()];
    for token in tokens {
        if angles.see(&token) == 0 && is_punct(&token, ',') {
            parts.push(Vec::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(token);
        }
    }
    // After the last comma, and in an empty list.
    parts.retain(|part| !part.is_empty());
    parts
}

fn is_ident(token: &TokenTree, name: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident.to_string() == name)
}

fn is_punct(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

/// How many angle brackets are open, which are no groups of the token stream.
#[derive(Default)]
struct Angles {
    open: usize,
    /// The last token was a minus that a `>` would make an arrow of.
    is_arrow: bool,
}

impl Angles {
    /// Counts a token, and returns how many are open after it.
    fn see(&mut self, token: &TokenTree) -> usize {
        let was_arrow = std::mem::take(&mut self.is_arrow);
        if let TokenTree::Punct(punct) = token {
            match punct.as_char() {
                '<' => self.open += 1,
                '>' if !was_arrow => self.open = self.open.saturating_sub(1),
                '-' => self.is_arrow = punct.spacing() == Spacing::Joint,
                _ => {}
            }
        }
        self.open
    }
}

impl Cursor {
    fn new(tokens: Vec<TokenTree>) -> Cursor {
        Cursor { tokens, at: 0 }
    }

    fn peek(&self) -> Option<&TokenTree> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Option<TokenTree> {
        let token = self.peek().cloned();
        self.at += 1;
        token
    }

    fn rest(self) -> Vec<TokenTree> {
        self.tokens.into_iter().skip(self.at).collect()
    }

    fn ident(&mut self) -> Result<Ident, Error> {
        match self.next() {
            Some(TokenTree::Ident(ident)) => Ok(ident),
            other => Err(Error { span: other.map_or_else(Span::call_site, |token| token.span()), message: UNKNOWN }),
        }
    }

    /// Skips attributes; returns true if one of them is a layout (`is_layout`).
    fn attributes(&mut self) -> bool {
        let mut has_layout = false;
        while self.peek().is_some_and(|token| is_punct(token, '#')) {
            self.next();
            if let Some(TokenTree::Group(attribute)) = self.next() {
                has_layout |= is_layout(attribute.stream());
            }
        }
        has_layout
    }

    /// Skips `pub`, `pub(crate)`, `pub(in path)` and the like, also where a macro gave them.
    fn visibility(&mut self) {
        if let Some(TokenTree::Group(group)) = self.peek() {
            let first = group.stream().into_iter().next();
            if group.delimiter() == Delimiter::None && first.is_none_or(|first| is_ident(&first, "pub")) {
                self.next();
            }
            return;
        }
        if !self.peek().is_some_and(|token| is_ident(token, "pub")) {
            return;
        }
        self.next();
        // Otherwise the parentheses are a type, of a field of a tuple.
        if let Some(TokenTree::Group(group)) = self.peek() {
            let inside: Vec<_> = group.stream().into_iter().take(2).collect();
            let is_alone = |name| inside.len() == 1 && is_ident(&inside[0], name);
            let is_path = inside.first().is_some_and(|first| is_ident(first, "in"));
            if group.delimiter() == Delimiter::Parenthesis
                && (is_path || is_alone("crate") || is_alone("self") || is_alone("super"))
            {
                self.next();
            }
        }
    }

    /// Reads the generic parameters, if there are any.
    fn parameters(&mut self) -> Result<Vec<Parameter>, Error> {
        if !self.peek().is_some_and(|token| is_punct(token, '<')) {
            return Ok(Vec::new());
        }
        self.next();
        let (mut angles, mut inside) = (Angles { open: 1, is_arrow: false }, Vec::new());
        while let Some(token) = self.next() {
            if angles.see(&token) == 0 {
                break;
            }
            inside.push(token);
        }
        split(inside).into_iter().map(parameter).collect()
    }

    /// Reads the predicates of a where clause, if there is one, up to the body or the end.
    fn predicates(&mut self) -> Vec<TokenTree> {
        let mut predicates = Vec::new();
        if !self.peek().is_some_and(|token| is_ident(token, "where")) {
            return predicates;
        }
        self.next();
        let mut angles = Angles::default();
        while let Some(token) = self.peek() {
            let is_body = matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
            if angles.see(token) == 0 && (is_body || is_punct(token, ';')) {
                break;
            }
            predicates.extend(self.next());
        }
        if predicates.last().is_some_and(|last| !is_punct(last, ',')) {
            predicates.push(proc_macro::Punct::new(',', Spacing::Alone).into());
        }
        predicates
    }
}
