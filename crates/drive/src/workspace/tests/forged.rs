//! Agents that change what git says about their work: the tree must be what is on disk, and the diff what it holds.

use std::os::unix::fs::{MetadataExt, symlink};
use std::time::SystemTime;

use super::*;

const WORKTREE_INDEX: &str = ".git/worktrees/t1/index";

fn content(project: &Project, tree: &TreeId, path: &str) -> String {
    project.git(&["show", &format!("{tree}:{path}")])
}

fn diff(workspace: &Workspace, tree: &TreeId) -> String {
    let patch = workspace.diff(workspace.base(), tree).expect("a diff").expect("git");
    String::from_utf8(patch).expect("UTF-8")
}

/// Stores an object, as an agent can.
fn blob(project: &Project, text: &str) -> String {
    let file = project.temp.path().join("blob");
    write(&file, text);
    project.git(&["hash-object", "-w", file.to_str().expect("UTF-8")]).trim().to_owned()
}

#[test]
fn an_index_entry_that_was_never_on_disk_does_not_count() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    let evil = blob(&project, "evil\n");
    let git = |args: &[&str]| project.git_in(workspace.dir(), args);
    git(&["update-index", "--add", "--cacheinfo", &format!("100644,{evil},hidden.txt")]);
    git(&["update-index", "--skip-worktree", "hidden.txt"]);
    let tree = workspace.snapshot("round-1").expect("a tree");
    assert_eq!(tree, *workspace.base());
}

/// Rewrites the entry of `path` so that git takes the file for unchanged.
fn forge_times(index: &Path, dir: &Path, path: &str) {
    let mut bytes = std::fs::read(index).expect("an index");
    let start = bytes.windows(path.len()).position(|window| window == path.as_bytes()).expect("an entry") - 62;
    let found = dir.join(path).metadata().expect("metadata");
    let number = |value: i64| u32::try_from(value).expect("a small number");
    #[expect(clippy::cast_possible_truncation, reason = "git stores the lower half, too")]
    let (device, inode) = (found.dev() as u32, found.ino() as u32);
    let fields = [
        number(found.ctime()),
        number(found.ctime_nsec()),
        number(found.mtime()),
        number(found.mtime_nsec()),
        device,
        inode,
    ];
    for (position, field) in fields.into_iter().enumerate() {
        bytes[start + 4 * position..][..4].copy_from_slice(&field.to_be_bytes());
    }
    std::fs::write(index, bytes).expect("an index");
}

#[test]
fn forged_times_in_the_index_do_not_hide_what_is_on_disk() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    let file = workspace.dir().join("a.txt");
    write(&file, "evil\n");
    project.git_in(workspace.dir(), &["add", "a.txt"]);
    write(&file, "good\n");
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    std::fs::File::options().write(true).open(&file).expect("a file").set_modified(old).expect("a time");
    forge_times(&project.project_dir.join(WORKTREE_INDEX), workspace.dir(), "a.txt");
    assert_eq!(project.git_in(workspace.dir(), &["diff", "--name-only"]), "", "git believes the index");
    let tree = workspace.snapshot("round-1").expect("a tree");
    assert_eq!(content(&project, &tree, "a.txt"), "good\n");
}

#[test]
fn a_diff_shows_what_the_tree_holds() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    let (good, evil) = (blob(&project, "good\n"), blob(&project, "evil\n"));
    project.git(&["replace", &evil, &good]);
    write(&workspace.dir().join("a.txt"), "evil\n");
    write(&workspace.dir().join(".gitattributes"), "* -diff\n");
    write(&project.project_dir.join(".git/info/attributes"), "* -diff\n");
    let tree = workspace.snapshot("round-1").expect("a tree");
    let diff = diff(&workspace, &tree);
    assert!(diff.contains("\n+evil\n") && !diff.contains("GIT binary patch"), "{diff}");
    workspace.land(&tree, Land::Merge, "x").expect("landed");
    assert_eq!(read(project.project_dir.join("a.txt")), "evil\n", "what the diff showed");
}

/// A `git` that sets a filter just before one of its commands runs, when Belay has already looked at the settings.
fn git_with_flipped_filter(project: &Project, command: &str, filter: &Path) -> Environment {
    let path = std::env::var_os("PATH").expect("PATH");
    let find = |dir: PathBuf| Some(dir.join("git")).filter(|path| path.is_file());
    let real = std::env::split_paths(&path).find_map(find).expect("git");
    let wrapper = project.temp.path().join("bin/git");
    let (real, project_dir) = (real.display(), project.project_dir.display());
    let set = format!(
        "'{real}' -C '{project_dir}' config filter.x.clean '{0}'; '{real}' -C '{project_dir}' config filter.x.smudge '{0}'",
        filter.display()
    );
    let unset = format!("'{real}' -C '{project_dir}' config --remove-section filter.x");
    let script = format!(
        "#!/bin/sh\nfor word; do if [ \"$word\" = {command} ]; then {set}; '{real}' \"$@\"; status=$?; {unset}; exit $status; fi; done\n\
         exec '{real}' \"$@\"\n"
    );
    write(&wrapper, script);
    std::fs::set_permissions(&wrapper, PermissionsExt::from_mode(0o755)).expect("a mode");
    let mut env = project.env().unwrap_or_default();
    env.retain(|(name, _)| name != "PATH");
    let mut dirs = vec![project.temp.path().join("bin")];
    dirs.extend(std::env::split_paths(&path));
    env.push(("PATH".into(), std::env::join_paths(dirs).expect("a path")));
    Some(env)
}

#[test]
fn a_filter_that_is_set_between_check_and_use_does_not_run() {
    for command in ["add", "read-tree", "apply", "merge-tree"] {
        let project = Project::new();
        let workspace = project.create(WorkspaceMode::Worktree);
        let filter = project.temp.path().join("filter");
        let trace = project.temp.path().join("trace");
        write(&filter, format!("#!/bin/sh\necho run >> '{}'\ncat\n", trace.display()));
        std::fs::set_permissions(&filter, PermissionsExt::from_mode(0o755)).expect("a mode");
        write(&workspace.dir().join(".gitattributes"), "* filter=x\n");
        write(&workspace.dir().join("a.txt"), "changed\n");
        project.write("b.txt", "mine\n");
        project.commit("mine");
        let workspace = workspace.with_env(git_with_flipped_filter(&project, command, &filter));
        let tree = workspace.snapshot("round-1").expect("a tree");
        write(&workspace.dir().join("a.txt"), "later\n");
        workspace.restore(&tree).expect("restored");
        workspace.land(&tree, Land::Apply, "x").expect("applied");
        project.git(&["stash", "--quiet", "--include-untracked"]);
        workspace.land(&tree, Land::Merge, "x").expect("merged");
        assert!(!trace.exists(), "{command}");
        assert_eq!(read(project.project_dir.join("a.txt")), "changed\n");
    }
}

#[test]
fn an_index_that_is_no_file_does_not_block_or_leave_the_workspace() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    write(&workspace.dir().join("c.txt"), "c\n");
    let tree = workspace.snapshot("round-1").expect("a tree");
    let (index, target) = (project.project_dir.join(WORKTREE_INDEX), project.temp.path().join("target"));
    std::fs::remove_file(&index).expect("removed");
    assert!(Command::new("mkfifo").arg(&index).status().expect("mkfifo").success());
    assert_eq!(workspace.snapshot("round-2").expect("a tree"), tree);
    workspace.restore(&tree).expect("restored");
    assert_eq!(project.git_in(workspace.dir(), &["status", "--porcelain"]), "?? c.txt\n");
    write(&target, "mine\n");
    std::fs::File::options().write(true).open(&target).expect("a file").set_len(3 << 30).expect("a sparse file");
    std::fs::remove_file(&index).expect("removed");
    symlink(&target, &index).expect("a link");
    assert_eq!(workspace.snapshot("round-2").expect("a tree"), tree);
    workspace.archive(&tree).expect("archived");
    workspace.restore(&tree).expect("restored");
    assert_eq!(target.metadata().expect("metadata").len(), 3 << 30, "nothing is written through the link");
    assert!(!index.is_symlink());
}

#[test]
fn an_index_of_the_person_that_is_no_file_is_an_error() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    write(&workspace.dir().join("c.txt"), "c\n");
    let tree = workspace.snapshot("round-1").expect("a tree");
    let index = project.project_dir.join(".git/index");
    std::fs::rename(&index, project.temp.path().join("index")).expect("moved");
    assert!(Command::new("mkfifo").arg(&index).status().expect("mkfifo").success());
    let error = workspace.land(&tree, Land::Merge, "x").expect_err("refused");
    assert!(error.to_string().contains("cannot read the index"), "{error}");
}

#[test]
fn an_object_under_the_name_of_another_is_neither_shown_nor_landed() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    write(&workspace.dir().join("a.txt"), "evil\n");
    let tree = workspace.snapshot("round-1").expect("a tree");
    let object = |id: &str| project.project_dir.join(".git/objects").join(&id[..2]).join(&id[2..]);
    let (good, evil) = (object(&blob(&project, "good\n")), object(&blob(&project, "evil\n")));
    std::fs::remove_file(&evil).expect("removed");
    std::fs::copy(&good, &evil).expect("copied");
    assert_eq!(content(&project, &tree, "a.txt"), "good\n", "git believes the name");
    let error = workspace.diff(workspace.base(), &tree).expect_err("refused");
    assert!(matches!(error, WorkspaceError::Forged { .. }), "{error}");
    for how in [Land::Merge, Land::Apply] {
        let error = workspace.land(&tree, how, "x").expect_err("refused");
        assert!(matches!(error, LandError::Workspace(WorkspaceError::Forged { .. })), "{error}");
    }
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

/// Puts the content of one object under the name of another.
fn forge(project: &Project, name: &str, content: &str) {
    let object = |id: &str| project.project_dir.join(".git/objects").join(&id[..2]).join(&id[2..]);
    std::fs::remove_file(object(name)).expect("removed");
    std::fs::copy(object(content), object(name)).expect("copied");
}

#[test]
fn a_forged_base_does_not_hide_a_change() {
    for path in ["src/lib.rs", "src"] {
        let project = Project::new();
        let workspace = project.create(WorkspaceMode::Worktree);
        let base = workspace.base().clone();
        write(&workspace.dir().join("src/lib.rs"), "evil\n");
        let first = workspace.snapshot("round-1").expect("a tree");
        write(&workspace.dir().join("src/lib.rs"), "evil\nharmless\n");
        write(&workspace.dir().join("src/new.rs"), "new\n");
        let tree = workspace.snapshot("round-2").expect("a tree");
        let id = |tree: &TreeId, path: &str| project.git(&["rev-parse", &format!("{tree}:{path}")]).trim().to_owned();
        forge(&project, &id(&base, path), &id(&first, path));
        let shown = project.git(&["diff", base.as_str(), tree.as_str()]);
        assert!(!shown.contains("+evil"), "git believes the name: {shown}");
        let error = workspace.diff(&base, &tree).expect_err("refused");
        assert!(matches!(error, WorkspaceError::Forged { .. }), "{path}: {error}");
        for how in [Land::Merge, Land::Apply] {
            let error = workspace.land(&tree, how, "x").expect_err("refused");
            assert!(matches!(error, LandError::Workspace(WorkspaceError::Forged { .. })), "{path}: {error}");
        }
    }
}

#[test]
fn settings_of_the_agent_do_not_change_a_snapshot() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    project.git(&["config", "core.fileMode", "false"]);
    project.git(&["config", "core.bigFileThreshold", "1"]);
    project.git(&["config", "core.excludesFile", "/dev/stdin"]);
    write(&project.project_dir.join(".git/info/exclude"), "*.sh\n");
    write(&workspace.dir().join("run.sh"), "#!/bin/sh\n");
    std::fs::set_permissions(workspace.dir().join("run.sh"), PermissionsExt::from_mode(0o755)).expect("a mode");
    let tree = workspace.snapshot("round-1").expect("a tree");
    let diff = diff(&workspace, &tree);
    assert!(diff.contains("new file mode 100755") && diff.contains("\n+#!/bin/sh\n"), "{diff}");
}

#[test]
fn a_task_of_an_older_belay_goes_on() {
    let project = Project::new();
    project.git(&["config", "filter.x.clean", "tr a b"]);
    let workspace = project.create(WorkspaceMode::Worktree);
    // An older one made no directory of its own.
    std::fs::remove_dir_all(project.temp.path().join("worktrees/t1.git")).expect("removed");
    write(&workspace.dir().join(".gitattributes"), "*.x filter=x\n");
    write(&workspace.dir().join("a.x"), "a\n");
    let tree = workspace.snapshot("round-1").expect("a tree");
    assert_eq!(content(&project, &tree, "a.x"), "b\n");
    workspace.restore(&tree).expect("restored");
    std::fs::remove_dir_all(project.temp.path().join("worktrees/t1.git")).expect("removed");
    workspace.land(&tree, Land::Merge, "x").expect("landed");
    assert_eq!(workspace.remove(&tree, false).expect("removed"), Removed::Removed);
}

#[test]
fn what_a_sparse_checkout_leaves_out_stays() {
    let project = Project::new();
    project.write("out/left.txt", "left out\n");
    project.commit("more");
    project.git(&["sparse-checkout", "set", "src"]);
    let workspace = project.create(WorkspaceMode::Worktree);
    assert!(!workspace.dir().join("out").exists());
    write(&workspace.dir().join("src/new.rs"), "new\n");
    let tree = workspace.snapshot("round-1").expect("a tree");
    assert_eq!(content(&project, &tree, "out/left.txt"), "left out\n");
    workspace.restore(&tree).expect("restored");
    workspace.land(&tree, Land::Merge, "x").expect("landed");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    assert!(!project.project_dir.join("out").exists() && project.project_dir.join("src/new.rs").exists());
}

#[test]
fn a_repository_of_sha256_has_snapshots_and_lands() {
    let project = Project::without_git();
    project.git(&["init", "--quiet", "--initial-branch=main", "--object-format=sha256"]);
    project.write("a.txt", "one\n");
    project.commit("first");
    let workspace = project.create(WorkspaceMode::Worktree);
    write(&workspace.dir().join("a.txt"), "two\n");
    let tree = workspace.snapshot("round-1").expect("a tree");
    assert_eq!(tree.as_str().len(), 64);
    workspace.land(&tree, Land::Merge, "x").expect("landed");
    assert_eq!(read(project.project_dir.join("a.txt")), "two\n");
}

#[test]
fn shallow_clones_and_split_indexes_work() {
    let origin = Project::new();
    let project = Project::without_git();
    let source = format!("file://{}", origin.project_dir.display());
    project.git(&["clone", "--quiet", "--depth=1", &source, "."]);
    project.git(&["config", "core.splitIndex", "true"]);
    project.git(&["update-index", "--split-index"]);
    let workspace = project.create(WorkspaceMode::Worktree);
    write(&workspace.dir().join("a.txt"), "two\n");
    let tree = workspace.snapshot("round-1").expect("a tree");
    project.write("mine.txt", "mine\n");
    project.commit("mine");
    workspace.land(&tree, Land::Merge, "x").expect("landed");
    assert_eq!(
        (read(project.project_dir.join("a.txt")), project.git(&["status", "--porcelain"])),
        ("two\n".into(), String::new())
    );
}

#[test]
fn a_linked_worktree_of_the_person_can_be_the_project() {
    let project = Project::new();
    let linked = project.temp.path().join("linked");
    project.git(&["worktree", "add", "--quiet", "-b", "side", linked.to_str().expect("UTF-8")]);
    for (id, mode) in [("t1", WorkspaceMode::InPlace), ("t2", WorkspaceMode::Worktree)] {
        let spec = WorkspaceSpec { id: id.to_owned(), project_dir: linked.clone(), ..project.spec(mode) };
        let workspace = create(&spec).expect("a workspace");
        write(&workspace.dir().join(id), "new\n");
        let tree = workspace.snapshot("round-1").expect("a tree");
        assert_eq!(workspace.modified(&tree, workspace.base()).expect("files"), [id]);
        workspace.land(&tree, Land::Merge, "x").expect("landed");
        assert!(linked.join(id).exists());
        if mode == WorkspaceMode::InPlace {
            commit(&project, &linked, "all");
        }
    }
    assert_eq!(project.git_in(&linked, &["status", "--porcelain"]), "");
    assert_eq!(project.git(&["status", "--porcelain"]), "", "the main worktree is as it was");
}

#[test]
fn a_partial_clone_needs_no_objects_that_are_elsewhere() {
    let origin = Project::new();
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    origin.write("a.txt", "newer\n");
    origin.commit("third");
    let project = Project::without_git();
    project.git(&["clone", "--quiet", "--filter=blob:none", &format!("file://{}", origin.project_dir.display()), "."]);
    std::fs::remove_dir_all(&origin.project_dir).expect("removed");
    let workspace = project.create(WorkspaceMode::Worktree);
    write(&workspace.dir().join("a.txt"), "two\n");
    let tree = workspace.snapshot("round-1").expect("a tree");
    project.write("mine.txt", "mine\n");
    project.commit("mine");
    workspace.land(&tree, Land::Merge, "x").expect("landed");
    assert_eq!(read(project.project_dir.join("a.txt")), "two\n");
}
