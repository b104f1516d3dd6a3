//! `belay config set` changes one value and nothing else.

use crate::world::World;
use belay_config::{ConfigKey, Edit, EditError, Source};

fn set(world: &World, key: &str, value: &str) -> Result<String, EditError> {
    let path = world.paths().config_file().to_path_buf();
    let mut edit = Edit::open(&path, Source::User(path.clone()))?;
    edit.set(&ConfigKey::parse(key).unwrap(), value)?;
    edit.save()?;
    Ok(std::fs::read_to_string(path).unwrap())
}

#[test]
fn comments_order_and_layout_stay() {
    let world = World::new();
    world.user_config(
        "# mine\n\n[serve]   # where\n  listen = '127.0.0.1:1' # the old one\n\n# quiet\n[log]\nlevel=\"info\"\n",
    );
    set(&world, "serve.listen", "127.0.0.1:2").unwrap();
    set(&world, "serve.http", "off").unwrap();
    insta::assert_snapshot!(set(&world, "detect.dry_run", "true").unwrap(), @r#"
    # mine

    [serve]   # where
      listen = "127.0.0.1:2" # the old one
    http = false

    # quiet
    [log]
    level="info"

    [detect]
    dry_run = true
    "#);
}

#[test]
fn a_new_file_is_made_with_its_dirs() {
    let world = World::new();
    assert_eq!(set(&world, "log.max_files", "7").unwrap(), "[log]\nmax_files = 7\n");
}

#[test]
fn invalid_values_and_unknown_keys_write_nothing() {
    let world = World::new();
    let path = world.user_config("[log]\nlevel = \"info\" # keep\n");
    let refused = [
        set(&world, "log.level", "loud"),
        set(&world, "log.max_files", "-1"),
        set(&world, "log.max_files", "many"),
        set(&world, "log.levle", "debug"),
        set(&world, "log", "debug"),
        set(&world, "serve.listen", "everywhere:80"),
    ];
    let refused: Vec<String> = refused.into_iter().map(|result| world.plain(result.unwrap_err())).collect();
    insta::assert_snapshot!(refused.join("\n"), @r"
    `log.level`: unknown variant `loud`, expected one of `error`, `warn`, `info`, `debug`, `trace`
    `log.max_files`: invalid value: integer `-1`, expected u16
    `log.max_files`: `many` is not an integer
    unknown key `log.levle`
    `log`: is a section; use a key inside it
    `serve.listen`: invalid address `everywhere:80`; use for example 127.0.0.1:8787
    ");
    assert_eq!(std::fs::read_to_string(path).unwrap(), "[log]\nlevel = \"info\" # keep\n");
}

#[test]
fn unset_takes_one_key_out() {
    let world = World::new();
    let path = world.user_config("[log]\n# a\nlevel = \"info\"\nmax_files = 2\n");
    let mut edit = Edit::open(&path, Source::User(path.clone())).unwrap();
    assert!(edit.unset(&ConfigKey::parse("log.level").unwrap()));
    assert!(!edit.unset(&ConfigKey::parse("log.level").unwrap()));
    assert_eq!(edit.text(), "[log]\nmax_files = 2\n");
}

#[cfg(unix)]
#[test]
fn a_linked_file_stays_where_it_is_with_its_mode() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let world = World::new();
    let real = world.write("dotfiles/belay.toml", "[log]\nlevel = \"info\"\n");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    let link = world.paths().config_file().to_path_buf();
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink(&real, &link).unwrap();
    set(&world, "log.level", "debug").unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(std::fs::read_to_string(&real).unwrap(), "[log]\nlevel = \"debug\"\n");
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
}

#[cfg(unix)]
#[test]
fn a_projects_link_or_pipe_is_neither_read_nor_written() {
    use std::os::unix::fs::symlink;
    let world = World::new();
    let other = world.write("other.toml", "[log]\nlevel = \"info\"\n");
    let dir = world.project();
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join(belay_config::PROJECT_FILE);
    let source = Source::Project { path: path.clone(), trusted: false };
    let open = || Edit::open(&path, source.clone());

    symlink(&other, &path).unwrap();
    let error = open().unwrap_err();
    assert!(error.to_string().ends_with("is a symbolic link, which is not followed"), "{error}");
    std::fs::remove_file(&path).unwrap();
    // Without a non-blocking open, this hangs.
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(open().unwrap_err().to_string().ends_with("is not a regular file"));
    std::fs::remove_file(&path).unwrap();

    // A link that appears while the edit is in progress is replaced.
    let mut edit = open().unwrap();
    edit.set(&ConfigKey::parse("detect.max_nudges").unwrap(), "1").unwrap();
    symlink(&other, &path).unwrap();
    edit.save().unwrap();
    assert!(path.symlink_metadata().unwrap().is_file());
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "[log]\nlevel = \"info\"\n");
}
