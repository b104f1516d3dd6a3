//! The table of secret kinds. A test runs the sample of every row.

use super::secret_shapes::{self, ShapeFinder};
use super::secret_values::Charset::{self, *};
use super::{LiteralHit, SecretSpan, assignments, command_lines};

/// One kind of secret.
pub(super) struct SecretRule {
    /// Name in the redaction.
    pub kind: &'static str,
    /// Literals that begin or announce such a secret, in any case.
    pub begins: &'static [&'static str],
    /// Position relative to the literal.
    pub shape: SecretShape,
    /// An example, for the test of this row.
    #[cfg_attr(not(test), expect(dead_code, reason = "each row is its own test"))]
    pub sample: &'static str,
    /// The sample after redaction.
    #[cfg_attr(not(test), expect(dead_code, reason = "each row is its own test"))]
    pub redacted: &'static str,
}

/// Position of a secret relative to its literal.
pub(super) enum SecretShape {
    /// The literal in exact case, followed by at least this many characters of the set.
    Token(Charset, usize),
    /// A dedicated finder.
    Closer(ShapeFinder),
}

impl SecretRule {
    pub(super) fn find(&self, place: &LiteralHit<'_>) -> Option<SecretSpan> {
        let (start, end) = match &self.shape {
            SecretShape::Token(..) => {
                let before = place.before();
                let inside_a_word = before.is_ascii_alphanumeric()
                    || before == b'_'
                    || before == b'-' && matches!(self.shape, SecretShape::Token(DashedRandom | Hex, _));
                let end = self.token_end(place.text, place.start, place.end).filter(|_| !inside_a_word)?;
                (place.start, end)
            }
            SecretShape::Closer(find) => {
                let (start, end) = find(place)?;
                // A value that contains a redaction has been processed. A private key is redacted as a whole.
                if place.text[place.end..end].contains(super::REDACTION_PREFIX) && self.kind != "private-key" {
                    return None;
                }
                (start, end)
            }
        };
        Some(SecretSpan { start, end, kind: self.kind })
    }

    /// End of the token that begins with the literal at `start..end`.
    pub(super) fn token_end(&self, text: &str, start: usize, end: usize) -> Option<usize> {
        let SecretShape::Token(charset, min) = self.shape else { return None };
        if !self.begins.contains(&&text[start..end]) {
            return None;
        }
        let rest = &text.as_bytes()[end..];
        let run = charset.wrapped_end(rest, charset.token_end(rest), min);
        (run >= min && charset.is_token(&rest[..run])).then_some(end + run)
    }
}

macro_rules! rules {
    ($($kind:literal $begins:expr, $shape:expr, $sample:expr => $redacted:expr;)*) => {
        &[$(SecretRule { kind: $kind, begins: &$begins, shape: $shape, sample: $sample, redacted: $redacted }),*]
    };
}

use SecretShape::{Closer, Token};

// Samples are assembled from pieces so that secret scanners do not flag this file.
pub(super) static RULES: &[SecretRule] = rules! {
    "anthropic-key" ["sk-ant-"], Token(Dashed, 20), concat!("key sk-", "ant-api03-AbCdEf0123456789_-AbCdEf0123456789") => "key [redacted:anthropic-key]";
    "openai-key" ["sk-"], Token(DashedRandom, 20), concat!("key=sk-", "AbCdEf0123456789AbCdEf0123456789") => "key=[redacted:openai-key]";
    "openai-key" ["sk-proj-", "sk-svcacct-", "sk-admin-"], Token(Dashed, 20), concat!("OPENAI sk-", "proj-AbCdEf0123456789AbCdEf") => "OPENAI [redacted:openai-key]";
    "openai-key" ["sess-"], Token(Alnum, 40), concat!("se", "ss-AbCdEf0123456789AbCdEf0123456789AbCdEf01") => "[redacted:openai-key]";
    "openrouter-key" ["sk-or-"], Token(Dashed, 20), concat!("sk-", "or-v1-0123456789abcdef0123456789abcdef") => "[redacted:openrouter-key]";
    "google-key" ["AIza"], Token(Dashed, 35), concat!("AI", "zaSyA0123456789abcdefghijklmnopqrstuv") => "[redacted:google-key]";
    "google-oauth" ["ya29.", "GOCSPX-", "1//0"], Token(Dotted, 20), concat!("ya", "29.a0AfH6SMBx0123456789abcdef") => "[redacted:google-oauth]";
    "github-token" ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], Token(Alnum, 30), concat!("token ghp", "_AbCdEf0123456789AbCdEf0123456789abcd") => "token [redacted:github-token]";
    "github-token" ["github_pat_"], Token(Word, 30), concat!("github", "_pat_11ABCDEFG0abcdefghijkl_0123456789") => "[redacted:github-token]";
    "gitlab-token" ["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-"], Token(Dotted, 20), concat!("gl", "pat-AbCdEf0123456789AbCd") => "[redacted:gitlab-token]";
    "slack-token" ["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xapp-"], Token(Dashed, 20), concat!("xo", "xb-123456789012-123456789012-AbCdEf012345") => "[redacted:slack-token]";
    "webhook" ["hooks.slack.com/services/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/"], Closer(secret_shapes::webhook), concat!("https://hooks.slack", ".com/services/T0123/B0123/AbCdEf0123456789") => "https://hooks.slack.com/services/[redacted:webhook]";
    "stripe-key" ["sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_"], Token(Word, 16), concat!("sk", "_live_AbCdEf0123456789") => "[redacted:stripe-key]";
    "npm-token" ["npm_"], Token(Alnum, 36), concat!("np", "m_AbCdEf0123456789AbCdEf0123456789abcd") => "[redacted:npm-token]";
    "pypi-token" ["pypi-AgE"], Token(Dashed, 40), concat!("py", "pi-AgEIcHlwaS5vcmcCJDAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMw") => "[redacted:pypi-token]";
    "rubygems-token" ["rubygems_"], Token(Hex, 40), concat!("ruby", "gems_0123456789abcdef0123456789abcdef0123456789abcdef") => "[redacted:rubygems-token]";
    "cargo-token" ["cio"], Token(Alnum, 32), concat!("ci", "oAbCdEf0123456789AbCdEf01234567890") => "[redacted:cargo-token]";
    "huggingface-token" ["hf_"], Token(Alnum, 30), concat!("h", "f_AbCdEfGhIjKlMnOpQrStUvWxYz01234567") => "[redacted:huggingface-token]";
    "aws-key-id" ["AKIA", "ASIA", "ABIA", "ACCA"], Token(Upper, 16), concat!("AK", "IAIOSFODNN7EXAMPLE") => "[redacted:aws-key-id]";
    "digitalocean-token" ["dop_v1_", "doo_v1_", "dor_v1_"], Token(Hex, 64), concat!("do", "p_v1_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef") => "[redacted:digitalocean-token]";
    "docker-token" ["dckr_pat_", "dckr_oat_"], Token(Dashed, 20), concat!("dckr", "_pat_AbCdEf0123456789_AbCdEf") => "[redacted:docker-token]";
    "databricks-token" ["dapi"], Token(Hex, 32), concat!("da", "pi0123456789abcdef0123456789abcdef") => "[redacted:databricks-token]";
    "sendgrid-key" ["SG."], Token(Dotted, 40), concat!("S", "G.AbCdEf0123456789AbCdEf.0123456789AbCdEf0123456789AbCdEf0123456789abc") => "[redacted:sendgrid-key]";
    "twilio-key" ["SK0", "SK1", "SK2", "SK3", "SK4", "SK5", "SK6", "SK7", "SK8", "SK9", "SKa", "SKb", "SKc", "SKd", "SKe", "SKf"], Closer(secret_shapes::twilio), concat!("S", "K0123456789abcdef0123456789abcdef") => "[redacted:twilio-key]";
    "mailgun-key" ["key-"], Token(Hex, 32), concat!("ke", "y-0123456789abcdef0123456789abcdef") => "[redacted:mailgun-key]";
    "telegram-token" [":AA"], Closer(secret_shapes::telegram), concat!("bot 123456789:", "AAabcdefghijklmnopqrstuvwxyz0123456") => "bot [redacted:telegram-token]";
    "shopify-token" ["shpat_", "shpca_", "shppa_", "shpss_"], Token(Hex, 32), concat!("shp", "at_0123456789abcdef0123456789abcdef") => "[redacted:shopify-token]";
    "square-token" ["sq0atp-", "sq0csp-", "EAAAE"], Token(Dashed, 22), concat!("sq0", "atp-AbCdEf0123456789AbCdEf") => "[redacted:square-token]";
    "groq-key" ["gsk_"], Token(Alnum, 40), concat!("gs", "k_AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789") => "[redacted:groq-key]";
    "xai-key" ["xai-"], Token(Alnum, 40), concat!("xa", "i-AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789") => "[redacted:xai-key]";
    "perplexity-key" ["pplx-"], Token(Alnum, 40), concat!("pp", "lx-AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789") => "[redacted:perplexity-key]";
    "replicate-token" ["r8_"], Token(Alnum, 30), concat!("r", "8_AbCdEf0123456789AbCdEf0123456789abcd") => "[redacted:replicate-token]";
    "nvidia-key" ["nvapi-"], Token(Dashed, 40), concat!("nv", "api-AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789") => "[redacted:nvidia-key]";
    "tavily-key" ["tvly-"], Token(Dashed, 20), concat!("tv", "ly-AbCdEf0123456789AbCdEf") => "[redacted:tavily-key]";
    "linear-key" ["lin_api_", "lin_oauth_"], Token(Alnum, 32), concat!("lin", "_api_AbCdEf0123456789AbCdEf0123456789abcd") => "[redacted:linear-key]";
    "notion-token" ["ntn_", "secret_"], Token(Alnum, 40), concat!("nt", "n_AbCdEf0123456789AbCdEf0123456789AbCdEf0123") => "[redacted:notion-token]";
    "figma-token" ["figd_", "figo_"], Token(Dashed, 30), concat!("fi", "gd_AbCdEf0123456789AbCdEf0123456789ab") => "[redacted:figma-token]";
    "grafana-token" ["glsa_", "glc_"], Token(Word, 30), concat!("gl", "sa_AbCdEf0123456789AbCdEf0123456789_0123abcd") => "[redacted:grafana-token]";
    "vault-token" ["hvs.", "hvb.", "hvr."], Token(Dashed, 24), concat!("hv", "s.AbCdEf0123456789AbCdEf0123") => "[redacted:vault-token]";
    "sentry-token" ["sntrys_", "sntryu_"], Token(Base64, 30), concat!("snt", "rys_eyJpYXQiOjE3MDAwMDAwMDAuMDAwMDAw") => "[redacted:sentry-token]";
    "age-key" ["AGE-SECRET-KEY-1"], Token(Upper, 50), concat!("AGE-SECRET", "-KEY-1QQ23QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ") => "[redacted:age-key]";
    "planetscale-token" ["pscale_tkn_", "pscale_pw_", "pscale_oauth_"], Token(Dotted, 30), concat!("psc", "ale_tkn_AbCdEf0123456789AbCdEf0123456789") => "[redacted:planetscale-token]";
    "atlassian-token" ["ATATT3", "ATCTT3"], Token(Dashed, 60), concat!("ATA", "TT3xFfGF0AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789") => "[redacted:atlassian-token]";
    "postman-key" ["PMAK-"], Token(Dashed, 40), concat!("PM", "AK-0123456789abcdef01234567-0123456789abcdef0123456789abcdef01") => "[redacted:postman-key]";
    "supabase-key" ["sbp_", "sb_secret_"], Token(Dashed, 20), concat!("sb", "p_0123456789abcdef0123456789abcdef01234567") => "[redacted:supabase-key]";
    "new-relic-key" ["NRAK-", "NRII-", "NRIQ-", "NRRA-", "NRSP-"], Token(Dashed, 24), concat!("NR", "AK-ABCDEF0123456789ABCDEF01234") => "[redacted:new-relic-key]";
    "new-relic-key" ["NRAL"], Closer(secret_shapes::new_relic_license), concat!("0123456789abcdef0123456789abcdef0123", "NRAL") => "[redacted:new-relic-key]";
    "doppler-token" ["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit.", "dp.said."], Token(Dotted, 32), concat!("dp", ".pt.AbCdEf0123456789AbCdEf0123456789AbCdEf01") => "[redacted:doppler-token]";
    "fly-token" ["fo1_", "fm1_", "fm1a_", "fm1r_", "fm2_"], Token(Base64, 40), concat!("FlyV1 fm", "2_lJPECAAAAAAAAAAAxBAbCdEf0123456789+/AbCdEf0123456789") => "FlyV1 [redacted:fly-token]";
    "1password-token" ["ops_eyJ"], Token(Base64, 40), concat!("ops", "_eyJzaWduSW5BZGRyZXNzIjoibXkuMXBhc3N3b3JkLmNvbSJ9") => "[redacted:1password-token]";
    "1password-key" ["A3-"], Closer(secret_shapes::one_password_key), concat!("A", "3-ABC123-DEF456-GHJ78-KLM90-NPQ12-RST34") => "[redacted:1password-key]";
    "netlify-token" ["nfp_", "nfc_", "nfo_", "nfu_", "nfb_"], Token(Alnum, 30), concat!("nf", "p_AbCdEf0123456789AbCdEf0123456789abcd") => "[redacted:netlify-token]";
    "pulumi-token" ["pul-"], Token(Hex, 40), concat!("pu", "l-0123456789abcdef0123456789abcdef01234567") => "[redacted:pulumi-token]";
    "terraform-token" [".atlasv1."], Closer(secret_shapes::terraform), concat!("AbCdEf01234567.atla", "sv1.AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789abc") => "[redacted:terraform-token]";
    "mapbox-token" ["sk.eyJ", "tk.eyJ", "pk.eyJ"], Token(Dotted, 40), concat!("sk", ".eyJ1IjoibWUiLCJhIjoiY2swMTIzNDU2Nzg5In0.AbCdEf0123456789AbCdEf") => "[redacted:mapbox-token]";
    "airtable-token" ["pat"], Closer(secret_shapes::airtable), concat!("pa", "tAbCdEf01234567.0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef") => "[redacted:airtable-token]";
    "azure-key" ["AccountKey=", "SharedAccessKey=", "SharedSecretValue="], Closer(secret_shapes::after_literal), concat!("AccountName=a;Account", "Key=AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789==;EndpointSuffix=x") => "AccountName=a;AccountKey=[redacted:azure-key];EndpointSuffix=x";
    "azure-sas" ["sig="], Closer(secret_shapes::signature), concat!("?sv=2024&si", "g=AbCdEf0123456789AbCdEf0123456789AbCdEf01234%3D&se=x") => "?sv=2024&sig=[redacted:azure-sas]&se=x";
    "jwt" ["eyJ"], Closer(secret_shapes::jwt), concat!("ey", "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.AbCdEf0123456789-_AbCdEf") => "[redacted:jwt]";
    "aws-key" ["ABSK"], Token(Base64, 60), concat!("AB", "SKAbCdEf0123456789AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789") => "[redacted:aws-key]";
    "aws-key" ["aws_secret_access_key "], Token(Base64, 40), concat!("aws_secret_", "access_key AbCdEf0123456789AbCdEf0123456789AbCdEf01") => "[redacted:aws-key]";
    "aws-key" ["amzn.mws."], Token(Dashed, 36), concat!("amzn", ".mws.01234567-89ab-cdef-0123-456789abcdef") => "[redacted:aws-key]";
    "heroku-key" ["HRKU-"], Token(Dashed, 40), concat!("HR", "KU-AAAbCdEf0123456789AbCdEf0123456789AbCdEf0123456789AbCdEf0123") => "[redacted:heroku-key]";
    "cloudflare-key" ["v1.0-"], Token(Dashed, 100), concat!("v1", ".0-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef") => "[redacted:cloudflare-key]";
    "alibaba-key-id" ["LTAI"], Token(Alnum, 20), concat!("LT", "AIAbCdEf0123456789AbCd") => "[redacted:alibaba-key-id]";
    "tencent-key-id" ["AKID"], Token(Alnum, 32), concat!("AK", "IDAbCdEf0123456789AbCdEf0123456789") => "[redacted:tencent-key-id]";
    "yandex-key" ["AQVN"], Token(Dashed, 35), concat!("AQ", "VNAbCdEf0123456789AbCdEf0123456789abcd") => "[redacted:yandex-key]";
    "vercel-token" ["vcp_", "vci_", "vca_", "vcr_", "vck_"], Token(Alnum, 24), concat!("vc", "p_AbCdEf0123456789AbCdEf0123456789abcd") => "[redacted:vercel-token]";
    "vercel-token" ["vercel_blob_rw_"], Token(Word, 30), concat!("vercel_", "blob_rw_AbCdEf0123456789AbCdEf0123456789abcd") => "[redacted:vercel-token]";
    "render-key" ["rnd_"], Token(Alnum, 32), concat!("rn", "d_AbCdEf0123456789AbCdEf0123456789") => "[redacted:render-key]";
    "neon-key" ["napi_"], Token(Alnum, 60), concat!("na", "pi_AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789") => "[redacted:neon-key]";
    "together-key" ["tgp_v1_"], Token(Dashed, 40), concat!("tgp", "_v1_AbCdEf0123456789AbCdEf0123456789AbCdEf01234") => "[redacted:together-key]";
    "elevenlabs-key" ["sk_"], Token(Hex, 48), concat!("s", "k_0123456789abcdef0123456789abcdef0123456789abcdef") => "[redacted:elevenlabs-key]";
    "cerebras-key" ["csk-"], Token(Alnum, 40), concat!("cs", "k-AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789") => "[redacted:cerebras-key]";
    "huggingface-token" ["api_org_"], Token(Alnum, 30), concat!("api_", "org_AbCdEf0123456789AbCdEf0123456789abcd") => "[redacted:huggingface-token]";
    "langsmith-key" ["lsv2_pt_", "lsv2_sk_"], Token(Word, 40), concat!("lsv2", "_pt_0123456789abcdef0123456789abcdef_0123456789") => "[redacted:langsmith-key]";
    "pinecone-key" ["pcsk_"], Token(Word, 40), concat!("pc", "sk_AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789") => "[redacted:pinecone-key]";
    "jina-key" ["jina_"], Token(Alnum, 60), concat!("ji", "na_AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789") => "[redacted:jina-key]";
    "firecrawl-key" ["fc-"], Token(Hex, 32), concat!("f", "c-0123456789abcdef0123456789abcdef") => "[redacted:firecrawl-key]";
    "gitlab-token" ["glft-", "gloas-", "glsoat-", "glimt-", "glffct-", "glagent-", "glwt-", "GR1348941"], Token(Dashed, 20), concat!("gl", "ft-AbCdEf0123456789AbCd") => "[redacted:gitlab-token]";
    "bitbucket-token" ["ATBB"], Token(Dashed, 32), concat!("AT", "BBAbCdEf0123456789AbCdEf0123456789") => "[redacted:bitbucket-token]";
    "sourcegraph-token" ["sgp_"], Token(Word, 40), concat!("sg", "p_0123456789abcdef_0123456789abcdef0123456789abcdef01234567") => "[redacted:sourcegraph-token]";
    "circleci-token" ["CCIPAT_", "CCIPRJ_"], Token(Word, 40), concat!("CCI", "PAT_AbCdEf0123456789AbCdEf_0123456789abcdef0123456789abcdef01234567") => "[redacted:circleci-token]";
    "buildkite-token" ["bkua_", "bkat_"], Token(Hex, 40), concat!("bk", "ua_0123456789abcdef0123456789abcdef01234567") => "[redacted:buildkite-token]";
    "sonar-token" ["sqp_", "squ_", "sqa_"], Token(Hex, 40), concat!("sq", "p_0123456789abcdef0123456789abcdef01234567") => "[redacted:sonar-token]";
    "nuget-key" ["oy2"], Token(Alnum, 43), concat!("o", "y2abcdef0123456789abcdef0123456789abcdef01234") => "[redacted:nuget-key]";
    "clojars-token" ["CLOJARS_"], Token(Hex, 60), concat!("CLOJ", "ARS_0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab") => "[redacted:clojars-token]";
    "artifactory-token" ["AKCp", "cmVmdGtu"], Token(Alnum, 56), concat!("AK", "CpAbCdEf0123456789AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789") => "[redacted:artifactory-token]";
    "slack-token" ["xoxc-", "xoxd-"], Token(Dashed, 40), concat!("xo", "xd-AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789") => "[redacted:slack-token]";
    "brevo-key" ["xkeysib-", "xsmtpsib-"], Token(Dashed, 60), concat!("xkey", "sib-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef") => "[redacted:brevo-key]";
    "plaid-token" ["access-sandbox-", "access-development-", "access-production-"], Token(Dashed, 36), concat!("access-", "sandbox-01234567-89ab-cdef-0123-456789abcdef") => "[redacted:plaid-token]";
    "flutterwave-key" ["FLWSECK-", "FLWSECK_TEST-"], Token(Dashed, 32), concat!("FLWS", "ECK-0123456789abcdef0123456789abcdef-X") => "[redacted:flutterwave-key]";
    "easypost-key" ["EZAK", "EZTK"], Token(Alnum, 54), concat!("EZ", "AKAbCdEf0123456789AbCdEf0123456789AbCdEf0123456789AbCdEf") => "[redacted:easypost-key]";
    "trello-token" ["ATTA"], Token(Hex, 64), concat!("AT", "TA0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef") => "[redacted:trello-token]";
    "hubspot-token" ["pat-na1-", "pat-na2-", "pat-eu1-"], Token(Dashed, 36), concat!("pat-", "na1-01234567-89ab-cdef-0123-456789abcdef") => "[redacted:hubspot-token]";
    "dropbox-token" ["sl.u.", "sl.B"], Token(Dashed, 100), concat!("sl", ".u.AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789") => "[redacted:dropbox-token]";
    "contentful-token" ["CFPAT-"], Token(Dashed, 40), concat!("CFP", "AT-AbCdEf0123456789AbCdEf0123456789AbCdEf01234") => "[redacted:contentful-token]";
    "typeform-token" ["tfp_"], Token(Dashed, 50), concat!("tf", "p_AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789") => "[redacted:typeform-token]";
    "databricks-token" ["dose"], Token(Hex, 32), concat!("do", "se0123456789abcdef0123456789abcdef") => "[redacted:databricks-token]";
    "datadog-key" ["ddapp_"], Token(Alnum, 30), concat!("dda", "pp_AbCdEf0123456789AbCdEf0123456789ab") => "[redacted:datadog-key]";
    "honeycomb-key" ["hcaik_", "hcamk_", "hcalk_"], Token(Alnum, 50), concat!("hca", "ik_AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789") => "[redacted:honeycomb-key]";
    "dynatrace-token" ["dt0c01.", "dt0s01.", "dt0s16."], Token(Dotted, 60), concat!("dt0", "c01.ABCDEF0123456789ABCDEF01.ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789") => "[redacted:dynatrace-token]";
    "axiom-token" ["xaat-", "xapt-"], Token(Dashed, 36), concat!("xa", "at-01234567-89ab-cdef-0123-456789abcdef") => "[redacted:axiom-token]";
    "posthog-key" ["phx_"], Token(Alnum, 40), concat!("ph", "x_AbCdEf0123456789AbCdEf0123456789AbCdEf01234") => "[redacted:posthog-key]";
    "tailscale-key" ["tskey-"], Token(Dashed, 20), concat!("tsk", "ey-auth-AbCdEf0123456789AbCdEf0123456789abcd") => "[redacted:tailscale-key]";
    "ngrok-token" ["add-authtoken "], Token(Word, 40), concat!("add-aut", "htoken AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789") => "[redacted:ngrok-token]";
    "vault-token" ["Unseal Key 1: ", "Unseal Key 2: ", "Unseal Key 3: ", "Unseal Key 4: ", "Unseal Key 5: "], Token(Base64, 40), concat!("Unseal ", "Key 1: AbCdEf0123456789AbCdEf0123456789AbCdEf01234=") => "[redacted:vault-token]";
    "webhook" ["hooks.slack.com/workflows/", "hooks.slack.com/triggers/", ".webhook.office.com/webhookb2/", "hooks.zapier.com/hooks/catch/"], Closer(secret_shapes::webhook), concat!("https://hooks.slack", ".com/workflows/T0123/A0123/0123456789/AbCdEf0123456789") => "https://hooks.slack.com/workflows/[redacted:webhook]";
    "password" ["sqlcmd ", "unzip "], Closer(command_lines::capital_p), "sqlcmd -S db -U sa -P hunter2" => "sqlcmd -S db -U sa -P [redacted:password]";
    "password" ["mongosh ", "az login "], Closer(command_lines::small_p), "mongosh -u app -p hunter2 shop" => "mongosh -u app -p [redacted:password] shop";
    "password" ["ldapsearch ", "ldapadd ", "ldapmodify "], Closer(command_lines::small_w), "ldapsearch -x -D cn=admin -w hunter2" => "ldapsearch -x -D cn=admin -w [redacted:password]";
    "secret" ["client-key-data"], Closer(assignments::assignment), "client-key-data: LS0tLS1CRUdJTiBSU0E0==" => "client-key-data: [redacted:secret]";
    "secret" ["--from-literal="], Closer(command_lines::from_literal), "kubectl create secret generic s --from-literal=api=hunter2" => "kubectl create secret generic s --from-literal=api=[redacted:secret]";
    "private-key" ["-----BEGIN "], Closer(secret_shapes::pem), concat!("-----BEGIN RSA PRIVATE", " KEY-----\nMIIEow\nAAAA\n-----END RSA PRIVATE KEY-----\nrest") => "[redacted:private-key]\nrest";
    "private-key" ["-----END "], Closer(secret_shapes::pem_end), concat!("MIIEowIBAAKCAQEA0123456789abcdef\\nAAAA\n-----END RSA PRIVATE", " KEY-----\nrest") => "[redacted:private-key]\nrest";
    "private-key" ["Private-Lines: "], Closer(secret_shapes::putty), concat!("Public-Lines: 1\nAAAA\nPrivate-", "Lines: 1\nAAAAgQDl\nPrivate-MAC: 0123abcd\nrest") => "Public-Lines: 1\nAAAA\n[redacted:private-key]\nrest";
    "private-key" ["Private-MAC: "], Closer(secret_shapes::putty_end), concat!("AAAAgQDl0123\nAAAA\nPrivate-", "MAC: 0123abcd\nrest") => "[redacted:private-key]\nrest";
    "password" ["://"], Closer(secret_shapes::userinfo), "postgres://app:s3cr3t@db.example.com/main" => "postgres://app:[redacted:password]@db.example.com/main";
    "bearer-token" ["bearer "], Closer(secret_shapes::bearer), "curl -H 'Authorization: Bearer abc123def456ghi' x" => "curl -H 'Authorization: Bearer [redacted:bearer-token]' x";
    "authorization" ["authorization"], Closer(secret_shapes::authorization), "Authorization: Basic dXNlcjpwYXNzd29yZA==" => "Authorization: Basic [redacted:authorization]";
    "cookie" ["cookie"], Closer(secret_shapes::cookie), "Set-Cookie: sid=abc123; Path=/" => "Set-Cookie: [redacted:cookie]";
    "password" ["-u ", "--user ", "--proxy-user "], Closer(command_lines::curl_user), "curl -u admin:hunter2 https://example.com" => "curl -u admin:[redacted:password] https://example.com";
    "password" ["sshpass -p"], Closer(command_lines::sshpass), "sshpass -p hunter2 ssh host" => "sshpass -p [redacted:password] ssh host";
    "password" ["mysql", "mariadb"], Closer(command_lines::mysql_client), "mysqldump -u root -phunter2 shop" => "mysqldump -u root -p[redacted:password] shop";
    "password" ["redis-cli "], Closer(command_lines::redis_cli), "redis-cli -h cache -a hunter2 ping" => "redis-cli -h cache -a [redacted:password] ping";
    "password" ["docker login "], Closer(command_lines::docker_login), "docker login -u me -p hunter2 registry" => "docker login -u me -p [redacted:password] registry";
    "password" ["machine ", "default login "], Closer(command_lines::netrc), "machine example.com login me password hunter2" => "machine example.com login me password [redacted:password]";
    "password" ["pass", "pwd"], Closer(assignments::assignment), "DB_PASSWORD=hunter2" => "DB_PASSWORD=[redacted:password]";
    "secret" ["secret", "credential", "key", "auth"], Closer(assignments::assignment), "\"client_secret\": \"abc-def-123\"" => "\"client_secret\": \"[redacted:secret]\"";
    "token" ["token"], Closer(assignments::assignment), "API_TOKEN=abcdef0123456789abcdef" => "API_TOKEN=[redacted:token]";
};
