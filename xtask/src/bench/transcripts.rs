//! Generated Claude Code transcripts: the same bytes for the same size on every machine. The mix of lines, their shapes
//! and their sizes follow real session files (2.1.x): one assistant line per block with repeated usage, tool results
//! stored twice, full files next to edits, attachments and snapshots. One session in a hundred has a loop.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;

/// How many project directories the sessions are spread over.
const PROJECTS: usize = 12;

/// Writes sessions into `directory/projects/<project>/<session>.jsonl` until `bytes` are reached.
/// Returns how many bytes and sessions there are.
pub(super) fn generate(dir: &Path, bytes: u64) -> io::Result<(u64, u64)> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let pool = Pool::new(&mut random);
    let (mut written, mut sessions) = (0, 0);
    while written < bytes {
        let project = format!("-home-user-work-project-{}", random.below(PROJECTS));
        let dir = dir.join("projects").join(&project);
        std::fs::create_dir_all(&dir)?;
        let mut session = Session::new(&mut random, sessions);
        let mut out = BufWriter::new(File::create(dir.join(format!("{}.jsonl", session.id)))?);
        // Sessions are between 60 KB and 4 MB, small ones more often.
        let target = 60_000u64 << random.below(7);
        let target = target.min(bytes - written);
        let mut own = 0;
        let looping = sessions % 100 == 50;
        while own < target {
            session.turn(&mut random, &pool, looping);
            out.write_all(session.lines.as_bytes())?;
            own += session.lines.len() as u64;
            session.lines.clear();
        }
        out.flush()?;
        written += own;
        sessions += 1;
    }
    Ok((written, sessions))
}

/// xorshift64*: small, fast and deterministic.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 33) as usize % limit
    }

    fn between(&mut self, from: usize, to: usize) -> usize {
        from + self.below(to - from)
    }

    /// About this many bytes of lines, mostly in order; small sizes are more likely than large ones.
    fn text(&mut self, lines: &[String], bytes: Range<usize>) -> String {
        let limit = self.between(bytes.start, bytes.end);
        let bytes = self.between(bytes.start, limit + 1);
        let mut text = String::with_capacity(bytes + 120);
        let mut at = self.below(lines.len());
        while text.len() < bytes {
            text.push_str(&lines[at % lines.len()]);
            at += if self.below(8) == 0 { self.below(60) } else { 1 };
        }
        text
    }

    fn hex(&mut self, digits: usize) -> String {
        let mut text = String::new();
        while text.len() < digits {
            let _ = write!(text, "{:016x}", self.next());
        }
        text.truncate(digits);
        text
    }

    fn uuid(&mut self) -> String {
        let hex = self.hex(32);
        format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
    }
}

/// Lines of text to make files, outputs and prose of, escaped for JSON already.
struct Pool {
    code: Vec<String>,
    output: Vec<String>,
    prose: Vec<String>,
}

const NAMES: &[&str] = &[
    "parse", "session", "buffer", "index", "request", "config", "token", "writer", "value", "client", "handler",
    "state", "stream", "result", "column", "cursor", "payload", "schema", "version", "retry",
];

/// Makes a line out of names and a number.
type Shape = fn(&mut dyn FnMut() -> &'static str, usize) -> String;

impl Pool {
    fn new(random: &mut Random) -> Self {
        let mut lines = |count: usize, shapes: &[Shape]| {
            let mut name = || NAMES[random.below(NAMES.len())];
            (0..count).map(|at| shapes[at % shapes.len()](&mut name, at)).collect::<Vec<_>>()
        };
        let code = lines(
            1500,
            &[
                |n, _| format!("    let {} = {}.{}(&{})?;\\n", n(), n(), n(), n()),
                |n, i| format!("        if {}.len() > {i} {{\\n", n()),
                |n, _| format!("            return Err(Error::new(\\\"{} is not a {}\\\"));\\n", n(), n()),
                |_, _| "        }\\n".to_owned(),
                |n, _| format!("    /// The {} of the {}, as the {} sees it.\\n", n(), n(), n()),
                |n, i| format!("    pub fn {}_{}(&mut self, {}: usize) -> Result<u64, {i}> {{\\n", n(), n(), n()),
                |_, _| "\\n".to_owned(),
                |n, i| format!("        self.{}.insert({i}, {}.clone());\\n", n(), n()),
            ],
        );
        let output = lines(
            800,
            &[
                |n, i| format!("test {}::tests::{}_{i} ... ok\\n", n(), n()),
                |n, i| format!("src/{}/{}.rs:{i}:    let {} = {}();\\n", n(), n(), n(), n()),
                |n, i| format!("-rw-r--r-- 1 user user {i} Jan 12 10:{:02} {}.rs\\n", i % 60, n()),
                |n, _| format!("   Compiling {} v0.1.0 (/home/user/work/{})\\n", n(), n()),
                |n, i| format!("warning: unused variable: `{}_{i}`\\n", n()),
            ],
        );
        let prose = lines(
            400,
            &[
                |n, _| format!("The {} looks right, but the {} still holds the old {}. ", n(), n(), n()),
                |n, _| format!("Next I will read `{}.rs` and see how the {} is built.\\n", n(), n()),
                |n, i| format!("- {} takes {i} ms because the {} is rebuilt each time\\n", n(), n()),
            ],
        );
        Self { code, output, prose }
    }
}

struct Session {
    id: String,
    parent: String,
    millis: u64,
    file: usize,
    context: u64,
    lines: String,
}

impl Session {
    fn new(random: &mut Random, number: u64) -> Self {
        let millis = 1_767_600_000_000 + number * 977_000;
        Self { id: random.uuid(), parent: "null".to_owned(), millis, file: 0, context: 14_000, lines: String::new() }
    }

    /// Id and time of a line, which follow its message.
    fn stamp(&mut self, random: &mut Random) {
        self.millis += random.between(200, 9_000) as u64;
        let uuid = random.uuid();
        let (day, rest) = (self.millis / 86_400_000, self.millis % 86_400_000);
        let (year, month, date) = civil(day);
        let _ = write!(
            self.lines,
            ",\"uuid\":\"{uuid}\",\"timestamp\":\"{year:04}-{month:02}-{date:02}T{:02}:{:02}:{:02}.{:03}Z\"",
            rest / 3_600_000,
            rest / 60_000 % 60,
            rest / 1000 % 60,
            rest % 1000,
        );
        self.parent = format!("\"{uuid}\"");
    }

    /// The fields at the end of every line of a conversation.
    fn end(&mut self) {
        let _ = writeln!(
            self.lines,
            ",\"userType\":\"external\",\"entrypoint\":\"cli\",\"cwd\":\"/home/user/work/project\",\"sessionId\":\"{}\",\"version\":\"2.1.219\",\"gitBranch\":\"main\"}}",
            self.id,
        );
    }

    fn begin(&mut self) {
        let _ = write!(self.lines, "{{\"parentUuid\":{},\"isSidechain\":false", self.parent);
    }

    /// One line of a model message with one block.
    fn block(&mut self, random: &mut Random, message: &str, output: usize, block: &str) {
        self.begin();
        let _ = write!(
            self.lines,
            ",\"message\":{{\"id\":\"{message}\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-opus-4-6\",\"content\":[{block}],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{{\"input_tokens\":3,\"cache_creation_input_tokens\":812,\"cache_read_input_tokens\":{},\"output_tokens\":{output},\"server_tool_use\":{{\"web_search_requests\":0,\"web_fetch_requests\":0}},\"service_tier\":\"standard\",\"cache_creation\":{{\"ephemeral_1h_input_tokens\":0,\"ephemeral_5m_input_tokens\":812}},\"inference_geo\":\"\",\"iterations\":[],\"speed\":\"standard\"}}}},\"requestId\":\"req_011{}\",\"type\":\"assistant\"",
            self.context,
            &message[4..],
        );
        self.stamp(random);
        self.end();
    }

    /// The result of a call: its text, and the same in more detail.
    fn answer(&mut self, random: &mut Random, call: &str, content: &str, error: bool, details: &str) {
        self.begin();
        let flag = if error { ",\"is_error\":true" } else { "" };
        let asked = self.parent.clone();
        let _ = write!(
            self.lines,
            ",\"promptId\":\"{}\",\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"tool_use_id\":\"{call}\",\"type\":\"tool_result\",\"content\":\"{content}\"{flag}}}]}}",
            self.id,
        );
        self.stamp(random);
        let _ = write!(self.lines, ",\"toolUseResult\":{details},\"sourceToolAssistantUUID\":{asked}");
        self.end();
    }

    /// One human prompt and what follows from it.
    fn turn(&mut self, random: &mut Random, pool: &Pool, looping: bool) {
        let prompt = random.text(&pool.prose, 60..600);
        self.begin();
        let _ = write!(
            self.lines,
            ",\"promptId\":\"{}\",\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{prompt}\"}}",
            self.id
        );
        self.stamp(random);
        self.lines
            .push_str(",\"permissionMode\":\"default\",\"promptSource\":\"typed\",\"origin\":{\"kind\":\"human\"}");
        self.end();
        if random.below(2) == 0 {
            let reminder = random.text(&pool.prose, 500..4_000);
            self.begin();
            let _ = write!(
                self.lines,
                ",\"attachment\":{{\"type\":\"task_reminder\",\"content\":[],\"itemCount\":0}},\"type\":\"attachment\""
            );
            self.stamp(random);
            let _ = write!(
                self.lines,
                ",\"rendered\":[{{\"content\":\"<system-reminder>\\n{reminder}</system-reminder>\"}}],\"renderedRole\":\"system\""
            );
            self.end();
        }
        let _ = writeln!(
            self.lines,
            "{{\"type\":\"file-history-snapshot\",\"messageId\":\"{}\",\"snapshot\":{{\"messageId\":\"{}\",\"trackedFileBackups\":{{\"src/a.rs\":{{\"backupFileName\":\"{}@v1\",\"version\":1,\"backupTime\":\"2026-01-05T10:00:00.000Z\"}}}},\"timestamp\":\"2026-01-05T10:00:00.000Z\"}},\"isSnapshotUpdate\":false}}",
            random.uuid(),
            random.uuid(),
            random.hex(16),
        );
        if looping {
            for _ in 0..8 {
                self.failing_test(random);
            }
        }
        for _ in 0..random.between(3, 14) {
            self.step(random, pool);
        }
        let message = format!("msg_01{}", random.hex(22));
        let text = random.text(&pool.prose, 200..2_500);
        self.block(random, &message, 400, &format!("{{\"type\":\"text\",\"text\":\"{text}\"}}"));
    }

    /// One model message with its calls and their answers.
    fn step(&mut self, random: &mut Random, pool: &Pool) {
        let message = format!("msg_01{}", random.hex(22));
        self.context = (self.context + random.between(300, 3_000) as u64) % 180_000;
        let output = random.between(40, 900);
        if random.below(3) == 0 {
            let thought = random.text(&pool.prose, 100..1_500);
            let signature = random.hex(600);
            let block = format!("{{\"type\":\"thinking\",\"thinking\":\"{thought}\",\"signature\":\"{signature}\"}}");
            self.block(random, &message, output, &block);
        }
        if random.below(2) == 0 {
            let text = random.text(&pool.prose, 40..400);
            self.block(random, &message, output, &format!("{{\"type\":\"text\",\"text\":\"{text}\"}}"));
        }
        let calls: Vec<Call> = (0..[1, 1, 1, 2, 3][random.below(5)]).map(|_| self.call(random, pool)).collect();
        for call in &calls {
            let block = format!(
                "{{\"type\":\"tool_use\",\"id\":\"{}\",\"name\":\"{}\",\"input\":{}}}",
                call.id, call.name, call.input
            );
            self.block(random, &message, output, &block);
        }
        for call in &calls {
            self.answer(random, &call.id, &call.content, call.error, &call.details);
        }
    }

    fn call(&mut self, random: &mut Random, pool: &Pool) -> Call {
        let id = format!("toolu_01{}", random.hex(22));
        self.file = (self.file + random.below(5)) % 400;
        let path = format!("/home/user/work/project/src/module_{}/file_{}.rs", self.file % 20, self.file);
        match random.below(100) {
            0..35 => {
                let body = random.text(&pool.code, 800..24_000);
                let offset = random.below(2_000);
                Call {
                    id,
                    name: "Read",
                    input: format!("{{\"file_path\":\"{path}\",\"offset\":{offset},\"limit\":200}}"),
                    content: numbered(&body, offset),
                    error: false,
                    details: format!(
                        "{{\"type\":\"text\",\"file\":{{\"filePath\":\"{path}\",\"content\":\"{body}\",\"numLines\":200,\"startLine\":{offset},\"totalLines\":2200}}}}"
                    ),
                }
            }
            35..65 => {
                let body = random.text(&pool.output, 40..6_000);
                let command = ["cargo test -q", "git diff --stat", "ls -la src", "rg -n parse src"][random.below(4)];
                Call {
                    id,
                    name: "Bash",
                    input: format!(
                        "{{\"command\":\"{command} module_{}\",\"description\":\"Look at module {}\"}}",
                        random.below(400),
                        self.file
                    ),
                    content: body.clone(),
                    error: false,
                    details: format!(
                        "{{\"stdout\":\"{body}\",\"stderr\":\"\",\"interrupted\":false,\"isImage\":false,\"noOutputExpected\":false}}"
                    ),
                }
            }
            65..85 => {
                let file = random.text(&pool.code, 2_000..30_000);
                let cut = file.len().min(file[file.len() / 2..].find("\\n").map_or(0, |at| at + file.len() / 2 + 2));
                let old = random.text(&pool.code, 120..120 + 1);
                let new = random.text(&pool.code, 80..1_200);
                let file = format!("{}{old}{}", &file[..cut], &file[cut..]);
                Call {
                    id,
                    name: "Edit",
                    input: format!(
                        "{{\"replace_all\":false,\"file_path\":\"{path}\",\"old_string\":\"{old}\",\"new_string\":\"{new}\"}}"
                    ),
                    content: format!("The file {path} has been updated successfully."),
                    error: false,
                    details: format!(
                        "{{\"filePath\":\"{path}\",\"oldString\":\"{old}\",\"newString\":\"{new}\",\"originalFile\":\"{file}\",\"structuredPatch\":[{{\"oldStart\":40,\"oldLines\":6,\"newStart\":40,\"newLines\":9,\"lines\":[\"-{old}\",\"+{new}\"]}}],\"userModified\":false,\"replaceAll\":false}}"
                    ),
                }
            }
            85..95 => {
                let body = random.text(&pool.output, 100..3_000);
                Call {
                    id,
                    name: "Grep",
                    input: format!(
                        "{{\"pattern\":\"fn {}\",\"output_mode\":\"content\"}}",
                        NAMES[random.below(NAMES.len())]
                    ),
                    content: body.clone(),
                    error: false,
                    details: format!(
                        "{{\"mode\":\"content\",\"numFiles\":0,\"filenames\":[],\"content\":\"{body}\",\"numLines\":40}}"
                    ),
                }
            }
            _ => {
                let file = random.text(&pool.code, 500..8_000);
                Call {
                    id,
                    name: "Write",
                    input: format!("{{\"file_path\":\"{path}\",\"content\":\"{file}\"}}"),
                    content: format!("File created successfully at: {path}"),
                    error: false,
                    details: format!(
                        "{{\"type\":\"create\",\"filePath\":\"{path}\",\"content\":\"{file}\",\"structuredPatch\":[],\"originalFile\":null,\"userModified\":false}}"
                    ),
                }
            }
        }
    }

    /// The same failing command again.
    fn failing_test(&mut self, random: &mut Random) {
        let message = format!("msg_01{}", random.hex(22));
        let id = format!("toolu_01{}", random.hex(22));
        let block = format!(
            "{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":\"Bash\",\"input\":{{\"command\":\"npm install\",\"description\":\"Install\"}}}}"
        );
        self.block(random, &message, 60, &block);
        let text = "Exit code 1\\nnpm error code ERESOLVE\\nnpm error ERESOLVE unable to resolve dependency tree";
        self.answer(random, &id, text, true, &format!("\"Error: {text}\""));
    }
}

struct Call {
    id: String,
    name: &'static str,
    input: String,
    content: String,
    error: bool,
    details: String,
}

/// `cat -n` as Claude Code shows files, still escaped.
fn numbered(body: &str, from: usize) -> String {
    let mut text = String::with_capacity(body.len() + body.len() / 4);
    for (at, line) in body.split_inclusive("\\n").enumerate() {
        let _ = write!(text, "{:>6}→{line}", from + at);
    }
    text
}

/// Days since 1970 as a date.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let day = days % 146_097;
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let date = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + u64::from(month <= 2), month, date)
}
