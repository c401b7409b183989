//! Numbers of entries as the command line and the table write them: `1k`, `100k`, `4M`.

/// Parses a number with the suffixes `k` and `M`.
pub fn parse(text: &str) -> Result<usize, String> {
    let (digits, scale) = match text.strip_suffix('k') {
        Some(digits) => (digits, 1_000),
        None => text.strip_suffix('M').map_or((text, 1), |digits| (digits, 1_000_000)),
    };
    match digits.parse::<usize>().ok().and_then(|number| number.checked_mul(scale)) {
        Some(number) if (16..=400_000_000).contains(&number) => Ok(number),
        _ => Err("it must be a number such as 1000, 100k or 4M, from 16 to 400M".to_string()),
    }
}

/// Writes a number as `parse` reads it.
pub fn text(size: usize) -> String {
    match size {
        _ if size.is_multiple_of(1_000_000) => format!("{}M", size / 1_000_000),
        _ if size.is_multiple_of(1_000) => format!("{}k", size / 1_000),
        _ => size.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{parse, text};

    #[test]
    fn sizes_are_read_as_they_are_written() {
        for size in [1_000, 100_000, 4_000_000, 1_234] {
            assert_eq!(parse(&text(size)), Ok(size));
        }
        assert!(parse("0").is_err() && parse("x").is_err() && parse("99999999999999999999M").is_err());
    }
}
