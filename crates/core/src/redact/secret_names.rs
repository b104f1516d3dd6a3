//! Names whose values are secret.

/// How strongly a name indicates a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Confidence {
    /// Any literal is a secret.
    Strong,
    /// A short name of a password (`PASS`, `pwd`). Paths, counters and results have such names too.
    Password,
    /// Only random-looking values: a `key` or `token` may be anything.
    Weak,
}

/// Classifies a name by its ending: `DB_PASSWORD`, `clientSecret`, `x-api-key`.
pub(super) fn name_confidence(name: &str) -> Option<Confidence> {
    let squashed: String =
        name.bytes().filter(u8::is_ascii_alphanumeric).map(|b| b.to_ascii_lowercase() as char).collect();
    if NON_SECRET_NAMES.iter().any(|ending| squashed.ends_with(ending)) {
        return None;
    }
    if SECRET_NAMES.iter().any(|ending| squashed.ends_with(ending)) {
        return Some(Confidence::Strong);
    }
    if PASSWORD_NAMES.iter().any(|ending| squashed.ends_with(ending)) {
        return Some(Confidence::Password);
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
    "vaulttoken",
    "keydata",
    "passwordsalt",
    "passwordpepper",
];

const PASSWORD_NAMES: &[&str] = &["pass", "pwd"];

const POSSIBLE_SECRET_NAMES: &[&str] = &["token", "key", "auth", "credential", "credentials", "tokens"];

const NON_SECRET_NAMES: &[&str] = &[
    "publickey",
    "publickeydata",
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
    "surpass",
    "trespass",
    "overpass",
    "underpass",
    "multipass",
];
