//! What is going on, on standard error, for people only.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget};

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
