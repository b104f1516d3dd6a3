//! Effects of commands, and when two are equal.

use proptest::prelude::*;
use serde_json::json;

use super::super::Action;
use super::{action, run};
use crate::event::CheckKind;

#[test]
fn wrapping_shells_and_redirections_do_not_matter() {
    let plain = run("pytest tests/test_a.py -x");
    for dressed in [
        "cd /repo && pytest tests/test_a.py -x",
        "pytest tests/test_a.py -x 2>&1",
        "pytest tests/test_a.py -x 2>&1 | tail -20",
        "cd /repo && pytest   tests/test_a.py -x 2>&1 | head -n 50 | cat",
        "timeout 60 pytest tests/test_a.py -x",
        "time pytest tests/test_a.py -x > /dev/null",
        "pytest tests/test_a.py -x; echo \"exit: $?\"",
        "pytest tests/test_a.py -x || true",
        "bash -lc 'pytest tests/test_a.py -x'",
        "pytest 'tests/test_a.py' \\\n  -x",
        "set -euo pipefail; cd /repo; pytest tests/test_a.py -x | tee /tmp/log",
        "pytest tests/test_a.py -x &> /tmp/out.txt",
    ] {
        assert!(plain.same_as(&run(dressed)), "{dressed}");
        assert_eq!(run(dressed).check, Some(CheckKind::Test), "{dressed}");
    }
    assert!(!plain.same_as(&run("pytest tests/test_b.py -x")));
    assert!(!plain.same_as(&run("pytest tests/test_a.py")));
}

#[test]
fn the_same_command_in_another_directory_is_another_action() {
    assert!(!run("cd /a && npm test").same_as(&run("cd /b && npm test")));
    assert!(run("cd /a && npm test").same_as(&run("npm test")));
    let here = action("exec_command", json!({"cmd": "ls", "workdir": "/a", "yield_time_ms": 1000}));
    let same = action("exec_command", json!({"cmd": "ls", "workdir": "/a/", "max_output_tokens": 10}));
    let there = action("exec_command", json!({"cmd": "ls", "workdir": "/b"}));
    assert!(here.same_as(&same));
    assert!(!here.same_as(&there));
}

#[test]
fn agents_wrap_commands_differently() {
    let plain = run("git status --short");
    assert!(plain.same_as(&action("shell", json!({"command": ["bash", "-lc", "git status --short"]}))));
    assert!(plain.same_as(&action("shell_command", json!({"command": "git status --short", "timeout_ms": 1000}))));
    assert!(plain.same_as(&action("run_shell_command", json!({"command": "git status --short", "description": "d"}))));
}

#[test]
fn random_names_and_times_do_not_matter() {
    assert!(run("cat /tmp/tmp.Ab12Cd34Ef/out").same_as(&run("cat /tmp/tmp.Zz98Yy76Xx/out")));
    assert!(run("deploy --at 2026-11-15T10:00:00Z").same_as(&run("deploy --at 2026-11-15T11:30:00Z")));
    assert!(!run("sleep 5").same_as(&run("sleep 50")));
    assert_eq!(run("sleep 5").skeleton, run("sleep 50").skeleton);
    assert!(!run("cat /tmp/one.py").same_as(&run("cat /tmp/two.py")));
}

#[test]
fn ranges_stay_part_of_the_key() {
    assert!(!run("sed -n '1,20p' a.py").same_as(&run("sed -n '21,40p' a.py")));
    assert_eq!(run("sed -n '1,20p' a.py").target, run("sed -n '21,40p' a.py").target);
    assert_ne!(run("cat a.py | head -50").look, run("cat a.py | head -100 | tail -50").look);
}

#[test]
fn commands_that_change_files() {
    for command in [
        "sed -i 's/a/b/' src/a.py",
        "echo x > out.txt",
        "echo x >> notes.md",
        "cat <<'EOF' > /tmp/repro.py\nprint(1)\nEOF",
        "rm -rf build",
        "git add -A && git stash",
        "python - <<'EOF'\nfrom pathlib import Path\nPath('a').write_text('x')\nEOF",
        "find . -name '*.pyc' -delete",
        "npm install left-pad",
        "black src",
        "sudo tee /etc/hosts < hosts",
        "perl -pi -e 's/a/b/' f",
    ] {
        assert!(run(command).mutates, "{command}");
        assert_eq!(run(command).look, None, "{command}");
    }
    for command in [
        "ls -la",
        "grep -rn 'a > b' src",
        "sed -n 1,5p a.txt",
        "cat a.txt 2>/dev/null",
        "git log --oneline | head",
        "find . -name '*.rs' | xargs wc -l",
        "git diff HEAD~1 -- src",
        "awk '{print $1 > 2}' a.txt",
    ] {
        assert!(!run(command).mutates, "{command}");
        assert!(run(command).look.is_some(), "{command}");
    }
}

#[test]
fn commands_that_run_checks() {
    for (command, check) in [
        ("cargo test -p core", CheckKind::Test),
        ("cargo +nightly nextest run", CheckKind::Test),
        ("cargo build --release", CheckKind::Build),
        ("cargo clippy --all-targets", CheckKind::Lint),
        ("python3 -m pytest -q", CheckKind::Test),
        ("python3.11 -m unittest discover", CheckKind::Test),
        ("python manage.py test app", CheckKind::Test),
        ("PYTHONPATH=. ./tests/runtests.py forms", CheckKind::Test),
        ("npm test", CheckKind::Test),
        ("npm run lint", CheckKind::Lint),
        ("pnpm run build", CheckKind::Build),
        ("npx tsc --noEmit", CheckKind::Lint),
        ("npx vitest run", CheckKind::Test),
        ("uv run pytest", CheckKind::Test),
        ("poetry run mypy src", CheckKind::Lint),
        ("go test ./...", CheckKind::Test),
        ("go vet ./...", CheckKind::Lint),
        ("make", CheckKind::Build),
        ("make -j8 check", CheckKind::Test),
        ("cmake --build build", CheckKind::Build),
        ("ctest --output-on-failure", CheckKind::Test),
        ("./gradlew test --info", CheckKind::Test),
        ("mvn -q test", CheckKind::Test),
        ("dotnet test", CheckKind::Test),
        ("bundle exec rspec", CheckKind::Test),
        ("ruff check .", CheckKind::Lint),
        ("cargo build && cargo test", CheckKind::Test),
        ("cargo xtask test unit", CheckKind::Test),
        ("env RUST_BACKTRACE=1 timeout -k 5 100 cargo test", CheckKind::Test),
    ] {
        assert_eq!(run(command).check, Some(check), "{command}");
    }
    for command in
        ["ls tests", "grep -rn pytest .", "cat Makefile", "git commit -m 'make tests pass'", "python main.py"]
    {
        assert_eq!(run(command).check, None, "{command}");
    }
}

#[test]
fn commits_and_polls() {
    assert!(run("git add -A && git commit -m 'x'").commits);
    assert!(run("git -C sub commit --amend").commits);
    assert!(!run("git log --grep commit").commits);
    for command in [
        "sleep 30",
        "sleep 30 && tail -5 build.log",
        "tail -f log",
        "gh pr checks 12 --watch",
        "gh run view 123",
        "kubectl get pods",
        "docker ps",
        "until curl -sf localhost:8080; do sleep 1; done",
        "while ! test -f done; do sleep 5; done",
        "ps aux | grep node",
        "nvidia-smi",
    ] {
        assert!(run(command).poll, "{command}");
    }
    for command in ["node server.js & sleep 2; curl localhost:3000", "rm x; sleep 1", "cat a", "echo sleep"] {
        assert!(!run(command).poll, "{command}");
    }
}

#[test]
fn code_is_not_parsed_as_shell() {
    let code = action("python", json!("x = 1 > 2\nprint(x)"));
    assert!(!code.mutates);
    assert!(action("ipython", json!({"code": "open('a', 'w').write('x')"})).mutates);
}

#[test]
fn shape_is_program_subcommand_and_target() {
    assert_eq!(run("git log -5").shape, run("git log --oneline").shape);
    assert_ne!(run("git log -5").shape, run("git show").shape);
    assert_eq!(run("grep -n foo src/a.py").shape, run("grep -n bar src/a.py").shape);
    assert_eq!(run("cat src/a.py").target, action("Read", json!({"file_path": "src/a.py"})).target);
}

proptest! {
    #[test]
    fn any_command_is_parsed(command in "[a-z][a-z '\"$(){}<>|&;\\\\\\n`#=/.!0-9-]{0,80}") {
        let (action, salient) = Action::from_tool_call(super::super::ToolKind::Shell, "Bash", &json!({"command": command}));
        prop_assert_eq!(salient, command.trim());
        prop_assert!(action.same_as(&run(&command)));
    }

    #[test]
    fn a_filter_never_changes_the_key(command in "[a-z]{1,8}( [a-z/.-]{1,8}){0,4}", lines in 1..500u32) {
        let filtered = format!("{command} 2>&1 | tail -n {lines}");
        prop_assert!(run(&command).same_as(&run(&filtered)));
    }
}

#[test]
fn container_commands_count_as_the_inner_program() {
    for tests in [
        "docker exec -it web pytest -q",
        "docker compose exec -T web pytest -q",
        "docker-compose -f ci.yml run --rm web pytest -q",
        "docker run --rm -v /repo:/repo -w /repo python:3 pytest -q",
        "kubectl exec -n shop web-0 -- pytest -q",
    ] {
        assert_eq!(run(tests).check, Some(CheckKind::Test), "{tests}");
    }
    assert_eq!(run("docker compose build web").check, Some(CheckKind::Build));
    for changes in
        ["docker compose up -d", "docker compose -f ci.yml restart web", "docker-compose down", "make restart"]
    {
        let action = run(changes);
        assert!(action.mutates && action.check.is_none() && !action.poll, "{changes}");
    }
    for polls in ["docker compose ps", "docker compose logs --tail 20 web", "make status", "lsof -i :3000"] {
        let action = run(polls);
        assert!(action.poll && action.check.is_none() && !action.mutates, "{polls}");
    }
    for others in ["make serve", "next dev", "playwright codegen", "hatch env show", "gradle dependencies"] {
        assert_eq!(run(others).check, None, "{others}");
    }
}

#[test]
fn reading_a_growing_file_is_polling() {
    for polls in ["tail -n 20 build.log", "cat /tmp/claude/tasks/b1.output", "tail -f nohup.out"] {
        let action = run(polls);
        assert!(action.poll && action.look.is_some(), "{polls}");
    }
    assert!(!run("cat src/log.rs").poll);
    let read = action("Read", json!({"file_path": "/tmp/tasks/b1.output"}));
    assert!(read.poll && read.look.is_some());
    assert!(!action("Read", json!({"file_path": "/repo/output.rs"})).poll);
}
