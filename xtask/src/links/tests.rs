use std::collections::BTreeMap;

use super::{join, parse, resolve};

const PAGE: &str = "\
# The `belay` guide
See [the setup](setup.md \"Setup\"), ![logo](img/logo.png) and `[code](none.md)`.
<img src=\"img/dark.png\"> [one](#a)[two](https://example.org)
```sh
# not a heading [link](none.md)
```
## What it does, in short
## What it does, in short
[later]: ../other.md
";

#[test]
fn finds_links_and_headings_outside_code() {
    let page = parse(PAGE);
    let links: Vec<_> = page.links.iter().map(|(line, target)| (*line, target.as_str())).collect();
    let expected = [
        (2, "setup.md"),
        (2, "img/logo.png"),
        (3, "#a"),
        (3, "https://example.org"),
        (3, "img/dark.png"),
        (9, "../other.md"),
    ];
    assert_eq!(links, expected);
    let anchors: Vec<_> = page.anchors.iter().map(String::as_str).collect();
    assert_eq!(anchors, ["the-belay-guide", "what-it-does-in-short", "what-it-does-in-short-1"]);
}

#[test]
fn joins_relative_paths() {
    assert_eq!(join("docs/guides/run.md", "../reference/json.md").as_deref(), Some("docs/reference/json.md"));
    assert_eq!(join("README.md", "./docs/").as_deref(), Some("docs"));
    assert_eq!(join("README.md", "../outside.md"), None);
}

#[test]
fn reports_missing_files_and_headings() {
    let files = ["docs/a.md", "docs/b.md", "docs/img/logo.png"].map(str::to_owned);
    let pages = BTreeMap::from([("docs/a.md", parse("# One")), ("docs/b.md", parse("# Two"))]);
    let resolve = |target: &str| resolve("docs/a.md", target, &files, &pages);
    for target in ["b.md", "b.md#two", "#one", "img", "img/logo.png", "../docs/b.md", "https://example.org/#x", ".."] {
        assert_eq!(resolve(target), Ok(()), "{target}");
    }
    assert_eq!(resolve("c.md"), Err("no such file".to_owned()));
    assert_eq!(resolve("b.md#one"), Err("no such heading".to_owned()));
    assert_eq!(resolve("../../x.md"), Err("not inside the repository".to_owned()));
}
