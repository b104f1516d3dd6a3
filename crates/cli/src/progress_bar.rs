//! A progress bar on stderr.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const BAR_COLUMNS: usize = 32;

/// Runs `work` and meanwhile shows a progress bar, if `show` is set and stderr is a terminal. `progress` returns the
/// amount done so far and a label.
pub(crate) fn with_progress_bar<T>(
    show: bool,
    total: u64,
    progress: impl Fn() -> (u64, String) + Sync,
    work: impl FnOnce() -> T,
) -> T {
    if !show || !io::stderr().is_terminal() {
        return work();
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let painter = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let (now, label) = progress();
                paint(&line(now, total, &label));
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
    // The work matters more than its progress bar.
    let _ = write!(err, "\r\x1b[K{line}").and_then(|()| err.flush());
}

fn line(now: u64, total: u64, label: &str) -> String {
    let share = now as f64 / total.max(1) as f64;
    let filled = ((share * BAR_COLUMNS as f64) as usize).min(BAR_COLUMNS);
    let percent = ((share * 100.0) as u64).min(100);
    format!("[{}{}] {percent:>3} % {label}", "#".repeat(filled), " ".repeat(BAR_COLUMNS - filled))
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
