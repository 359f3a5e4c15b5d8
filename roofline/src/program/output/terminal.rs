//! The terminal: what it can show (its size, colour, more than ASCII), asked here and nowhere else, and a line of progress.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget};

use crate::chart::terminal::Canvas;

/// Lines of a picture when nobody says how high the terminal is.
const ROWS: usize = 20;

/// The canvas for standard output; `ascii` is the user's own wish.
pub fn canvas(ascii: bool) -> Canvas {
    let size = terminal_size::terminal_size_of(std::io::stdout());
    let size = size.map(|(columns, rows)| (usize::from(columns.0), usize::from(rows.0)));
    choose(ascii, std::io::stdout().is_terminal(), size, |name| std::env::var(name).ok())
}

fn choose(
    ascii: bool,
    terminal: bool,
    size: Option<(usize, usize)>,
    variable: impl Fn(&str) -> Option<String>,
) -> Canvas {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| set(name));
    let utf8 = locale.map_or(cfg!(windows), |locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    let columns = size.map(|size| size.0).or_else(|| set("COLUMNS")?.parse().ok()).unwrap_or(80);
    // The picture leaves a few lines of a low terminal to what stands above and below it.
    let rows = size.map_or(ROWS, |(_, rows)| rows.saturating_sub(6).clamp(ROWS / 2, ROWS + 8));
    Canvas {
        columns,
        rows,
        unicode: utf8 && !ascii,
        colour: terminal && set("NO_COLOR").is_none() && variable("TERM").as_deref() != Some("dumb"),
    }
}

/// One line that says what is being done, and leaves no trace.
pub struct Progress(ProgressBar);

impl Progress {
    /// Shown when standard error is a terminal.
    pub fn new() -> Progress {
        if !std::io::stderr().is_terminal() {
            return Progress(ProgressBar::hidden());
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.enable_steady_tick(Duration::from_millis(100));
        Progress(bar)
    }

    /// Says what comes now.
    pub fn say(&self, what: &str) {
        self.0.set_message(what.to_owned());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(terminal: bool, variables: &[(&str, &str)]) -> Canvas {
        let variables: Vec<(String, String)> =
            variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        choose(false, terminal, terminal.then_some((100, 40)), |name| {
            variables.iter().find(|variable| variable.0 == name).map(|variable| variable.1.clone())
        })
    }

    #[test]
    fn colour_is_for_terminals_that_did_not_refuse_it() {
        assert!(with(true, &[]).colour);
        assert!(with(true, &[("NO_COLOR", "")]).colour);
        assert!(!with(true, &[("NO_COLOR", "1")]).colour);
        assert!(!with(true, &[("TERM", "dumb")]).colour);
        assert!(!with(false, &[]).colour);
    }

    #[test]
    fn the_first_locale_variable_with_a_value_decides_about_unicode() {
        assert!(with(true, &[("LANG", "en_US.UTF-8")]).unicode);
        assert!(with(true, &[("LC_ALL", ""), ("LANG", "de_DE.utf8")]).unicode);
        assert!(!with(true, &[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]).unicode);
        assert!(!choose(true, true, None, |_| Some("en_US.UTF-8".into())).unicode);
    }

    #[test]
    fn the_size_is_the_terminals_then_the_variable_then_80_columns() {
        assert_eq!(with(true, &[("COLUMNS", "60")]).columns, 100);
        assert_eq!(with(false, &[("COLUMNS", "60")]).columns, 60);
        assert_eq!(with(false, &[("COLUMNS", "wide")]).columns, 80);
    }
}
