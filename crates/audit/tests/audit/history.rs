//! Generated Claude Code histories.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A session that is being written.
pub(crate) struct History {
    id: String,
    cwd: String,
    sub_agent: Option<String>,
    lines: Vec<String>,
    next: u32,
    minute: u32,
}

impl History {
    pub(crate) fn new(id: u32, project: &str) -> Self {
        Self {
            id: format!("{id:08}-0000-4000-8000-000000000000"),
            cwd: format!("/home/user/{project}"),
            sub_agent: None,
            lines: Vec::new(),
            next: 0,
            minute: id * 10,
        }
    }

    /// A sub-agent of this session.
    pub(crate) fn sub_agent(&self, agent: &str) -> Self {
        Self {
            sub_agent: Some(agent.to_owned()),
            lines: Vec::new(),
            next: 900,
            cwd: self.cwd.clone(),
            id: self.id.clone(),
            minute: self.minute,
        }
    }

    /// A fork: a copy of everything so far under another id.
    pub(crate) fn fork(&self, id: u32) -> Self {
        let other = format!("{id:08}-0000-4000-8000-000000000000");
        Self {
            lines: self.lines.iter().map(|line| line.replace(&self.id, &other)).collect(),
            id: other,
            cwd: self.cwd.clone(),
            sub_agent: None,
            next: self.next + 500,
            minute: self.minute,
        }
    }

    fn line(&mut self, mut record: Value) {
        self.next += 1;
        let second = self.next % 3600;
        let hour = 8 + self.minute / 60;
        let at = format!("2026-03-{:02}T{:02}:{:02}:{:02}.000Z", 1 + hour / 24, hour % 24, second / 60, second % 60);
        let common = json!({
            "isSidechain": self.sub_agent.is_some(), "sessionId": self.id, "cwd": self.cwd, "version": "2.1.200",
            "gitBranch": "main", "uuid": format!("{}-{}", &self.id[..8], self.next), "timestamp": at,
        });
        let (Some(record_map), Value::Object(common)) = (record.as_object_mut(), common) else { return };
        record_map.extend(common);
        if let Some(agent) = &self.sub_agent {
            record_map.insert("agentId".to_owned(), json!(agent));
        }
        self.lines.push(record.to_string());
    }

    pub(crate) fn prompt(&mut self, text: &str) -> &mut Self {
        self.line(json!({"type": "user", "message": {"role": "user", "content": text}}));
        self
    }

    pub(crate) fn says(&mut self, text: &str) -> &mut Self {
        let id = format!("msg_{}_{}", &self.id[..8], self.next);
        self.answer(&id, json!({"type": "text", "text": text}));
        self
    }

    fn answer(&mut self, id: &str, block: Value) {
        self.line(json!({"type": "assistant", "message": {
            "id": id, "role": "assistant", "model": "claude-opus-4-5-20251101", "content": [block],
            "usage": {"input_tokens": 10, "output_tokens": 200, "cache_read_input_tokens": 50_000, "cache_creation_input_tokens": 1_000},
        }}));
    }

    /// A call and its result; a result that starts with `Exit code` is a failure.
    pub(crate) fn call(&mut self, name: &str, input: &Value, output: &str) -> &mut Self {
        let number = self.next;
        let tool = format!("toolu_{}_{number}", &self.id[..8]);
        let message = format!("msg_{}_{number}", &self.id[..8]);
        self.answer(&message, json!({"type": "tool_use", "id": tool, "name": name, "input": input}));
        let failed = output.starts_with("Exit code");
        self.line(json!({"type": "user", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": tool, "content": output, "is_error": failed}]}}));
        self
    }

    pub(crate) fn bash(&mut self, command: &str, output: &str) -> &mut Self {
        self.call("Bash", &json!({"command": command}), output)
    }

    /// The same failing command, `times` times.
    pub(crate) fn stuck(&mut self, times: usize) -> &mut Self {
        for _ in 0..times {
            self.bash(
                "npm install",
                "Exit code 1\nnpm error code ERESOLVE\nnpm error unable to resolve dependency tree",
            );
        }
        self
    }

    /// Productive work.
    pub(crate) fn works(&mut self, steps: usize) -> &mut Self {
        for step in 0..steps {
            let path = format!("/home/user/src/file_{}_{step}.rs", self.next);
            self.call("Read", &json!({"file_path": path}), &format!("1→fn number_{}_{step}() {{}}", self.next));
        }
        self
    }

    pub(crate) fn raw(&mut self, line: &str) -> &mut Self {
        self.lines.push(line.to_owned());
        self
    }

    /// Writes the records so far to a file in a directory of its own, and goes on with an empty one.
    pub(crate) fn split(&mut self, dir: &Path) -> PathBuf {
        let path = self.write(dir);
        self.lines.clear();
        path
    }

    /// Writes the file as Claude Code would.
    pub(crate) fn write(&self, dir: &Path) -> PathBuf {
        let path = match &self.sub_agent {
            Some(agent) => dir.join(&self.id).join("subagents").join(format!("agent-{agent}.jsonl")),
            None => dir.join(format!("{}.jsonl", self.id)),
        };
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory can be made");
        fs::write(&path, self.lines.join("\n") + "\n").expect("a file can be written");
        path
    }
}
