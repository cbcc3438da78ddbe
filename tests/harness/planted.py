"""Secrets made up at run time, from forms in which `<w36>` is 36 signs by chance; none stands here."""

import random
import re
import string

SIGNS = {
    "w": string.ascii_letters + string.digits,
    "u": string.ascii_letters + string.digits + "_-",
    "b": string.ascii_letters + string.digits + "+/",
    "h": "0123456789abcdef",
    "l": string.ascii_lowercase + string.digits,
    "k": string.ascii_uppercase + string.digits,
    "t": string.ascii_uppercase + "234567",
    "a": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "d": "123456789",
    "p": string.ascii_letters + string.digits + "!?.*_-",
}
UUID = "<h8>-<h4>-<h4>-<h4>-<h12>"

# kind, and the form; what stands between « and » is the secret, without them it is all of it.
FORMS: tuple[tuple[str, str], ...] = (
    ("aws-access-key-id", "AKIA<t16>"),
    ("aws-access-key-id", "ASIA<t16>"),
    ("aws-secret-key", "aws_secret_access_key = «<b40>»"),
    ("aws-secret-key", 'AWS_SECRET_ACCESS_KEY="«<b40>»"'),
    ("aws-secret-key", '"SecretAccessKey": "«<b40>»"'),
    ("gcp-oauth-secret", "GOCSPX-<u28>"),
    ("gcp-oauth-token", "ya29.<u120>"),
    ("google-api-key", "AIza<u35>"),
    ("azure-storage-key", "AccountName=store;AccountKey=«<b86>==»;EndpointSuffix=core.windows.net"),
    ("azure-storage-key", "SharedAccessKeyName=Root;SharedAccessKey=«<b43>=»"),
    ("azure-client-secret", "<w3>8Q~<w34>"),
    ("azure-sas", "https://acc.blob.core.windows.net/c/f?sv=2024-11-04&sig=«<w43>%3D»"),
    ("azure-key", "<w52>JQQJ99<k20><w6>"),
    ("github-token", "ghp_<w36>"),
    ("github-token", "gho_<w36>"),
    ("github-token", "ghs_<w36>"),
    ("github-token", "github_pat_<w22>_<w59>"),
    ("gitlab-token", "glpat-<u20>"),
    ("gitlab-token", "glrt-<u20>"),
    ("gitlab-token", "GR1348941<u20>"),
    ("bitbucket-token", "ATBB<w32>"),
    ("bitbucket-token", "ATCTT3xFfG<u180>"),
    ("atlassian-token", "ATATT3xFfG<u180>"),
    ("slack-token", "xoxb-<d12>-<d12>-<w24>"),
    ("slack-token", "xoxp-<d12>-<d12>-<d12>-<h32>"),
    ("slack-token", "xapp-1-A<k10>-<d13>-<h64>"),
    ("slack-webhook", "https://hooks.slack.com/services/«T<k10>/B<k10>/<w24>»"),
    ("stripe-key", "sk_live_<w24>"),
    ("stripe-key", "rk_live_<w24>"),
    ("stripe-key", "sk_test_<w99>"),
    ("webhook-secret", "whsec_<w32>"),
    ("twilio-key", "SK<h32>"),
    ("twilio-token", "TWILIO_AUTH_TOKEN=«<h32>»"),
    ("resend-key", "re_<w8>_<w24>"),
    ("braintree-token", "access_token$production$<l16>$<h32>"),
    ("sendgrid-key", "SG.<u22>.<u43>"),
    ("mailgun-key", "key-<h32>"),
    ("mailgun-key", "<h32>-<h8>-<h8>"),
    ("mailchimp-key", "<h32>-us12"),
    ("brevo-key", "xkeysib-<h64>-<w16>"),
    ("openai-key", "sk-<w48>"),
    ("openai-key", "sk-<w20>T3BlbkFJ<w20>"),
    ("openai-key", "sk-proj-<u156>"),
    ("openai-key", "sk-svcacct-<u120>"),
    ("anthropic-key", "sk-ant-api03-<u93>AA"),
    ("anthropic-key", "sk-ant-oat01-<u93>AA"),
    ("openrouter-key", "sk-or-v1-<h64>"),
    ("langfuse-key", "sk-lf-" + UUID),
    ("huggingface-token", "hf_<w34>"),
    ("groq-key", "gsk_<w52>"),
    ("xai-key", "xai-<w80>"),
    ("perplexity-key", "pplx-<w48>"),
    ("replicate-token", "r8_<w37>"),
    ("langsmith-key", "lsv2_pt_<h32>_<h10>"),
    ("npm-token", "npm_<w36>"),
    ("npm-token", "//registry.npmjs.org/:_authToken=«" + UUID + "»"),
    ("pypi-token", "pypi-AgEIcHlwaS5vcmc<u150>"),
    ("rubygems-key", "rubygems_<h48>"),
    ("crates-token", "cio<w32>"),
    ("nuget-key", "oy2<l43>"),
    ("docker-token", "dckr_pat_<u27>"),
    ("jwt", "eyJhbGciOiJIUzI1NiJ9.eyJ<u80>.<u43>"),
    ("discord-webhook", "https://discord.com/api/webhooks/<d18>/«<u68>»"),
    ("telegram-token", "<d10>:AA<u33>"),
    ("shopify-token", "shpat_<h32>"),
    ("shopify-token", "shpss_<h32>"),
    ("square-token", "sq0atp-<u22>"),
    ("digitalocean-token", "dop_v1_<h64>"),
    ("heroku-key", "HRKU-" + UUID),
    ("heroku-key", "HEROKU_API_KEY=«" + UUID + "»"),
    ("vault-token", "hvs.<u90>"),
    ("vault-token", "hvb.<u140>"),
    ("terraform-token", "<w14>.atlasv1.<u67>"),
    ("pulumi-token", "pul-<h40>"),
    ("doppler-token", "dp.pt.<w43>"),
    ("databricks-token", "dapi<h32>"),
    ("planetscale-token", "pscale_tkn_<u43>"),
    ("supabase-key", "sbp_<h40>"),
    ("tailscale-key", "tskey-auth-<w16>-<w32>"),
    ("netlify-token", "nfp_<w36>"),
    ("fly-token", "fo1_<u43>"),
    ("fly-token", "fm2_<b180>"),
    ("cloudflare-key", "v1.0-<h24>-<h146>"),
    ("clojars-token", "CLOJARS_<l60>"),
    ("1password-token", "ops_eyJ<b200>"),
    ("teams-webhook", f"https://acme.webhook.office.com/webhookb2/«{UUID}@{UUID}/IncomingWebhook/<h32>/{UUID}»"),
    ("huggingface-token", "api_org_<w34>"),
    ("sentry-token", "sntrys_eyJ<b120>"),
    ("supabase-key", "sb_secret_<u31>"),
    ("discord-token", "MTAwNzE0NTYyMzU0MTg3OTMx.G<w5>.<u38>"),
    ("sentry-token", "sntryu_<h64>"),
    ("linear-key", "lin_api_<w40>"),
    ("notion-token", "ntn_<w46>"),
    ("figma-token", "figd_<u43>"),
    ("postman-key", "PMAK-<h24>-<h34>"),
    ("airtable-token", "pat<w14>.<h64>"),
    ("newrelic-key", "NRAK-<k27>"),
    ("grafana-token", "glsa_<w32>_<h8>"),
    ("alibaba-access-key-id", "LTAI<w20>"),
    ("age-key", "AGE-SECRET-KEY-1<a58>"),
    ("url-password", "postgres://svc:«<w16>»@db.internal:5432/app"),
    ("url-password", "mongodb+srv://svc:«<p12>»@cluster0.mongodb.net/app"),
    ("url-password", "redis://:«<w20>»@cache:6379/0"),
    ("url-password", "https://robot:«<w14>»@git.internal/team/repo.git"),
    ("authorization", "Authorization: Bearer «<u40>»"),
    ("authorization", '"authorization": "Bearer «<w32>»"'),
    ("authorization", "curl -H 'Authorization: token «<h40>»' https://api"),
    ("authorization", "sent Bearer «<u43>» to the server"),
    ("cookie", "-H 'Cookie: «session=<w40>; theme=dark»'"),
    ("cookie", '"set-cookie": "«sid=<w32>; Path=/; HttpOnly»"'),
    ("cookie", "JSESSIONID=«<k32>»"),
    ("password", "DB_PASSWORD=«<p14>»"),
    ("password", 'password: "«<p16>»"'),
    ("password", "'passwd' => '«<p12>»'"),
    ("password", '{\\"password\\": \\"«<w14>»\\"}'),
    ("password", "mysql --user=app --password=«<w16>» db"),
    ("password", "tool --db-password «<w16>»"),
    ("password", "<password>«<w16>»</password>"),
    ("password", "curl -u robot:«<w16>» https://api"),
    ("password", "mysqldump -u app -p«<w16>» db"),
    ("password", "sshpass -p '«<w16>»' ssh host"),
    ("password", "docker login -u robot -p «<w20>» registry.internal"),
    ("password", "machine git.internal login robot password «<w20>»"),
    ("password", "- name: DB_PASSWORD\n  value: «<w18>»"),
    ("secret", "export MY_SERVICE_TOKEN=«<w32>»"),
    ("secret", '"api_key": "«<h32>»"'),
    ("secret", "client_secret: «<u40>»"),
    ("secret", 'const apiKey: string = "«<w24>»";'),
    ("secret", "SECRET_KEY_BASE=«<h128>»"),
    ("secret", "X-Api-Key: «<w40>»"),
    ("secret", "deploy --token «<w40>»"),
    ("secret", "OPENAI_API_KEY=«sk-local-<w8>»"),
)  # fmt: skip


def fill(form: str, chance: random.Random) -> str:
    """Put signs by chance where the form has `<CLASS NUMBER>`."""

    def signs(slot: re.Match[str]) -> str:
        return "".join(chance.choices(SIGNS[slot[1]], k=int(slot[2])))

    return re.sub(r"<([a-z])(\d+)>", signs, form)


def sample(form: str, chance: random.Random) -> tuple[str, str]:
    """Return a text of this form, and the secret in it."""
    filled = fill(form, chance)
    text = filled.replace("«", "").replace("»", "")
    return text, filled.partition("«")[2].partition("»")[0] or text


def pem(chance: random.Random, name: str, lines: int, newline: str = "\n") -> str:
    """Return a private key's envelope; put together here, so that none stands in this file."""
    dashes = "-" * 5
    body = [fill("<b64>", chance) for _ in range(lines)] + [fill("<b20>==", chance)]
    head, tail = f"{dashes}BEGIN {name}{dashes}", f"{dashes}END {name}{dashes}"
    return newline.join((head, *body, tail))


def mark(kind: str) -> str:
    return f"[redacted:{kind}]"
