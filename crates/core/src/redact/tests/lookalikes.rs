//! What redaction does not recognise, and what it must leave alone.

use super::provider_table::fill;
use crate::redact::redact;

/// What stays, because it looks like text that is not a secret: too short a prefix, only hex digits or a UUID without a name,
/// or a place that no name marks. SECURITY.md lists them.
const NOT_RECOGNISED: &[(&str, &str)] = &[
    ("azure client secret alone", "the secret is {a:3}8Q~{a:34} now"),
    ("azure function", "https://x.azurewebsites.net/api/f?code={a:54}=="),
    ("fireworks", "fw_{a:24}"),
    ("voyage", "pa-{a:43}"),
    ("cursor", "key_{x:64}"),
    ("maven", "<server><id>c</id><username>me</username><password>{a:14}</password></server>"),
    ("discord alone", "login MTA{a:21}.G{a:5}.{a:38}"),
    ("mattermost", "https://mm.example.com/hooks/{l:26}"),
    ("mailgun new", "{x:32}-{x:8}-{x:8}"),
    ("mailchimp", "{x:32}-us12"),
    ("resend", "re_{a:8}_{a:24}"),
    ("intercom", "dG9r{a:56}="),
    ("braintree", "access_token$production${l:16}${x:32}"),
    ("adyen", "AQE{a:100}"),
    ("lob", "live_{x:35}"),
    ("asana v2", "2/{d:16}/{d:16}:{x:32}"),
    ("clickup", "pk_{d:8}_{u:32}"),
    ("salesforce", "00D{a:12}!{a:96}"),
    ("honeycomb", "x-honeycomb-team: {a:22}"),
    ("statsig", "secret-{a:43}"),
    ("launchdarkly", "sdk-{x:8}-{x:4}-{x:4}-{x:4}-{x:12}"),
    ("launchdarkly api", "api-{x:8}-{x:4}-{x:4}-{x:4}-{x:12}"),
    ("bitwarden", "BW_SESSION={a:86}=="),
    ("bitwarden machine", "0.{x:8}-{x:4}-{x:4}-{x:4}-{x:12}.{a:30}:{a:22}=="),
    ("infisical", "st.{x:24}.{x:32}.{x:32}"),
    ("jwk", "{\"kty\": \"EC\", \"crv\": \"P-256\", \"x\": \"a\", \"y\": \"b\", \"d\": \"{a:43}\"}"),
    ("totp seed", "TOTP_SEED={u:32}"),
    ("htpasswd", "me:$apr1${a:8}${a:22}"),
    ("shadow", "root:$6${a:16}${a:86}:19000:0:99999:7:::"),
    ("cookie file", "example.com\tTRUE\t/\tTRUE\t1999999999\tsession\t{a:32}"),
    ("wordpress", "define('AUTH_KEY', '{a:64}');"),
    ("wordpress password", "define( 'DB_PASSWORD', '{a:14}' );"),
    ("pgpass", "h:5432:d:u:{a:16}"),
    ("jdbc oracle", "jdbc:oracle:thin:u/{a:16}@//h:1521/s"),
    ("zip", "7z x a.7z -p{a:14}"),
    ("httpie", "http -a me:{a:14} https://x"),
];

/// Ids, hashes and paths that begin like tokens, or stand where secrets do.
const NO_SECRETS: &[&str] = &[
    "task_key_{x:64}",
    "cache-key-{x:40}",
    "commit {x:40}",
    "sha256:{x:64}",
    "request id {x:8}-{x:4}-{x:4}-{x:4}-{x:12}",
    "fc-cache -f -v /usr/share/fonts",
    "v1.0-rc1 and v1.0-alpha-20240101",
    "the napi_create_function and napi_get_value_string_utf8 calls",
    "sdk-go-v2 and api-gateway-2024-01-01",
    "rnd_seed=42 rnd_state_0",
    "jina_embeddings_v3_base",
    "dose 5 mg",
    "csk-main-branch-2",
    "sqp_solver_v2",
    "access-production-2024-01",
    "sl.Button and sl.u.x",
    "mongosh --port 27017",
    "docker run -p 8080:80 mongosh",
    "unzip -p a.zip file.txt",
    "ldapsearch -x -b dc=example",
    "kubectl create secret generic s --from-literal=api=$TOKEN",
    "Unseal Key 1: (hidden)",
    "aws configure set aws_secret_access_key $KEY",
    "ngrok config add-authtoken $NGROK_AUTHTOKEN",
    "publicKeyData: {a:40}",
    "/home/ada/src/{x:40}/index.js",
    "https://hooks.slack.com/workflows/",
];

#[test]
fn ids_hashes_and_paths_stay() {
    for template in NO_SECRETS {
        let (text, _) = fill(template);
        assert_eq!(redact(&text), text);
    }
}

#[test]
fn what_is_not_recognised_is_known() {
    for (kind, template) in NOT_RECOGNISED {
        let (text, _) = fill(template);
        assert_eq!(redact(&text), text, "{kind} is recognised: move it to the others");
    }
}
