//! Regular expressions that users write, with the place of a mistake.

use regex_lite::Regex;

use crate::program::Failure;

/// Nobody writes more; a mistake is looked for at every place.
const LONGEST: usize = 1000;

/// The expression that `flag` was given.
pub fn parse(flag: &str, text: &str) -> Result<Regex, Failure> {
    if text.len() > LONGEST {
        return Err(Failure(format!("{flag}: an expression has at most {LONGEST} bytes")));
    }
    Regex::new(text).map_err(|error| {
        let error = error.to_string();
        Failure(format!("{flag} {text}: {error}, at character {}", mistake(text, &error)))
    })
}

/// The first character, from 1, from which on every longer beginning of the text has the same mistake.
fn mistake(text: &str, error: &str) -> usize {
    let ends: Vec<usize> = text.char_indices().map(|(at, character)| at + character.len_utf8()).collect();
    let fails = |end: &&usize| {
        let start = text.get(..**end).unwrap_or_default();
        Regex::new(start).is_err_and(|found| found.to_string() == error)
    };
    let tail = ends.iter().rev().take_while(fails).count();
    ends.len() - tail.max(1).min(ends.len()) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_is_told_with_its_place() {
        for (text, place) in [("a(b)(c", 5), ("[z-a]", 4), ("*a", 1), ("ab)c", 3), ("x{3,1}y", 6), ("é\\", 2)]
        {
            let Failure(message) = parse("--ops", text).unwrap_err();
            assert!(message.starts_with(&format!("--ops {text}: ")), "{message}");
            assert!(message.ends_with(&format!(", at character {place}")), "{message}");
        }
        assert!(parse("--ops", &"a".repeat(1001)).is_err());
    }

    #[test]
    fn an_expression_finds_its_text_anywhere_unless_it_says_otherwise() {
        let found = |expression: &str, text: &str| parse("--ops", expression).unwrap().is_match(text);
        assert!(found("ffn_(up|down)", "0.ffn_down"));
        assert!(!found("^ffn", "0.ffn_down"));
        assert!(found(r"^1\.", "1.norm") && !found(r"^1\.", "11.norm"));
    }
}
