//! Checks the relative links of all Markdown files: the file exists, and so does the heading.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::repository;

/// A Markdown file: where it points to, and where others may point.
struct Page {
    links: Vec<(usize, String)>,
    anchors: BTreeSet<String>,
}

/// Every broken link as `file:line: target: what is wrong`.
pub(crate) fn check() -> Result<Vec<String>, String> {
    let files = repository::files()?;
    let mut pages = BTreeMap::new();
    // Fixtures are what agents wrote, not documentation.
    for file in files.iter().filter(|file| file.ends_with(".md") && !file.contains("/fixtures/")) {
        pages.insert(file.as_str(), parse(&repository::read(file)?));
    }
    let mut broken = Vec::new();
    for (file, page) in &pages {
        for (line, target) in &page.links {
            if let Err(why) = resolve(file, target, &files, &pages) {
                broken.push(format!("{file}:{line}: {target}: {why}"));
            }
        }
    }
    Ok(broken)
}

fn resolve(file: &str, target: &str, files: &[String], pages: &BTreeMap<&str, Page>) -> Result<(), String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return Ok(());
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let path = if path.is_empty() { file.to_owned() } else { join(file, path).ok_or("not inside the repository")? };
    let dir = format!("{path}/");
    if !path.is_empty() && !files.iter().any(|other| *other == path || other.starts_with(&dir)) {
        return Err("no such file".to_owned());
    }
    match (anchor, pages.get(path.as_str())) {
        (Some(anchor), Some(page)) if !page.anchors.contains(anchor) => Err("no such heading".to_owned()),
        _ => Ok(()),
    }
}

/// The path of `relative` as seen from `file`, if it stays inside the repository.
fn join(file: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in relative.split('/') {
        match part {
            "" if parts.is_empty() && relative.starts_with('/') => return None,
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn parse(text: &str) -> Page {
    let mut page = Page { links: Vec::new(), anchors: BTreeSet::new() };
    let mut fence = None;
    for (at, line) in text.lines().enumerate() {
        let start = line.trim_start();
        let marker = ["```", "~~~"].into_iter().find(|marker| start.starts_with(marker));
        match (fence, marker) {
            (Some(open), Some(marker)) if open == marker => fence = None,
            (None, Some(marker)) => fence = Some(marker),
            (Some(_), _) => {}
            (None, None) => {
                if let Some(heading) = start.strip_prefix('#') {
                    add_anchor(&mut page.anchors, heading.trim_start_matches('#'));
                }
                page.links.extend(targets(&without_code(line)).map(|target| (at + 1, target.to_owned())));
            }
        }
    }
    page
}

/// A line without its inline code.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// The targets of a line: `[text](target)`, `[name]: target`, `href="target"` and `src="target"`.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let definition = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target);
    let attribute = |name: &'static str| line.split(name).skip(1).filter_map(|rest| rest.split('"').next());
    let all = inline.chain(definition).chain(attribute("href=\"")).chain(attribute("src=\""));
    // A title may follow the target.
    all.filter_map(|target| target.split_whitespace().next()).map(|target| target.trim_matches(['<', '>']))
}

/// The anchor that GitHub gives a heading; a repeated one gets a number.
fn add_anchor(anchors: &mut BTreeSet<String>, heading: &str) {
    let text: String = heading.trim().to_lowercase();
    let letters = text.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    let anchor: String = letters.map(|c| if c == ' ' { '-' } else { c }).collect();
    let mut candidates = std::iter::once(anchor.clone()).chain((1..).map(|number| format!("{anchor}-{number}")));
    if let Some(free) = candidates.find(|candidate| !anchors.contains(candidate)) {
        anchors.insert(free);
    }
}
