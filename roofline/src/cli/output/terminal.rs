//! The terminal: its size, color and character set, and a progress line.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::chart::terminal::Canvas;

/// Rows of a chart if the height of the terminal is unknown.
const ROWS: usize = 20;

/// Returns the canvas for standard output; `ascii` restricts it to ASCII.
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
    let limit = size.map(|size| size.0).or_else(|| set("COLUMNS")?.parse().ok());
    let columns = limit.unwrap_or(80);
    let dumb = variable("TERM").as_deref() == Some("dumb");
    let forced = set("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    // Leaves a few rows for the text around the chart.
    let rows = size.map_or(ROWS, |(_, rows)| rows.saturating_sub(6).clamp(ROWS / 2, ROWS + 8));
    Canvas {
        columns,
        rows,
        unicode: utf8 && !ascii && !dumb,
        color: set("NO_COLOR").is_none() && (forced || (terminal && !dumb)),
        limit,
    }
}

/// A progress line on standard error with the remaining time. It disappears at the end, and is hidden if standard error is not a
/// terminal.
pub struct Progress(ProgressBar);

impl Progress {
    /// Creates a progress line for work of unknown duration.
    pub fn new() -> Progress {
        Progress::start(None, |state| format!("{} s", state.elapsed().as_secs()))
    }

    /// Creates a progress line for work with an estimated duration.
    pub fn with_duration(duration: Duration) -> Progress {
        Progress::start(None, move |state| {
            extent(state.elapsed().as_secs_f64() / duration.as_secs_f64(), state.elapsed())
        })
    }

    /// Creates a progress line for a number of steps; each calls [`Progress::step`].
    pub fn with_steps(steps: usize) -> Progress {
        Progress::start(Some(steps as u64), |state| {
            let done = state.pos().saturating_sub(1) as f64 / state.len().unwrap_or(1).max(1) as f64;
            format!("{} of {}  {}", state.pos(), state.len().unwrap_or(0), extent(done, state.elapsed()))
        })
    }

    fn start(
        steps: Option<u64>,
        extent: impl Fn(&ProgressState) -> String + Clone + Send + Sync + 'static,
    ) -> Progress {
        let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
        if !std::io::stderr().is_terminal() || dumb {
            return Progress(ProgressBar::hidden());
        }
        let bar = ProgressBar::with_draw_target(steps, ProgressDrawTarget::stderr());
        let write = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            // Progress is not worth an error.
            let _ = out.write_str(&extent(state));
        };
        if let Ok(style) = ProgressStyle::with_template("{msg}  {extent}") {
            bar.set_style(style.with_key("extent", write));
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Progress(bar)
    }

    /// Shows a message.
    pub fn message(&self, message: &str) {
        self.0.set_message(message.to_owned());
    }

    /// Starts the next step and shows its message.
    pub fn step(&self, message: &str) {
        self.0.inc(1);
        self.message(message);
    }
}

/// Returns a bar for the completed share, and the remaining time at the speed so far.
fn extent(done: f64, elapsed: Duration) -> String {
    const CELLS: usize = 20;
    let share = done.clamp(0.0, 1.0);
    let full = (share * CELLS as f64) as usize;
    let bar = format!("[{}{}]", "#".repeat(full), ".".repeat(CELLS - full));
    if done >= 1.0 {
        return format!("{bar} almost done");
    }
    if share <= 0.0 {
        return bar;
    }
    format!("{bar} about {:.0} s left", (elapsed.as_secs_f64() * (1.0 - share) / share).ceil())
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
    fn color_needs_a_terminal_and_respects_its_variables() {
        assert!(with(true, &[]).color);
        assert!(with(true, &[("NO_COLOR", "")]).color);
        assert!(!with(true, &[("NO_COLOR", "1")]).color);
        assert!(!with(true, &[("TERM", "dumb")]).color);
        assert!(!with(false, &[]).color);
        assert!(with(false, &[("CLICOLOR_FORCE", "1")]).color);
        assert!(!with(false, &[("CLICOLOR_FORCE", "0")]).color);
        assert!(!with(true, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]).color);
    }

    #[test]
    fn a_dumb_terminal_gets_plain_characters() {
        assert!(!with(true, &[("LANG", "en_US.UTF-8"), ("TERM", "dumb")]).unicode);
    }

    #[test]
    fn progress_shows_the_completed_share_and_the_remaining_time() {
        let seconds = Duration::from_secs;
        assert_eq!(extent(0.0, seconds(0)), "[....................]");
        assert_eq!(extent(0.25, seconds(4)), "[#####...............] about 12 s left");
        assert_eq!(extent(1.2, seconds(20)), "[####################] almost done");
    }

    #[test]
    fn unicode_depends_on_the_first_locale_variable_with_a_value() {
        assert!(with(true, &[("LANG", "en_US.UTF-8")]).unicode);
        assert!(with(true, &[("LC_ALL", ""), ("LANG", "de_DE.utf8")]).unicode);
        assert!(!with(true, &[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]).unicode);
        assert!(!choose(true, true, None, |_| Some("en_US.UTF-8".into())).unicode);
    }

    #[test]
    fn the_width_comes_from_the_terminal_then_columns_then_80() {
        assert_eq!(with(true, &[("COLUMNS", "60")]).columns, 100);
        assert_eq!(with(false, &[("COLUMNS", "60")]).columns, 60);
        assert_eq!(with(false, &[("COLUMNS", "wide")]).columns, 80);
        let limits =
            [with(true, &[]), with(false, &[("COLUMNS", "60")]), with(false, &[])].map(|canvas| canvas.limit);
        assert_eq!(limits, [Some(100), Some(60), None], "output to a pipe is not wrapped");
    }
}
