//! `go test`: `--- FAIL: TestName`, `ok` or `FAIL` and a package.

use super::ReportBuilder;

pub(super) fn read(text: &str) -> Option<ReportBuilder> {
    let mut report = ReportBuilder::default();
    let (mut passed, mut failed, mut packages, mut seen) = (0, 0, 0, false);
    let mut inside = false;
    for line in text.lines() {
        let trimmed = line.trim_start();
        if let Some(name) = trimmed.strip_prefix("--- FAIL: ") {
            (seen, inside) = (true, true);
            failed += 1;
            report.fail(name.split(' ').next().unwrap_or(name));
        } else if trimmed.starts_with("--- PASS: ") {
            (seen, inside) = (true, false);
            passed += 1;
        } else if line.starts_with("ok  \t") || line.starts_with("ok \t") {
            seen = true;
            packages += 1;
        } else if let Some(package) = line.strip_prefix("FAIL\t") {
            seen = true;
            if package.contains("[build failed]") || package.contains("[setup failed]") {
                failed += 1;
                report.fail(package);
            }
        } else if inside && line.starts_with("    ") && trimmed.contains(".go:") {
            report.say(trimmed);
        } else if line.starts_with("panic: ") {
            report.say(line);
        } else if let Some((place, message)) = line.split_once(": ").filter(|(place, _)| place.contains(".go:")) {
            // Compiler errors before `[build failed]`.
            report.say(&format!("{place}: {message}"));
        }
    }
    report.counts(Some(if passed > 0 { passed } else { packages }), failed);
    seen.then_some(report)
}
