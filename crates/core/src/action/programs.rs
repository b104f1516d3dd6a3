//! Effects of programs, as data: which read, change files, wait, or run checks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Effect of running a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProgramEffect {
    /// Shows something without changing anything.
    Look,
    /// Changes files or other lasting state.
    Change,
    /// Waits, or checks on something that runs.
    Poll,
    /// Makes a commit.
    Commit,
    Test,
    Build,
    Lint,
    /// Neither a read nor a check; its effects are unknown.
    Other,
}

use ProgramEffect::*;

/// Effect of `program subcommand`; `None` if unlisted.
pub(super) fn program_effect(program: &str, subcommand: Option<&str>) -> Option<ProgramEffect> {
    let table = &*TABLE;
    let by_subcommand = subcommand.and_then(|sub| table.subcommands.get(&(program, sub)));
    by_subcommand.or_else(|| table.programs.get(program)).copied()
}

/// Whether the effects of this program are known, by itself or by its subcommands.
pub(super) fn is_listed(program: &str) -> bool {
    TABLE.programs.contains_key(program) || TABLE.with_subcommands.contains(program) || INTERPRETERS.contains(&program)
}

/// Programs with subcommands.
pub(super) fn has_subcommands(program: &str) -> bool {
    TABLE.with_subcommands.contains(program)
}

struct ProgramTable {
    programs: BTreeMap<&'static str, ProgramEffect>,
    subcommands: BTreeMap<(&'static str, &'static str), ProgramEffect>,
    with_subcommands: BTreeSet<&'static str>,
}

static TABLE: LazyLock<ProgramTable> = LazyLock::new(|| {
    let mut table =
        ProgramTable { programs: BTreeMap::new(), subcommands: BTreeMap::new(), with_subcommands: BTreeSet::new() };
    for (does, programs) in PROGRAMS {
        table.programs.extend(programs.split_ascii_whitespace().map(|program| (program, *does)));
    }
    for (programs, subcommands, does) in SUBCOMMANDS {
        for program in programs.split_ascii_whitespace() {
            table.with_subcommands.insert(program);
            table.subcommands.extend(subcommands.split_ascii_whitespace().map(|sub| ((program, sub), *does)));
        }
    }
    table
});

/// Subcommands and their effects. Later rows override earlier ones.
#[rustfmt::skip]
const SUBCOMMANDS: &[(&str, &str, ProgramEffect)] = &[
    ("git", "commit", Commit),
    ("git", "status diff log show blame branch grep ls-files rev-parse remote describe ls-tree cat-file shortlog \
      reflog config rev-list merge-base tag show-ref diff-tree", Look),
    ("git", "add am apply checkout cherry-pick clean clone init merge mv pull push rebase reset restore revert rm \
      stash switch worktree fetch update-index", Change),
    ("cargo", "test nextest t miri bench", Test),
    ("cargo", "build b check c run r doc rustc", Build),
    ("cargo", "clippy fmt deny audit udeps", Lint),
    ("cargo", "add remove fix update init new install clean", Change),
    ("cargo", "metadata tree search pkgid", Look),
    ("go", "test", Test),
    ("go", "build install run generate", Build),
    ("go", "vet", Lint),
    ("go", "get mod fmt work", Change),
    ("go", "list doc env version", Look),
    ("npm pnpm yarn bun", "test t vitest jest mocha tst", Test),
    ("npm pnpm yarn bun", "build compile bundle", Build),
    ("npm pnpm yarn bun", "lint typecheck type-check check eslint tsc format:check", Lint),
    ("npm pnpm yarn bun", "install i ci add remove uninstall rm update up link dedupe init", Change),
    ("npm pnpm yarn bun", "ls list view info outdated why config", Look),
    ("deno", "test", Test),
    ("deno", "lint check fmt", Lint),
    ("mvn mvnw", "test verify integration-test surefire:test", Test),
    ("mvn mvnw", "compile package install test-compile", Build),
    ("gradle gradlew", "test check connectedAndroidTest testDebugUnitTest", Test),
    ("gradle gradlew", "build assemble compileJava compileKotlin classes assembleDebug", Build),
    ("gradle gradlew", "lint ktlintCheck detekt spotlessCheck", Lint),
    ("dotnet", "test vstest", Test),
    ("dotnet", "build publish msbuild run", Build),
    ("dotnet", "format", Lint),
    ("dotnet", "add restore new remove tool", Change),
    ("swift mix bazel bazelisk buck2 zig dart flutter sbt lein stack cabal dune xcodebuild meson rebar3 nx \
      turbo ng elixir crystal forge", "test tests", Test),
    ("swift bazel bazelisk buck2 zig dart flutter stack cabal dune xcodebuild meson nx turbo ng forge vite next \
      webpack cmake", "build compile --build", Build),
    ("mix sbt", "compile", Build),
    ("dart flutter", "analyze", Lint),
    ("mix", "credo format dialyzer", Lint),
    ("make gmake just task rake ninja invoke tox nox xtask", "test tests check unit spec unittest unit-test test-unit integration", Test),
    ("make gmake just task rake ninja xtask", "lint fmt format typecheck clippy", Lint),
    ("make gmake just task", "install clean up down start stop restart deploy migrate seed", Change),
    ("make gmake just task", "logs ps status", Poll),
    ("make gmake just task", "help list --list", Look),
    ("make gmake just task rake", "run serve server dev watch shell console", Other),
    ("vite next hugo mkdocs ng webpack nx turbo", "dev serve server start preview", Other),
    ("mvn mvnw gradle gradlew", "dependencies tasks projects properties dependency:tree help", Look),
    ("mvn mvnw gradle gradlew", "clean", Build),
    ("bazel bazelisk buck2", "query cquery aquery info version", Look),
    ("hatch", "test", Test),
    ("hatch", "build", Build),
    ("playwright cypress pre-commit tox nox", "install install-deps uninstall autoupdate", Change),
    ("playwright cypress", "open codegen show-report show-trace verify", Other),
    ("ruff", "check", Lint),
    ("biome oxlint", "check lint ci", Lint),
    ("pip pip3 uv poetry conda mamba pipx pdm gem bundle composer apt apt-get brew dnf yum apk pacman", "install uninstall add remove sync update upgrade lock pip", Change),
    ("pip pip3 conda gem brew apt poetry uv", "list show freeze info search tree", Look),
    ("docker podman nerdctl docker-compose podman-compose", "ps logs inspect wait stats top port events", Poll),
    ("docker podman nerdctl docker-compose podman-compose", "images info version history search config ls", Look),
    ("docker podman nerdctl docker-compose podman-compose", "build buildx", Build),
    ("docker podman nerdctl docker-compose podman-compose", "run exec rm rmi stop start restart kill pull push up down \
      create pause unpause cp prune tag load import", Change),
    ("kubectl oc", "get logs describe rollout wait top", Poll),
    ("kubectl oc helm terraform tofu pulumi", "apply delete create scale patch install upgrade destroy up edit set", Change),
    ("systemctl service supervisorctl pm2 launchctl", "status list logs is-active show", Poll),
    ("systemctl service supervisorctl pm2", "start stop restart reload enable disable", Change),
    ("tmux", "capture-pane ls list-sessions list-panes has-session wait-for", Poll),
    ("helm terraform tofu aws gcloud az fly flyctl vercel heroku workmux argo sacct", "status list show logs get", Poll),
];

/// Programs with one effect, or with this effect by default.
#[rustfmt::skip]
const PROGRAMS: &[(ProgramEffect, &str)] = &[
    (Look, "ls ll dir cat bat head tail less more nl grep egrep fgrep rg ag ack find fd tree wc file stat du df pwd \
      which whereis type whoami id uname env printenv echo printf sort uniq cut tr awk gawk sed jq yq diff cmp \
      comm hexdump xxd od strings readlink realpath basename dirname test [ [[ true false : column md5sum \
      sha1sum sha256sum tac rev paste date man help history locate cloc tokei nm objdump ldd otool readelf \
      identify exiftool pdftotext zcat zgrep get-content get-childitem select-string cd pushd popd set export \
      source . unset shopt declare local alias ulimit umask hash fold expand seq tput clear ffprobe dig host \
      nslookup hostname arch nproc free lscpu"),
    (Change, "rm mv cp mkdir rmdir touch ln chmod chown tee dd truncate install rsync patch unzip zip tar gzip gunzip \
      apply_patch applypatch isort autopep8 ed ex sponge shred mkfifo mktemp set-content add-content new-item \
      remove-item move-item copy-item out-file wget 2to3 autoflake pyupgrade jscodeshift sd crontab useradd \
      adduser patchelf strip"),
    (Poll, "sleep wait watch start-sleep ps pgrep jobs top htop nvidia-smi squeue sinfo qstat fg journalctl uptime \
      inotifywait timeout-wait wait-for-it vmstat iostat lsof netstat ss ping pg_isready nc"),
    (Test, "pytest py.test unittest nose2 nosetests tox nox jest vitest mocha ava tap karma cypress playwright rspec \
      minitest phpunit pest ctest gtest bats busted doctest behave cucumber robot ginkgo gotestsum nextest \
      prove trial xctest stestr runtests lit"),
    (Build, "make gmake ninja cmake gcc g++ clang clang++ cc c++ rustc javac kotlinc scalac msbuild webpack rollup \
      esbuild vite tsup swc parcel next mvn mvnw gradle gradlew bazel scons latexmk pdflatex xelatex lualatex \
      nvcc ghc ocamlfind dune zig tsc-build protoc sphinx-build mkdocs hugo compileall py_compile xcodebuild \
      ant build nasm as ld solc forge"),
    (Lint, "eslint ruff flake8 pylint mypy pyright basedpyright tsc vue-tsc prettier biome oxlint stylelint \
      golangci-lint staticcheck shellcheck rubocop clippy-driver clang-tidy cppcheck black gofmt goimports \
      rustfmt hadolint yamllint markdownlint pycodestyle pydocstyle bandit pre-commit phpstan psalm ktlint \
      detekt checkstyle swiftlint actionlint tflint sqlfluff xmllint jsonlint standard ty pyflakes vulture \
      codespell"),
];

/// Whether `program verb` or `program noun verb` of an unlisted program changes something: `bd close`, `jira issue move`.
pub(super) fn has_changing_verb<'a>(args: impl Iterator<Item = &'a str>) -> bool {
    let mut words = args.filter(|arg| !arg.starts_with('-')).take(2);
    words.any(|word| CHANGING_VERBS.split_ascii_whitespace().any(|verb| verb == word))
}

/// Verbs by which programs name an effect that lasts.
const CHANGING_VERBS: &str = "\
    activate add append apply approve archive assign attach cancel checkin checkout claim clean clone close comment \
    commit complete configure convert copy create cut deactivate delete deploy detach develop disable done down drop \
    edit enable fix flush format generate import init insert install invite kill label launch link load lock login \
    logout mark merge migrate modify move mv new patch post promote provision prune publish pull purge push put \
    rebase register reject release reload remove rename reopen replace reset resolve restart restore resume revoke \
    rm rollback save schedule seed send set setup spawn start stop submit switch sync tag trigger unassign unblock \
    uninstall unlink unlock unset up update upgrade upload use write";

/// The same for the names of tools, which also act on what is shown: `browser_click`.
const CHANGING_TOOL_VERBS: &str = "click drag fill navigate press scroll select swipe tap type";

/// Whether the words of a tool's name say that it changes something: `create_issue`, `browser_click`.
pub(super) fn is_changing_tool<'a>(words: impl Iterator<Item = &'a str>) -> bool {
    words.take(2).any(|word| {
        let verbs = CHANGING_VERBS.split_ascii_whitespace().chain(CHANGING_TOOL_VERBS.split_ascii_whitespace());
        verbs.into_iter().any(|verb| verb == word)
    })
}

/// Whether a command may take earlier edits away.
pub(super) fn restores_files(program: &str, subcommand: Option<&str>) -> bool {
    const RESTORING: &str = "abandon apply backout cherry-pick checkout clean edit goto merge new pull rebase reset \
        restore revert shelve stash switch undo unshelve up update";
    match program {
        // A copy that was kept, or a patch that is taken out again.
        "cp" | "patch" | "rsync" => true,
        "git" | "jj" | "hg" | "sl" | "svn" => {
            subcommand.is_some_and(|sub| RESTORING.split_ascii_whitespace().any(|restoring| restoring == sub))
        }
        _ => false,
    }
}

/// Programs whose non-zero exit is an answer: nothing found, files differ, not there.
pub(super) fn is_probe(program: &str, subcommand: Option<&str>) -> bool {
    match program {
        "git" => matches!(
            subcommand,
            Some("grep" | "diff" | "ls-files" | "rev-parse" | "show-ref" | "merge-base" | "diff-tree" | "config")
        ),
        _ => matches!(
            program,
            "grep"
                | "egrep"
                | "fgrep"
                | "rg"
                | "ag"
                | "ack"
                | "zgrep"
                | "diff"
                | "cmp"
                | "comm"
                | "test"
                | "["
                | "[["
                | "ls"
                | "ll"
                | "dir"
                | "find"
                | "fd"
                | "which"
                | "type"
                | "whereis"
                | "stat"
                | "file"
                | "pgrep"
                | "select-string"
                | "get-childitem"
                | "locate"
                | "dig"
                | "host"
                | "nslookup"
        ),
    }
}

/// Whether a running program writes this file continuously, so that reading it again is polling.
pub(super) fn appends_output(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(_, ext)| matches!(ext, "log" | "out" | "output" | "pid" | "status"))
}

/// Programs that run another program given as their arguments.
#[rustfmt::skip]
pub(super) fn is_runner(program: &str) -> bool {
    matches!(
        program,
        "sudo" | "doas" | "env" | "time" | "nice" | "ionice" | "nohup" | "setsid" | "stdbuf" | "unbuffer"
            | "command" | "builtin" | "exec" | "eval" | "xvfb-run" | "xargs" | "strace" | "ltrace" | "valgrind"
            | "npx" | "bunx" | "pnpx" | "uvx" | "timeout" | "gtimeout" | "chronic" | "caffeinate" | "coverage"
    )
}

/// `tool run program`: pairs that run another program.
pub(super) const RUNNER_SUBCOMMANDS: &[(&str, &str)] = &[
    ("uv", "run"),
    ("poetry", "run"),
    ("pipenv", "run"),
    ("pdm", "run"),
    ("hatch", "run"),
    ("rye", "run"),
    ("pixi", "run"),
    ("conda", "run"),
    ("pnpm", "exec"),
    ("pnpm", "dlx"),
    ("npm", "exec"),
    ("yarn", "exec"),
    ("yarn", "dlx"),
    ("bundle", "exec"),
    ("coverage", "run"),
    ("npm", "run"),
    ("npm", "run-script"),
    ("pnpm", "run"),
    ("yarn", "run"),
    ("bun", "run"),
    ("deno", "task"),
    ("cargo", "xtask"),
];

/// Shells that take a script as an argument.
pub(super) const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "fish", "powershell", "pwsh", "cmd"];

/// Interpreters: the program is the first positional argument, or follows `-c`/`-e`.
pub(super) const INTERPRETERS: &[&str] = &[
    "python", "python2", "python3", "ipython", "node", "nodejs", "ruby", "perl", "php", "lua", "Rscript", "julia",
    "tsx", "ts-node", "deno", "bun", "java", "pypy", "pypy3",
];

/// Shell keywords that precede a program.
pub(super) const SHELL_KEYWORDS: &[&str] =
    &["if", "then", "else", "elif", "while", "until", "do", "!", "{", "}", "(", "time", "function"];

/// Shell keywords that run nothing.
pub(super) const SHELL_STRUCTURE_WORDS: &[&str] =
    &["for", "done", "fi", "esac", "case", "select", "in", "break", "continue", "return", "exit"];

/// Code snippets that write files without a listed program.
pub(super) const FILE_WRITING_SNIPPETS: &[&str] = &[
    ".write(",
    ".write_text(",
    ".write_bytes(",
    ".writelines(",
    "writeFile",
    "File.write",
    "os.remove(",
    "os.rename(",
    "os.makedirs(",
    "os.unlink(",
    "shutil.",
    ".unlink(",
    ".mkdir(",
    ".to_csv(",
    ".savefig(",
    "json.dump(",
    "pickle.dump(",
    "fs.rm",
    "fs.rename",
    "FileUtils.",
];
