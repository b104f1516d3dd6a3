//! Prompt templates of a project.
//!
//! They come with a repository, so that they are used only if the person trusts their content (`belay trust FILE`). A task
//! keeps those of the moment in which it is filed: the builder cannot change them.

use std::path::{Path, PathBuf};

use belay_config::trust::{TrustState, TrustStore};
use belay_config::{Paths, ProjectFile};
use belay_review::prompt::TEMPLATES;

/// A template of a project.
#[derive(Clone, Debug)]
pub struct ProjectTemplate {
    /// `work`, `review`, ...
    pub name: &'static str,
    pub path: PathBuf,
    /// `None` if it cannot be used, and why.
    pub text: Result<String, String>,
}

/// The templates that a project has, trusted or not.
pub fn find(paths: &Paths, project_dir: &Path) -> Vec<ProjectTemplate> {
    let Some(dir) = ProjectFile::locate_prompts(paths, project_dir) else { return Vec::new() };
    let trusted = TrustStore::load(&paths.trust()).unwrap_or_default();
    let mut found = Vec::new();
    for (name, _) in TEMPLATES {
        let path = dir.join(template_file(name));
        if path.symlink_metadata().is_err() {
            continue;
        }
        let text = ProjectFile::read(&path).map_err(|problem| problem.to_string()).and_then(|file| {
            match trusted.state(&file) {
                TrustState::Trusted => Ok(file.text),
                TrustState::Changed => Err("its content has changed since it was trusted".to_owned()),
                TrustState::Unknown => Err("it is not trusted".to_owned()),
            }
        });
        found.push(ProjectTemplate { name, path, text });
    }
    found
}

/// The file name of a template.
pub(crate) fn template_file(name: &str) -> String {
    format!("review-{name}.md")
}
