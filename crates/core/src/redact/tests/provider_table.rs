//! Secrets of many providers, in the places in which agents meet them, and ids that look alike. Values are generated, so
//! that secret scanners do not flag this file.

use crate::redact::redact;

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const ALNUM: &str = "aQ1bW2cE3dR4eT5fY6gU7hI8iO9jP0kAlSmDnFoGpHqJrKsLtZuXvCwVxByNzM";
const DIGITS: &str = "0123456789";

/// `length` characters of a set in an order without a pattern, with digits and letters if the set has both.
fn random(set: &str, length: usize) -> String {
    let set = set.as_bytes();
    let mut state = 0x2545_f491_u64 + length as u64;
    let mut next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        set[(state >> 33) as usize % set.len()] as char
    };
    (0..length).map(&mut next).collect()
}

/// A text with a secret at each `{set:length}`, such as `{x:32}`, and the secrets.
pub(super) fn fill(template: &str) -> (String, Vec<String>) {
    let (mut text, mut secrets) = (String::new(), Vec::new());
    let mut rest = template;
    while let Some((before, (spec, after))) = rest.split_once('{').and_then(|(b, a)| Some((b, a.split_once('}')?))) {
        let spec = spec.split_once(':').and_then(|(set, length)| Some((set, length.parse().ok()?)));
        let Some((set, length)) = spec else {
            let end = before.len() + 1;
            text.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        };
        let set = match set {
            "x" => HEX,
            "u" => UPPER,
            "l" => LOWER,
            "d" => DIGITS,
            _ => ALNUM,
        };
        let secret = random(set, length);
        text.push_str(before);
        text.push_str(&secret);
        secrets.push(secret);
        rest = after;
    }
    text.push_str(rest);
    (text, secrets)
}

/// Kind and text. `a`, `l`, `u`, `x` and `d` are letters and digits, lower case, upper case, hex and decimal digits.
const SECRETS: &[(&str, &str)] = &[
    // Cloud providers.
    ("aws secret key beside its id", "aws_access_key_id = AKIA{u:16}\naws_secret_access_key = {a:40}"),
    ("aws session token", "export AWS_SESSION_TOKEN={a:120}"),
    ("aws in JSON", "{\"AccessKeyId\": \"ASIA{u:16}\", \"SecretAccessKey\": \"{a:40}\", \"SessionToken\": \"{a:80}\"}"),
    ("aws configure set", "aws configure set aws_secret_access_key {a:40}"),
    ("aws bedrock key", "AWS_BEARER_TOKEN_BEDROCK=ABSK{a:100}"),
    ("aws mws", "amzn.mws.{x:8}-{x:4}-{x:4}-{x:4}-{x:12}"),
    ("gcp service account", "{\"private_key_id\": \"{x:40}\", \"client_email\": \"a@b.iam.gserviceaccount.com\"}"),
    ("gcp refresh token", "{\"client_secret\": \"d-{a:22}\", \"refresh_token\": \"1//0{a:60}\"}"),
    ("gcp oauth client", "GOCSPX-{a:28}"),
    ("gcp access token", "ya29.{a:80}"),
    ("firebase server key", "Authorization: key=AAAA{a:7}:APA91b{a:134}"),
    ("azure client secret", "AZURE_CLIENT_SECRET={a:3}8Q~{a:34}"),
    (
        "azure storage",
        "DefaultEndpointsProtocol=https;AccountName=x;AccountKey={a:86}==;EndpointSuffix=core.windows.net",
    ),
    ("azure sas", "https://x.blob.core.windows.net/c/b?sv=2022-11-02&sr=b&sig={a:43}%3D"),
    ("azure devops", "git clone https://{l:52}@dev.azure.com/org/p/_git/r"),
    ("azure service bus", "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=k;SharedAccessKey={a:43}="),
    ("azure cosmos", "AccountEndpoint=https://x.documents.azure.com/;AccountKey={a:86}==;"),
    ("azure subscription key", "Ocp-Apim-Subscription-Key: {x:32}"),
    ("digitalocean", "DIGITALOCEAN_ACCESS_TOKEN=dop_v1_{x:64}"),
    ("heroku", "HEROKU_API_KEY={x:8}-{x:4}-{x:4}-{x:4}-{x:12}"),
    ("heroku v2", "HRKU-AA{a:58}"),
    ("cloudflare", "CLOUDFLARE_API_TOKEN={a:40}"),
    ("cloudflare key", "X-Auth-Key: {x:37}"),
    ("cloudflare ca", "v1.0-{x:24}-{x:146}"),
    ("fastly", "Fastly-Key: {a:32}"),
    ("linode", "LINODE_TOKEN={x:64}"),
    ("scaleway", "SCW_SECRET_KEY={x:8}-{x:4}-{x:4}-{x:4}-{x:12}"),
    ("hetzner", "HCLOUD_TOKEN={a:64}"),
    ("vultr", "VULTR_API_KEY={u:36}"),
    ("alibaba", "LTAI{a:20}"),
    ("alibaba secret", "\"accessKeySecret\": \"{a:30}\""),
    ("tencent", "AKID{a:32}"),
    ("yandex", "AQVN{a:36}"),
    ("oracle", "OCI_CLI_AUTH_TOKEN={a:20}"),
    ("ibm", "IBMCLOUD_API_KEY={a:44}"),
    ("netlify", "NETLIFY_AUTH_TOKEN=nfp_{a:36}"),
    ("vercel", "VERCEL_TOKEN={a:24}"),
    ("vercel cli", "vercel deploy --token {a:24}"),
    ("vercel new", "vcp_{a:56}"),
    ("vercel blob", "vercel_blob_rw_{a:16}_{a:30}"),
    ("fly", "FlyV1 fm2_{a:80}"),
    ("render", "rnd_{a:32}"),
    ("railway", "RAILWAY_TOKEN={x:8}-{x:4}-{x:4}-{x:4}-{x:12}"),
    ("supabase", "SUPABASE_SERVICE_ROLE_KEY=sb_secret_{a:31}"),
    ("supabase management", "sbp_{x:40}"),
    ("neon", "napi_{a:64}"),
    ("planetscale", "pscale_tkn_{a:43}"),
    ("upstash", "UPSTASH_REDIS_REST_TOKEN={a:56}"),
    ("turso", "TURSO_AUTH_TOKEN=eyJhbGciOiJFZERTQSJ9.eyJhIjoicncifQ.{a:80}"),
    // Models.
    ("openai", "OPENAI_API_KEY=sk-proj-{a:48}"),
    ("openai legacy", "sk-{a:20}T3BlbkFJ{a:20}"),
    ("anthropic", "x-api-key: sk-ant-api03-{a:93}AA"),
    ("anthropic oauth", "sk-ant-oat01-{a:80}"),
    ("google ai", "?key=AIza{a:35}"),
    ("groq", "gsk_{a:52}"),
    ("replicate", "r8_{a:37}"),
    ("perplexity", "pplx-{a:48}"),
    ("xai", "xai-{a:80}"),
    ("mistral", "MISTRAL_API_KEY={a:32}"),
    ("mistral header", "curl https://api.mistral.ai -H 'Authorization: Bearer {a:32}'"),
    ("cohere", "CO_API_KEY={a:40}"),
    ("together", "tgp_v1_{a:43}"),
    ("elevenlabs", "xi-api-key: sk_{x:48}"),
    ("elevenlabs alone", "sk_{x:48}"),
    ("deepseek", "sk-{x:32}"),
    ("cerebras", "csk-{l:48}"),
    ("openrouter", "sk-or-v1-{x:64}"),
    ("hugging face", "HF_TOKEN=hf_{a:34}"),
    ("hugging face org", "api_org_{a:34}"),
    ("langsmith", "lsv2_pt_{x:32}_{x:10}"),
    ("langfuse", "LANGFUSE_SECRET_KEY=sk-lf-{x:8}-{x:4}-{x:4}-{x:4}-{x:12}"),
    ("langfuse alone", "sk-lf-{x:8}-{x:4}-{x:4}-{x:4}-{x:12}"),
    ("pinecone", "pcsk_{a:5}_{a:60}"),
    ("jina", "jina_{x:32}{a:32}"),
    ("firecrawl", "fc-{x:32}"),
    ("exa", "EXA_API_KEY={x:8}-{x:4}-{x:4}-{x:4}-{x:12}"),
    ("weights and biases", "WANDB_API_KEY={x:40}"),
    // Source hosts, CI and registries.
    ("github", "https://x-access-token:ghs_{a:36}@github.com/o/r"),
    ("github fine-grained", "github_pat_11{a:20}_{a:59}"),
    ("gitlab", "PRIVATE-TOKEN: glpat-{a:20}"),
    ("gitlab routable", "glpat-{a:27}.01.{a:9}"),
    ("gitlab feed", "glft-{a:20}"),
    ("gitlab agent", "glagent-{a:50}"),
    ("gitlab oauth", "gloas-{x:64}"),
    ("gitlab scim", "glsoat-{a:20}"),
    ("gitlab incoming mail", "glimt-{a:25}"),
    ("gitlab feature flags", "glffct-{a:20}"),
    ("gitlab runner", "GR1348941{a:20}"),
    ("bitbucket app password", "ATBB{a:32}"),
    ("bitbucket api token", "ATCTT3{a:180}"),
    ("atlassian", "ATATT3{a:186}"),
    ("gitea", "GITEA_TOKEN={x:40}"),
    ("sourcegraph", "sgp_{x:16}_{x:40}"),
    ("circleci", "CCIPAT_{a:22}_{x:40}"),
    ("buildkite", "bkua_{x:40}"),
    ("buildkite agent", "BUILDKITE_AGENT_TOKEN={x:50}"),
    ("travis", "TRAVIS_TOKEN={a:22}"),
    ("jenkins", "JENKINS_API_TOKEN=11{x:32}"),
    ("sonar", "sqp_{x:40}"),
    ("sonar user", "squ_{x:40}"),
    ("codecov", "CODECOV_TOKEN={x:8}-{x:4}-{x:4}-{x:4}-{x:12}"),
    ("snyk", "SNYK_TOKEN={x:8}-{x:4}-{x:4}-{x:4}-{x:12}"),
    ("npm", "//registry.npmjs.org/:_authToken=npm_{a:36}"),
    ("npmrc auth", "//npm.example.com/:_auth={a:40}="),
    ("npmrc uuid", "//registry.npmjs.org/:_authToken={x:8}-{x:4}-{x:4}-{x:4}-{x:12}"),
    ("npmrc password", "//npm.example.com/:_password={a:24}="),
    ("pypi", "password = pypi-AgEIcHlwaS5vcmc{a:120}"),
    ("pypirc", "[pypi]\nusername = me\npassword = {a:16}"),
    ("rubygems", "rubygems_{x:48}"),
    ("rubygems credentials", ":rubygems_api_key: {x:48}"),
    ("cargo", "token = \"cio{a:32}\""),
    ("nuget", "oy2{l:43}"),
    ("clojars", "CLOJARS_{x:60}"),
    ("artifactory", "AKCp{a:69}"),
    ("artifactory reference", "cmVmdGtu{a:56}"),
    ("docker", "dckr_pat_{a:27}"),
    ("docker auth", "{\"auths\": {\"https://index.docker.io/v1/\": {\"auth\": \"{a:30}==\"}}}"),
    ("docker identity", "{\"identitytoken\": \"{a:40}\"}"),
    ("cloudsmith", "CLOUDSMITH_API_KEY={x:40}"),
    ("gradle", "signing.password={a:14}"),
    ("composer", "{\"http-basic\": {\"repo.x.com\": {\"username\": \"me\", \"password\": \"{a:14}\"}}}"),
    // Chat, mail and phone.
    ("slack", "SLACK_BOT_TOKEN=xoxb-{d:12}-{d:12}-{a:24}"),
    ("slack config", "xoxe.xoxp-1-{a:160}"),
    ("slack cookie", "xoxd-{a:100}"),
    ("slack webhook", "https://hooks.slack.com/services/T{u:8}/B{u:8}/{a:24}"),
    ("slack workflow", "https://hooks.slack.com/workflows/T{u:8}/A{u:8}/{d:18}/{a:24}"),
    ("slack trigger", "https://hooks.slack.com/triggers/T{u:8}/{d:13}/{x:32}"),
    ("discord", "DISCORD_TOKEN=MTA{a:21}.{a:6}.{a:27}"),
    ("discord webhook", "https://discord.com/api/webhooks/{d:18}/{a:68}"),
    ("discord canary webhook", "https://canary.discord.com/api/webhooks/{d:18}/{a:68}"),
    (
        "teams",
        "https://x.webhook.office.com/webhookb2/{x:8}-{x:4}-{x:4}-{x:4}-{x:12}@{x:8}/IncomingWebhook/{x:32}/{x:8}",
    ),
    ("google chat", "https://chat.googleapis.com/v1/spaces/AAAA/messages?key=AIza{a:35}&token={a:43}"),
    ("telegram", "https://api.telegram.org/bot{d:10}:AA{a:33}/sendMessage"),
    ("zapier", "https://hooks.zapier.com/hooks/catch/{d:8}/{l:7}{l:9}"),
    ("twilio", "SK{x:32}"),
    ("twilio auth token", "TWILIO_AUTH_TOKEN={x:32}"),
    ("twilio basic", "curl -u AC0123:{x:32} https://api.twilio.com"),
    ("sendgrid", "SG.{a:22}.{a:43}"),
    ("mailgun", "key-{x:32}"),
    ("postmark", "X-Postmark-Server-Token: {x:8}-{x:4}-{x:4}-{x:4}-{x:12}"),
    ("brevo", "xkeysib-{x:64}-{a:16}"),
    ("brevo smtp", "xsmtpsib-{x:64}-{a:16}"),
    ("vapid", "VAPID_PRIVATE_KEY={a:43}"),
    // Money and shops.
    ("stripe", "sk_live_{a:99}"),
    ("stripe restricted", "rk_test_{a:24}"),
    ("stripe webhook", "whsec_{a:32}"),
    ("square", "EAAAE{a:59}"),
    ("square oauth", "sq0csp-{a:43}"),
    ("paypal", "PAYPAL_CLIENT_SECRET=E{a:79}"),
    ("razorpay", "RAZORPAY_KEY_SECRET={a:24}"),
    ("plaid", "access-sandbox-{x:8}-{x:4}-{x:4}-{x:4}-{x:12}"),
    ("coinbase", "COINBASE_API_SECRET={a:32}"),
    ("shopify", "shpat_{x:32}"),
    ("etsy", "ETSY_KEYSTRING_SECRET={a:10}"),
    ("flutterwave", "FLWSECK_TEST-{x:32}-X"),
    ("paystack", "sk_live_{x:40}"),
    ("easypost", "EZAK{a:54}"),
    // Work and data.
    ("linear", "lin_api_{a:40}"),
    ("notion", "ntn_{a:46}"),
    ("notion old", "secret_{a:43}"),
    ("figma", "X-Figma-Token: figd_{a:40}"),
    ("airtable", "pat{a:14}.{x:64}"),
    ("asana", "ASANA_ACCESS_TOKEN=1/{d:16}:{x:32}"),
    ("monday", "MONDAY_API_TOKEN=eyJhbGciOiJIUzI1NiJ9.eyJ0aWQiOjF9.{a:43}"),
    ("trello", "https://api.trello.com/1/boards?key={x:32}&token={x:64}"),
    ("trello new", "ATTA{x:72}"),
    ("hubspot", "pat-na1-{x:8}-{x:4}-{x:4}-{x:4}-{x:12}"),
    ("zendesk", "ZENDESK_API_TOKEN={a:40}"),
    ("dropbox", "sl.u.{a:130}"),
    ("dropbox short", "sl.B{a:135}"),
    ("contentful", "CFPAT-{a:43}"),
    ("sanity", "SANITY_TOKEN=sk{a:80}"),
    ("algolia", "ALGOLIA_ADMIN_KEY={x:32}"),
    ("typeform", "tfp_{a:44}_{a:14}"),
    ("calendly", "CALENDLY_TOKEN=eyJraWQiOiIxIn0.eyJpc3MiOiJ4In0.{a:80}"),
    ("databricks", "dapi{x:32}"),
    ("databricks oauth", "dose{x:32}"),
    ("snowflake", "snowsql --authenticator oauth --token ver:1-hint:{d:10}-ETMsDg{a:120}"),
    ("snowflake password", "SNOWFLAKE_PASSWORD={a:14}"),
    ("confluent", "CONFLUENT_CLOUD_API_SECRET={a:64}"),
    ("kafka jaas", "sasl.jaas.config=org.apache.kafka.PlainLoginModule required username=\"a\" password=\"{a:20}\";"),
    ("postman", "PMAK-{x:24}-{x:34}"),
    ("mapbox", "sk.eyJ1IjoibWUi{a:60}.{a:22}"),
    // Watching and identity.
    ("grafana", "glsa_{a:32}_{x:8}"),
    ("grafana cloud", "glc_eyJ{a:120}"),
    ("datadog", "DD_API_KEY={x:32}"),
    ("datadog header", "DD-APPLICATION-KEY: {x:40}"),
    ("datadog new", "ddapp_{a:34}"),
    ("new relic", "NRAK-{u:27}"),
    ("sentry", "sntrys_eyJ{a:120}_{a:43}"),
    ("sentry user", "sntryu_{x:64}"),
    ("sentry dsn", "https://public:{x:32}@o0.ingest.sentry.io/1"),
    ("pagerduty", "Authorization: Token token=u+{a:18}"),
    ("pagerduty routing", "PAGERDUTY_ROUTING_KEY={x:32}"),
    ("honeycomb ingest", "hcaik_01{l:56}"),
    ("splunk hec", "Authorization: Splunk {x:8}-{x:4}-{x:4}-{x:4}-{x:12}"),
    ("elastic", "Authorization: ApiKey {a:58}=="),
    ("dynatrace", "dt0c01.{u:24}.{u:64}"),
    ("rollbar", "ROLLBAR_ACCESS_TOKEN={x:32}"),
    ("logtail", "LOGTAIL_SOURCE_TOKEN={a:24}"),
    ("axiom", "xaat-{x:8}-{x:4}-{x:4}-{x:4}-{x:12}"),
    ("posthog", "phx_{a:43}"),
    ("okta", "Authorization: SSWS 00{a:40}"),
    ("auth0", "AUTH0_CLIENT_SECRET={a:64}"),
    ("clerk", "CLERK_SECRET_KEY=sk_test_{a:40}"),
    ("workos", "sk_test_{a:60}"),
    ("1password", "OP_SERVICE_ACCOUNT_TOKEN=ops_eyJ{a:200}"),
    ("doppler", "dp.st.dev.{a:40}"),
    ("vault", "X-Vault-Token: hvs.{a:90}"),
    ("vault old", "VAULT_TOKEN=s.{a:24}"),
    ("vault unseal", "Unseal Key 1: {a:43}="),
    ("vault root", "Initial Root Token: hvs.{a:24}"),
    ("consul", "CONSUL_HTTP_TOKEN={x:8}-{x:4}-{x:4}-{x:4}-{x:12}"),
    ("pulumi", "pul-{x:40}"),
    ("terraform", "credentials \"app.terraform.io\" { token = \"{a:14}.atlasv1.{a:67}\" }"),
    ("spacelift", "SPACELIFT_API_KEY_SECRET={x:64}"),
    ("ngrok", "ngrok config add-authtoken {a:27}_{a:21}"),
    ("ngrok file", "authtoken: {a:27}_{a:21}"),
    ("tailscale", "tskey-auth-{a:17}-{a:32}"),
    ("tailscale flag", "tailscale up --authkey tskey-{a:20}"),
    ("zerotier", "ZEROTIER_CENTRAL_TOKEN={a:32}"),
    ("wireguard", "PrivateKey = {a:43}="),
    ("wireguard preshared", "PresharedKey = {a:43}="),
    // Keys and files.
    ("pem", "-----BEGIN EC PRIVATE KEY-----\n{a:64}\n-----END EC PRIVATE KEY-----"),
    ("openssh", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl{a:60}\n{a:70}\n-----END OPENSSH PRIVATE KEY-----"),
    ("pgp", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{a:64}\n-----END PGP PRIVATE KEY BLOCK-----"),
    ("putty", "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n{a:48}\nPrivate-MAC: {x:64}"),
    ("age", "AGE-SECRET-KEY-1{u:58}"),
    ("kubeconfig token", "users:\n- name: me\n  user:\n    token: {a:40}"),
    ("kubeconfig key", "    client-key-data: {a:200}=="),
    ("kubernetes secret", "kind: Secret\ndata:\n  password: {a:20}=="),
    ("service account token", "eyJhbGciOiJSUzI1NiIsImtpZCI6IiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.{a:200}"),
    ("totp", "otpauth://totp/x:me?secret={u:32}&issuer=x"),
    ("session cookie", "Set-Cookie: connect.sid=s%3A{a:32}.{a:43}; Path=/"),
    ("basic auth", "Authorization: Basic {a:32}=="),
    ("proxy auth", "Proxy-Authorization: Basic {a:32}=="),
    ("rails master key", "RAILS_MASTER_KEY={x:32}"),
    ("django", "SECRET_KEY = 'django-insecure-{a:50}'"),
    ("laravel", "APP_KEY=base64:{a:43}="),
    ("nextauth", "NEXTAUTH_SECRET={a:43}="),
    ("jwt secret", "JWT_SECRET={a:32}"),
    ("salt", "PASSWORD_SALT={a:32}"),
    ("pepper", "PASSWORD_PEPPER={a:32}"),
    ("ansible", "ansible_become_pass: {a:14}"),
    // Databases.
    ("postgres", "postgresql://u:{a:16}@h:5432/d"),
    ("libpq", "psql \"host=h user=u password={a:16} dbname=d\""),
    ("mysql", "mysql://u:{a:16}@h/d"),
    ("mysql cnf", "[client]\nuser=u\npassword={a:16}"),
    ("jdbc", "jdbc:postgresql://h/d?user=u&password={a:16}"),
    ("sqlcmd", "sqlcmd -S h -U sa -P {a:16}"),
    ("mssql", "Server=h;Database=d;User Id=sa;Password={a:16};"),
    ("mongo", "mongosh 'mongodb+srv://u:{a:16}@c.x.mongodb.net/d'"),
    ("mongo flag", "mongosh -u u -p {a:16} --host h"),
    ("redis", "rediss://default:{a:32}@h:6379"),
    ("amqp", "amqps://u:{a:16}@h/v"),
    ("clickhouse", "clickhouse-client --password {a:16}"),
    ("cockroach", "postgresql://u:{a:22}@x.cockroachlabs.cloud:26257/d"),
    ("elasticsearch", "https://elastic:{a:24}@h:9200"),
    ("neo4j", "NEO4J_AUTH=neo4j/{a:16}"),
    ("influx", "INFLUX_TOKEN={a:86}=="),
    ("ldap", "ldapsearch -x -D cn=admin -w {a:16}"),
    ("smb", "mount -t cifs -o username=me,password={a:14} //h/s /m"),
    ("pgpassword", "PGPASSWORD={a:12} psql -h h"),
    ("openssl", "openssl enc -aes-256-cbc -pass pass:{a:16}"),
    ("wget", "wget --http-password={a:14} https://x"),
    ("unzip", "unzip -P {a:14} a.zip"),
    ("gh auth", "echo ghp_{a:36} | gh auth login --with-token"),
    ("kubectl literal", "kubectl create secret generic s --from-literal=api={a:32}"),
    ("helm set", "helm install x --set auth.postgresPassword={a:16}"),
    ("az login", "az login --service-principal -u a -p {a:34} --tenant t"),
    ("gpg", "gpg --batch --passphrase {a:14} -d f"),
    ("curl digest", "curl --digest -u me:{a:14} https://x"),
];

#[test]
fn secrets_of_providers_do_not_survive() {
    let mut survivors = Vec::new();
    for (kind, template) in SECRETS {
        let (text, secrets) = fill(template);
        let clean = redact(&text);
        // Short parts, such as the region of a key, are not secret.
        if secrets.iter().filter(|secret| secret.len() >= 10).any(|secret| clean.contains(secret.as_str())) {
            survivors.push(format!("{kind}: {clean}"));
        }
        assert_eq!(redact(&clean), clean, "{kind}: a second pass changes it");
    }
    assert!(survivors.is_empty(), "{} survive:\n{}", survivors.len(), survivors.join("\n"));
}
