//! A bar on the terminal while something long runs.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How wide the bar is.
const BAR_COLUMNS: usize = 32;

/// Runs `work`; meanwhile shows how much of `total` is done, if `show` and somebody can see it.
/// `look` tells what is done and adds a word.
pub(crate) fn with_progress_bar<T>(
    show: bool,
    total: u64,
    look: impl Fn() -> (u64, String) + Sync,
    work: impl FnOnce() -> T,
) -> T {
    if !show || !io::stderr().is_terminal() {
        return work();
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let painter = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let (now, word) = look();
                paint(&line(now, total, &word));
                thread::park_timeout(Duration::from_millis(100));
            }
            paint("");
        });
        let result = work();
        done.store(true, Ordering::Relaxed);
        painter.thread().unpark();
        result
    })
}

fn paint(line: &str) {
    let mut err = io::stderr().lock();
    // Nobody is hurt when the bar is not seen.
    let _ = write!(err, "\r\x1b[K{line}").and_then(|()| err.flush());
}

fn line(now: u64, total: u64, word: &str) -> String {
    let share = now as f64 / total.max(1) as f64;
    let filled = ((share * BAR_COLUMNS as f64) as usize).min(BAR_COLUMNS);
    let percent = ((share * 100.0) as u64).min(100);
    format!("[{}{}] {percent:>3} % {word}", "#".repeat(filled), " ".repeat(BAR_COLUMNS - filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills_and_never_overflows() {
        assert_eq!(line(0, 10, "x"), format!("[{}]   0 % x", " ".repeat(32)));
        assert_eq!(line(5, 10, "x"), format!("[{}{}]  50 % x", "#".repeat(16), " ".repeat(16)));
        assert_eq!(line(99, 10, "x"), format!("[{}] 100 % x", "#".repeat(32)));
        assert_eq!(line(0, 0, "x"), format!("[{}]   0 % x", " ".repeat(32)));
    }
}
