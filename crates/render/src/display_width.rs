//! Sanitizes and measures text for display: replaces control characters, limits the width and isolates right-to-left text.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Control and bidirectional formatting characters.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{061c}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Letters of right-to-left scripts.
fn right_to_left(c: char) -> bool {
    matches!(c, '\u{0590}'..='\u{08ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// Escapes text for XML and HTML; characters that these cannot contain become U+FFFD.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            '\n' | '\u{2066}'..='\u{2069}' => out.push(c),
            c if is_unsafe(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Shortens like [`shorten`] and wraps right-to-left text in a directional isolate.
pub fn cut(name: &str, max_columns: usize, unicode: bool) -> String {
    let text = shorten(name, max_columns, unicode);
    if text.chars().any(right_to_left) { format!("\u{2068}{text}\u{2069}") } else { text }
}

/// Sanitizes a name and shortens it to `max_columns`, with an ellipsis if text was removed. Without `unicode` the result is ASCII.
pub fn shorten(name: &str, max_columns: usize, unicode: bool) -> String {
    let ellipsis = if unicode { "…" } else { "..." };
    // A long name is not read to its end: few characters have zero width.
    let mut text: String = name
        .chars()
        .take(4 * max_columns + 16)
        .map(|c| match c {
            c if !unicode && !c.is_ascii() => '?',
            c if is_unsafe(c) => {
                if unicode {
                    '\u{fffd}'
                } else {
                    '?'
                }
            }
            c => c,
        })
        .collect();
    let complete = text.chars().count() == name.chars().take(4 * max_columns + 17).count();
    if !complete || text.width() > max_columns {
        let room = max_columns.saturating_sub(ellipsis.width());
        while text.width() > room {
            text.pop();
        }
        // Remove joiners and combining marks that lost their base character.
        while text.chars().last().is_some_and(|c| c.width() == Some(0)) {
            text.pop();
        }
        text.extend(ellipsis.chars().take(max_columns));
    }
    text
}

/// Pads the text with spaces to `width` columns.
pub fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// Returns the width of a text in terminal columns.
pub fn columns(text: &str) -> usize {
    text.chars().filter(|c| !is_unsafe(*c)).collect::<String>().width()
}

/// Returns the file name of a path, or the text itself if it has none.
pub fn file_name(path: &str) -> &str {
    std::path::Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_names_respect_the_limit() {
        let names = [
            "",
            "blk.0",
            "漢字漢字漢字",
            "👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦",
            "e\u{301}e\u{301}e\u{301}",
            "שלום עולם",
            &"x".repeat(10_000),
            &"\u{301}".repeat(10_000),
        ];
        for name in names {
            for most in 0..12 {
                for unicode in [true, false] {
                    let shown = cut(name, most, unicode);
                    assert!(columns(&shown) <= most, "{shown:?} is wider than {most}");
                    assert!(unicode || shown.is_ascii());
                }
            }
        }
    }

    #[test]
    fn only_shortened_names_have_an_ellipsis() {
        assert_eq!(cut("attention", 9, true), "attention");
        assert_eq!(cut("attention", 6, true), "atten…");
        assert_eq!(cut("attention", 6, false), "att...");
    }

    #[test]
    fn control_characters_are_replaced_and_right_to_left_is_isolated() {
        assert_eq!(cut("a\u{1b}[2Jb\nc\u{202e}d", 20, true), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d");
        assert_eq!(cut("שלום", 10, true), "\u{2068}שלום\u{2069}");
    }
}
