//! Files that programs write beside their work: caches, logs, coverage. Their changes say nothing about the project.

/// Directories of caches and coverage reports.
const DIRS: &[&str] = &[
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".cache",
    ".parcel-cache",
    ".turbo",
    ".nyc_output",
    ".gradle",
    ".tox",
    ".nox",
    "htmlcov",
];

/// Endings of names: byte code, logs, coverage data, incremental builds.
const ENDINGS: &[&str] =
    &[".pyc", ".pyo", ".log", ".profraw", ".profdata", ".gcda", ".gcno", ".tsbuildinfo", ".lcov", ".swp"];

/// Whole names, also with a suffix after a dot (`.coverage.host.123`).
const NAMES: &[&str] = &[".coverage", "lcov.info", "coverage.xml", "coverage.out", ".eslintcache", ".DS_Store"];

/// Whether a path is one of these.
pub(super) fn is_by_product(path: &str) -> bool {
    let mut parts = path.split(['/', '\\']);
    let name = parts.next_back().unwrap_or_default();
    parts.any(|dir| DIRS.contains(&dir))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || NAMES.contains(&name)
        || name.starts_with(".coverage.")
}

#[cfg(test)]
mod tests {
    use super::is_by_product;

    #[test]
    fn caches_and_logs_are_by_products_and_sources_are_not() {
        for path in ["/r/pkg/__pycache__/a.cpython-312.pyc", "out/test.log", ".coverage", "/r/htmlcov/index.html"] {
            assert!(is_by_product(path), "{path}");
        }
        for path in ["src/cache.rs", "src/log.rs", "tests/coverage.py", "docs/logging.md"] {
            assert!(!is_by_product(path), "{path}");
        }
    }
}
