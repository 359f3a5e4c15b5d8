//! Names from files made fit to show: no control characters, a width that is known, and a direction that does not
//! spill over into the rest of the line.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Characters that would move the cursor or turn the direction of what follows them.
fn disturbs(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{061c}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Letters of scripts written from right to left.
fn right_to_left(c: char) -> bool {
    matches!(c, '\u{0590}'..='\u{08ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// The text for XML and HTML: what they can't hold is shown as a replacement character.
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
            c if disturbs(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// The name in no more than `most` columns, kept apart from the direction of its surroundings.
pub fn cut(name: &str, most: usize, unicode: bool) -> String {
    let text = shorten(name, most, unicode);
    if text.chars().any(right_to_left) { format!("\u{2068}{text}\u{2069}") } else { text }
}

/// The name in no more than `most` columns, with an ellipsis when something was left out.
pub fn shorten(name: &str, most: usize, unicode: bool) -> String {
    let ellipsis = if unicode { "…" } else { "..." };
    // No character that shows is narrower than nothing, so a long name is never read to its end.
    let mut text: String = name
        .chars()
        .take(4 * most + 16)
        .map(|c| match c {
            c if !unicode && !c.is_ascii() => '?',
            c if disturbs(c) => {
                if unicode {
                    '\u{fffd}'
                } else {
                    '?'
                }
            }
            c => c,
        })
        .collect();
    let whole = text.chars().count() == name.chars().take(4 * most + 17).count();
    if !whole || text.width() > most {
        let room = most.saturating_sub(ellipsis.width());
        while text.width() > room {
            text.pop();
        }
        // A joiner or a combining mark makes no sense without what it joined.
        while text.chars().last().is_some_and(|c| c.width() == Some(0)) {
            text.pop();
        }
        text.extend(ellipsis.chars().take(most));
    }
    text
}

/// The text filled up with spaces to `width` columns.
pub fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// The columns a text takes.
pub fn columns(text: &str) -> usize {
    text.chars().filter(|c| !disturbs(*c)).collect::<String>().width()
}

/// The last part of a path; what is no path stays as it is.
pub fn file_name(path: &str) -> &str {
    std::path::Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_gets_wider_than_it_may() {
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
    fn a_cut_name_says_so_and_a_whole_one_stays() {
        assert_eq!(cut("attention", 9, true), "attention");
        assert_eq!(cut("attention", 6, true), "atten…");
        assert_eq!(cut("attention", 6, false), "att...");
    }

    #[test]
    fn a_name_can_neither_move_the_cursor_nor_turn_the_line() {
        assert_eq!(cut("a\u{1b}[2Jb\nc\u{202e}d", 20, true), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d");
        assert_eq!(cut("שלום", 10, true), "\u{2068}שלום\u{2069}");
    }
}
