//! Every rule, text that must survive, and idempotence.

mod lookalikes;
mod provider_table;
mod secret_table;

use std::borrow::Cow;

use proptest::prelude::*;

use super::redact;
use super::secret_rules::RULES;

#[test]
fn every_rule_redacts_its_sample() {
    for rule in RULES {
        assert_eq!(redact(rule.sample), rule.redacted, "{}", rule.kind);
        assert_eq!(redact(rule.redacted), rule.redacted, "{} again", rule.kind);
    }
}

#[test]
fn settings_in_every_format() {
    for (text, expected) in [
        ("password: hunter2", "password: [redacted:password]"),
        ("  db_password: \"hunter\"", "  db_password: \"[redacted:password]\""),
        ("export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "export AWS_SECRET_ACCESS_KEY=[redacted:secret]"),
        ("SECRET_KEY = 'abc'", "SECRET_KEY = '[redacted:secret]'"),
        (
            "{\"password\":\"a b\",\"apiKey\":\"x1\"}",
            "{\"password\":\"[redacted:password]\",\"apiKey\":\"[redacted:secret]\"}",
        ),
        ("{\\\"password\\\": \\\"hunter2\\\"}", "{\\\"password\\\": \\\"[redacted:password]\\\"}"),
        ("mysql --password=hunter2 db", "mysql --password=[redacted:password] db"),
        ("tool --api-key abc123 run", "tool --api-key [redacted:secret] run"),
        ("https://x.test/?api_key=abc123&q=1", "https://x.test/?api_key=[redacted:secret]&q=1"),
        ("Server=db;User Id=sa;Password=p4ss!word;", "Server=db;User Id=sa;Password=[redacted:password];"),
        ("redis://:s3cret@cache:6379/0", "redis://:[redacted:password]@cache:6379/0"),
        ("mongodb+srv://u:p%40ss@c.example.net/db", "mongodb+srv://u:[redacted:password]@c.example.net/db"),
        ("amqp://guest:guest@mq", "amqp://guest:[redacted:password]@mq"),
        ("\"Authorization\": \"Bearer abc.def.012345\"", "\"Authorization\": \"Bearer [redacted:bearer-token]\""),
        ("x-api-key: abcdef0123456789", "x-api-key: [redacted:secret]"),
        ("Cookie: a=1; session=abc", "Cookie: [redacted:cookie]"),
    ] {
        assert_eq!(redact(text), expected);
    }
}

#[test]
fn the_specific_kind_wins_inside_a_setting() {
    let text = concat!("GITHUB_TOKEN=ghp", "_AbCdEf0123456789AbCdEf0123456789abcd");
    assert_eq!(redact(text), "GITHUB_TOKEN=[redacted:github-token]");
}

#[test]
fn a_truncated_private_key_is_redacted() {
    let text = concat!("x\n-----BEGIN PRIVATE", " KEY-----\nMIIEvQIBADANBgkqhkiG9w0");
    assert_eq!(redact(text), "x\n[redacted:private-key]");
}

#[test]
fn ordinary_text_and_code_survive() {
    for text in [
        "commit 1f3870be274f6c49b3e31a0c6728957f6c4c5d2a",
        "01505466-39cc-4f61-b2b2-cc83419a41b9",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "fn check(password: &str, token: Token) -> bool { password == self.password }",
        "password: String,",
        "interface User { password: string; token: string }",
        "if password == \"\" { return }",
        "password = get_password()",
        "login(user=user, password=password, token=None)",
        "let token = tokens.next()?;",
        "max_tokens=4096, output_tokens: 120",
        "sorted(items, key=lambda item: item.name)",
        "for key, value in headers.items():",
        "PRIMARY KEY (id)",
        "os.environ[\"API_KEY\"]",
        "API_KEY=$API_KEY",
        "api_key: ${{ secrets.API_KEY }}",
        "\"password\": \"<your password>\"",
        "password: ********",
        "Enter password: ",
        "the bearer token scheme and bearer authentication",
        "task-1 and risk-averse sk-learn scikit",
        "https://example.com/a:b@c is odd but has no host part",
        "https://github.com/rust-lang/rust.git",
        "git@github.com:org/repo.git",
        "npm_config_cache=/root/.npm",
        "cookie: true",
        "Accept-Cookies: no",
        "the secret: it never compiled",
        "test tokenizer::splits_words ... ok",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "eyJ is how base64 of {\" begins",
        "ACCESS_TOKEN_URL=https://example.com/oauth/token",
        "docker run -u 1000:1000 image",
        "パスワード: ひみつ",
    ] {
        assert!(matches!(redact(text), Cow::Borrowed(_)), "{text} -> {}", redact(text));
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(RULES.iter().flat_map(|rule| rule.begins.iter().copied()).collect::<Vec<_>>())
            .prop_map(str::to_owned),
        prop::sample::select(RULES.iter().map(|rule| rule.sample).collect::<Vec<_>>()).prop_map(str::to_owned),
        prop::sample::select(vec![
            "=",
            ": ",
            ":",
            "\"",
            "'",
            " ",
            "\n",
            "@",
            "[redacted:",
            "[redacted:token]",
            "]",
            "\\\"",
            "--",
            "curl ",
            "://",
            "PRIVATE KEY",
            "-----",
            "&",
            ";",
            "é",
            "$",
            "%3D",
            "A=1\n",
            "export B=x y\n",
            " -p",
            "machine h login u password ",
        ])
        .prop_map(str::to_owned),
        "[A-Za-z0-9_.-]{0,40}",
        "\\PC{0,4}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn redacting_twice_changes_nothing(text in pieces()) {
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once), once.as_str());
    }

    #[test]
    fn no_sample_survives_in_any_surroundings(before in "[ \\n\"'(=]{0,3}", after in "[ \\n\"')]{1,3}", row in 0..RULES.len()) {
        let rule = &RULES[row];
        let secret_at = rule.redacted.find("[redacted:").unwrap();
        let kept_after = rule.redacted.len() - rule.redacted.find(']').unwrap() - 1;
        let secret = &rule.sample[secret_at..rule.sample.len() - kept_after];
        let text = format!("{before}{}{after}", rule.sample);
        prop_assert!(!redact(&text).contains(secret), "{}", redact(&text));
    }
}

#[test]
fn finds_a_secret_between_a_literal_and_its_value() {
    let text = concat!("postgres://sq0", "atp-AbCdEf0123456789AbCdEf:hunter2secret@db/x");
    let clean = redact(text);
    assert_eq!(clean, "postgres://[redacted:square-token]:[redacted:password]@db/x");
    assert_eq!(redact(&clean), clean);
}
