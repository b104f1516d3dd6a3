//! One line per kind of secret, and one per text that only looks like one. All values are made up; tokens are
//! assembled from pieces so that secret scanners do not flag this file.

use crate::redact::secret_rules::RULES;
use crate::redact::{names_env_file, redact, redact_env_values};

/// Kind, text, and the part that must not survive.
const SECRETS: &[(&str, &str, &str)] = &[
    // Passwords that begin like a reference.
    ("dollar", "DB_PASSWORD=$up3r-s3cret", "up3r"),
    ("dollar digit", "password: $3cretword", "3cretword"),
    ("bcrypt", "PASSWORD=$2b$10$abcdefghijklmnopqrstuv", "abcdefghij"),
    ("exclamation mark", "password: !Q2w#E4r", "Q2w"),
    ("exclamation mark, quoted", "\"password\": \"!Q2w#E4r\"", "Q2w"),
    ("percent", "DB_PASSWORD=%Q2wE4r", "Q2w"),
    ("percent, spaced", "db_password: %Q2wE4r", "Q2w"),
    ("asterisk", "DB_PASSWORD=*Q2wE4r", "Q2w"),
    ("bracket", "DB_PASSWORD=[Q2w!E4r", "Q2w"),
    ("bracket, closed later", "DB_PASSWORD=[Q2w]E4r!x", "E4r!x"),
    ("parenthesis", "DB_PASSWORD=(Q2w!E4r", "Q2w"),
    ("parenthesis, quoted", "password = '(Q2w)E4r'", "E4r"),
    ("exclamation mark and letters", "DB_PASSWORD=!letmein", "letmein"),
    ("asterisk and letters", "DB_PASSWORD=*letmein", "letmein"),
    ("bracket and letters", "DB_PASSWORD=[letmein", "letmein"),
    ("parenthesis and letters", "DB_PASSWORD=(letmein", "letmein"),
    ("two dollars", "DB_PASSWORD=$$w0rd9", "w0rd9"),
    ("dollar and hash", "DB_PASSWORD=$#w0rd", "w0rd"),
    ("exclamation mark, in JSON", "{\"password\": \"!letmein\"}", "letmein"),
    ("bracket, quoted", "password: '[letmein'", "letmein"),
    ("exclamation mark, form field", "user=a&password=!letmein", "letmein"),
    ("escaped quote", "\"password\": \"Q2\\\"wE4r9\"", "wE4r9"),
    // Short names.
    ("PASS", "PASS=hunter", "hunter"),
    ("_PASS", "SMTP_PASS=abc", "abc"),
    ("SMTP_PASSWD", "SMTP_PASSWD=abc", "=abc"),
    ("MYSQL_PWD", "MYSQL_PWD=root mysql -u root", "=root"),
    ("pwd in lower case", "pwd: hunter2", "hunter2"),
    ("Pwd in a connection string", "Server=db;Uid=sa;Pwd=letmein;", "letmein"),
    ("Password in a connection string", "Host=db; Username=app; Password=letmein; Port=1", "letmein"),
    ("form field", "user=a&password=letmein&x=1", "letmein"),
    // Addresses.
    ("slash in a password", "postgres://app:pa/ss@db.example.com/main", "pa/ss"),
    ("question mark in a password", "postgres://app:pa?ss@db.example.com/main", "pa?ss"),
    ("hash in a password", "redis://u:pa#ss@cache:6379", "pa#ss"),
    ("slash in a password without a user", "redis://:pa/ss@host", "pa/ss"),
    ("slash after digits", "postgres://u:12/ss@h", "12/ss"),
    ("exclamation mark in an address", "postgres://u:!letmein@h/d", "letmein"),
    // Commands and files.
    ("sshpass -p, quoted", "sshpass -p 'hunter2' ssh host", "hunter2"),
    ("sshpass -p, with blanks", "sshpass -p \"hunter two\" ssh host", "two"),
    ("sshpass -p, attached", "sshpass -phunter2 ssh host", "hunter2"),
    ("curl -u, with blanks", "curl -u 'me:hunter two' https://x.test", "two"),
    ("mysql -p, exclamation mark", "mysql -p!letmein shop", "letmein"),
    ("mysql -p", "mysql -h db -uroot -phunter2 shop", "hunter2"),
    ("mysql -p, quoted", "mysqldump -p'hunter two' shop", "two"),
    ("mariadb -p", "mariadb -pletmein", "letmein"),
    ("redis-cli -a", "redis-cli -a letmein ping", "letmein"),
    ("docker login -p", "docker login -u me -p letmein", "letmein"),
    ("netrc", "machine api.example.com login me password letmein", "letmein"),
    ("netrc on lines", "machine api.example.com\n  login me\n  password letmein\n", "letmein"),
    ("netrc default", "default login me password letmein", "letmein"),
    ("quoted with blanks", "DB_PASSWORD=\"correct horse battery\"", "horse"),
    ("quoted with blanks, JSON", "\"password\": \"correct horse battery\"", "horse"),
    ("URL-encoded pair", "body=user%3Dme%26password%3Dletmein%26x%3D1", "letmein"),
    ("URL-encoded JSON", "%7B%22password%22%3A%22letmein%22%7D", "letmein"),
    ("URL-encoded value", "password=p%40ss%21word", "ss%21"),
    // Providers.
    ("Postman", concat!("PM", "AK-65f0a1b2c3d4e5f6a7b8c9d0-0123456789abcdef0123456789abcdef01"), "65f0"),
    ("Supabase", concat!("sb", "p_0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"), "0a1b"),
    ("Supabase secret", concat!("sb", "_secret_AbCdEf0123456789_AbCdEf01"), "AbCdEf"),
    ("New Relic user key", concat!("NR", "AK-A1B2C3D4E5F6G7H8I9J0K1L2M3N"), "A1B2"),
    ("New Relic licence", concat!("a1b2c3d4e5f60718293a4b5c6d7e8f901234", "NRAL"), "a1b2"),
    ("Doppler", concat!("dp", ".pt.A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0"), "A1b2"),
    ("Doppler service", concat!("dp", ".st.dev.A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0"), "A1b2"),
    ("Fly.io", concat!("FlyV1 fm", "2_lJPECAAAAAAAB1b2xBA1b2C3d4E5f6G7h8I9j0K1l2M3n4"), "A1b2"),
    ("Fly.io, old", concat!("fo", "1_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0abc"), "A1b2"),
    ("1Password service account", concat!("ops", "_eyJzaWduSW5BZGRyZXNzIjoibXkuMXBhc3N3b3JkLmNvbSJ9"), "zaWdu"),
    ("1Password secret key", concat!("A", "3-C4ZJMN-PQTZTL-HGL84-G64M7-KVZRN-4ZVP6"), "C4ZJ"),
    ("Netlify", concat!("nf", "p_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"), "A1b2"),
    ("Pulumi", concat!("pu", "l-0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"), "0a1b"),
    (
        "Terraform Cloud",
        concat!("A1b2C3d4E5f6G7.atla", "sv1.A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0A1b2C3d4E5f6G7h8I9j0"),
        "A1b2",
    ),
    ("Mapbox", concat!("sk", ".eyJ1IjoibWUiLCJhIjoiY2swMTIzNDU2Nzg5In0.A1b2C3d4E5f6G7h8I9j0"), "A1b2"),
    (
        "Airtable",
        concat!("pa", "tA1b2C3d4E5f6G7.0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"),
        "A1b2",
    ),
    (
        "PuTTY",
        concat!(
            "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-",
            "Lines: 1\nAAAAIKq1w2e3r4\nPrivate-MAC: 0a1b2c3d\n"
        ),
        "AAAAIK",
    ),
    ("PuTTY, end only", concat!("AAAAIKq1w2e3r4\nPrivate-", "MAC: 0a1b2c3d\n"), "AAAAIK"),
    // Tokens on two lines.
    ("wrapped GitHub token", concat!("gh", "p_A1b2C3d4E5f6\nG7h8I9j0K1l2M3n4O5p6Q7r8\n"), "G7h8"),
    ("wrapped after the minimum", concat!("gh", "p_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5\np6Q7r8\n"), "p6Q7r8"),
    ("joined strings", concat!("t = \"gh", "p_A1b2C3d4E5f6\" +\n    \"G7h8I9j0K1l2M3n4O5p6Q7r8\""), "G7h8"),
    ("continued line", concat!("sk-", "ant-api03-A1b2C3d4\\\nE5f6G7h8I9j0K1l2M3n4O5p6\n"), "E5f6"),
    ("wrapped JWT", concat!("ey", "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx\nMjM0NTY3ODkwIn0.A1b2C3d4E5f6\n"), "A1b2"),
    ("OpenAI session", concat!("se", "ss-A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0"), "A1b2"),
    ("OpenAI", concat!("sk-", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4"), "A1b2"),
];

#[test]
fn every_kind_is_redacted() {
    for (kind, text, secret) in SECRETS {
        let clean = redact(text);
        assert!(text.contains(secret), "{kind}: the row is wrong");
        assert!(!clean.contains(secret) && clean.contains("[redacted:"), "{kind}: {clean}");
        assert_eq!(redact(&clean), clean, "{kind}: again");
    }
}

#[test]
fn what_only_looks_like_a_secret_survives() {
    for text in [
        "PWD=/home/me/projects/belay-0123456789abcdef",
        "OLDPWD=/srv/build_2024/release-01/abcdef012345",
        "PWD=C:/Users/me/project1",
        "pwd=~/src/project-2024-release",
        "pip install sk-learn-contrib-2024-release-candidate",
        "sk-learn-0123456789abcdef0123",
        "branch task-sk-0123456789abcdef0123456789",
        "key: user_42_profile_cache",
        "\"key\": \"session-2024-01-31-daily-report\"",
        "cache key: user/42/profile/avatar/small",
        "SSH_KEY=/home/me/.ssh/id_ed25519",
        "PASS=3 FAIL=0",
        "PASS: tests/parser_2.rs",
        "pass: 12, fail: 0",
        "--- PASS: TestParser2 (0.00s)",
        "bypass=abc123def456",
        "DB_PASSWORD=$DB_PASSWORD",
        "DB_PASSWORD=${DB_PASSWORD:-x1}",
        "PASSWORD=$(cat /run/secrets/db_1)",
        "DB_PASSWORD=$$DB_PASSWORD",
        "DB_PASSWORD=$$(cat /run/secrets/db_1)",
        "DB_PASSWORD=$?",
        "DB_PASSWORD=*****",
        "DB_PASSWORD=[hidden]",
        "PASSWORDS=(",
        "sshpass -p \"$PASSWORD\" ssh -p 22 host",
        "sshpass -e ssh -p 2222 host",
        "sshpass -P assphrase ssh host",
        "sess-0199b3c1-7c2e-7d30-9f5a-0c6e1d2f3a4b",
        "sess-A1b2C3d4E5f6G7h8I9j0",
        "postgres://db.example.com:5432/main@replica",
        "postgres://localhost:5432/main?email=a@b",
        "jdbc:mysql://db:3306/shop?email=a@b",
        "http://web:8080/users/@me",
        "password: $1",
        "password: !Ref DatabasePassword",
        "password: !vault |",
        "password: *database_password",
        "password: %s",
        "printf 'password=%-10s\\n'",
        "password: %(password)s",
        "private_key: [u8; 32]",
        "password = (self.password)",
        "\"password\": \"Enter your password\"",
        "\"password\": \"The password must have 8 characters\"",
        "http://localhost:3000/users/@me",
        "docker://registry.example.com:5000/image@sha256:0123",
        "mkdir -p /srv/mysql",
        "mysql -u root -p shop",
        "docker run -p 3306:3306 mysql:8",
        "the machine learning password manager",
        "path.to.module and pattern matching",
        "the pat answer.",
        "assert!(passed, \"12 passed; 0 failed\");",
        "let x = 1;\nlet y = 2;\nA=1\n",
    ] {
        assert_eq!(redact(text), text);
    }
}

const ENV_FILE: &str = "# settings\nAPP_NAME=shop\nexport PORT=3000\nDB_HOST=db.internal\nDB_PASS=\"a b\"\n\nGREETING='hi'\nDSN=postgres://u:p@h/d\nPIN=1234\n";

#[test]
fn every_value_of_an_environment_file_is_redacted() {
    let numbered: String =
        ENV_FILE.lines().enumerate().map(|(n, line)| format!("{:>6}\u{2192}{line}\n", n + 1)).collect();
    let searched: String = ENV_FILE.lines().enumerate().map(|(n, line)| format!(".env:{}:{line}\n", n + 1)).collect();
    for text in [ENV_FILE, &numbered, &searched] {
        for clean in [redact(text), redact_env_values(text)] {
            for value in ["shop", "3000", "internal", "a b", "hi", "postgres", "1234"] {
                assert!(!clean.contains(value), "{value} in {clean}");
            }
            for name in ["APP_NAME=", "PORT=", "DB_PASS=", "PIN="] {
                assert!(clean.contains(name), "{name} not in {clean}");
            }
            assert_eq!(redact(&clean), clean);
        }
    }
}

#[test]
fn a_known_environment_file_needs_no_majority() {
    let text = "Output of .env:\nplain words here\nand more words\nname = shop\ncolour: red\n";
    assert_eq!(redact(text), text);
    let clean = redact_env_values(text);
    assert!(!clean.contains("shop") && !clean.contains("red\n"), "{clean}");
}

#[test]
fn shell_variables_of_printenv_stay() {
    assert_eq!(
        redact("PWD=/home/me\nSHELL=/bin/sh\nACME_ID=shop\n"),
        "PWD=/home/me\nSHELL=/bin/sh\nACME_ID=[redacted:env-value]\n"
    );
}

#[test]
fn environment_files_are_known_by_name() {
    for text in [
        "cat .env",
        "/srv/app/.env.local",
        "Read prod.env",
        "source ./.envrc",
        "grep X .env*",
        "'.env'",
        "cat .env_old",
        "b/.env2",
    ] {
        assert!(names_env_file(text), "{text}");
    }
    for text in [
        "cat .env.example",
        "process.env.PORT",
        "import.meta.env.X",
        "python -m .environment",
        "settings.env_file",
        ".env_sample",
    ] {
        assert!(!names_env_file(text), "{text}");
    }
}

/// `SECURITY.md` states how many providers are known.
#[test]
fn the_stated_number_of_providers_is_true() {
    const OTHERS: &[&str] =
        &["webhook", "jwt", "private-key", "password", "bearer-token", "authorization", "cookie", "secret", "token"];
    let provider =
        |kind: &'static str| kind.trim_end_matches("-id").rsplit_once('-').map_or(kind, |(provider, _)| provider);
    let mut providers: Vec<&str> =
        RULES.iter().filter(|rule| !OTHERS.contains(&rule.kind)).map(|rule| provider(rule.kind)).collect();
    providers.sort_unstable();
    providers.dedup();
    let stated = format!("the keys and tokens of {} providers", providers.len());
    let security = include_str!("../../../../../SECURITY.md").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(security.contains(&stated), "{stated}: {providers:?}");
}
