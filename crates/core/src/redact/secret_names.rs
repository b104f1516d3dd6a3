//! Names whose values are secret.

/// How sure a name makes us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Confidence {
    /// Any literal is a secret.
    Strong,
    /// Only what looks made by a machine: a `key` or `token` may be anything.
    Weak,
}

/// What the end of a name says: `DB_PASSWORD`, `clientSecret`, `x-api-key`.
pub(super) fn name_confidence(name: &str) -> Option<Confidence> {
    let squashed: String =
        name.bytes().filter(u8::is_ascii_alphanumeric).map(|b| b.to_ascii_lowercase() as char).collect();
    if NON_SECRET_NAMES.iter().any(|ending| squashed.ends_with(ending)) {
        return None;
    }
    if SECRET_NAMES.iter().any(|ending| squashed.ends_with(ending)) {
        return Some(Confidence::Strong);
    }
    POSSIBLE_SECRET_NAMES.iter().any(|ending| squashed.ends_with(ending)).then_some(Confidence::Weak)
}

const SECRET_NAMES: &[&str] = &[
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "dbpass",
    "userpass",
    "secret",
    "secrets",
    "apikey",
    "apikeys",
    "accesskey",
    "secretkey",
    "secretkeybase",
    "privatekey",
    "privatekeyid",
    "encryptionkey",
    "signingkey",
    "masterkey",
    "storagekey",
    "accountkey",
    "authkey",
    "licensekey",
    "accesstoken",
    "authtoken",
    "refreshtoken",
    "sessiontoken",
    "bearertoken",
    "apitoken",
    "bottoken",
    "npmtoken",
    "githubtoken",
    "ghtoken",
];

const POSSIBLE_SECRET_NAMES: &[&str] = &["token", "key", "pass", "pwd", "auth", "credential", "credentials", "tokens"];

const NON_SECRET_NAMES: &[&str] = &[
    "publickey",
    "primarykey",
    "foreignkey",
    "cachekey",
    "sortkey",
    "partitionkey",
    "hotkey",
    "monkey",
    "keypass",
    "author",
    "maxtokens",
    "outputtokens",
    "inputtokens",
    "nexttoken",
    "pagetoken",
    "nextpagetoken",
    "continuationtoken",
    "compass",
    "bypass",
];
