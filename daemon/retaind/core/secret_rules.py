r"""The table of secrets: what each kind looks like, and what only looks like one.

* `TOKENS` know a secret by its own form; they start at a word's edge, which `redact` puts in front.
* `PLACED` know it by what stands around it, and start with a sign.
* `ASSIGNED` know it by the name that it is given to: `password=`, `"api_key":`, `--token`. They come last.

A pattern is RE2 over bytes, where every byte above 127 is an opaque character. It has at most one
group, which is what is replaced; without a group it is the whole match. It ends in `\b` or in a
repetition that takes all it can, so that nothing is found inside something longer. What it ends in
and what it goes through never overlap for long, which keeps the time linear. Forms are the vendors'
published ones.
"""

from collections.abc import Callable
from typing import NamedTuple

from retaind.core.secret_checks import (
    holds_private_key,
    is_always,
    is_assigned_key,
    is_assigned_password,
    is_basic_credential,
    is_cookie_value,
    is_filled_in,
    is_header_token,
    is_random,
    is_url_password,
)

Check = Callable[[bytes], bool]


class Rule(NamedTuple):
    """One kind of secret. `check` gets what would be replaced and says whether it is a secret after all.

    `hint` stands for a pattern that starts with no fixed text: something short that is in every match.
    """

    kind: str
    pattern: bytes
    check: Check = is_filled_in
    hint: bytes = b""


def _any(*patterns: bytes) -> bytes:
    return b"(?:" + b"|".join(patterns) + b")"


# A break between two lines of a key as it stands in a file, a string literal, a diff or a numbered listing.
_BREAK = rb"""(?:\\+[nrt]|[\s"'>+|,#*-]|\d{1,6}(?:\t|:|\xe2\x86\x92))+"""
_KEY_LINE = rb"(?:(?:[A-Za-z0-9+/=]|\\/){16,}|[A-Za-z-]{4,20}: [^\r\n\\]+)"
_KEY_END = (
    rb"(?:(?:"
    + _BREAK
    + rb"[A-Za-z0-9+/=]{1,15}){0,2}"
    + _BREAK
    + rb"END[ A-Z0-9]*KEY(?: BLOCK)? ?-{4,5})?"
)
_PRIVATE_KEY = (
    rb"-{4,5} ?BEGIN[ A-Z0-9]*PRIVATE KEY(?: BLOCK)? ?-{4,5}(?:"
    + _BREAK
    + _KEY_LINE
    + rb")+"
    + _KEY_END
)
_PUTTY_KEY = (
    rb"PuTTY-User-Key-File-\d: [\s\S]{1,400}?Private-Lines: \d+((?:"
    + _BREAK
    + rb"[A-Za-z0-9+/=]{16,})+)"
)

# Fifteen digits or more in base64, which is how a bot's token begins: its id.
_DISCORD_ID = rb"(?:[MNO][DTjz][AEIMQUYcgk][w-z0-5]){5,}"

TOKENS: tuple[Rule, ...] = (
    # Keys in an envelope
    Rule("private-key", _PUTTY_KEY, is_always),
    Rule("private-key", rb"LS0tLS1CRUdJTi[A-Za-z0-9+/]{80,}={0,2}", holds_private_key),
    Rule("age-key", rb"AGE-SECRET-KEY-(?:PQ-)?1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58,}"),
    Rule("jwt", rb"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]{10,}){1,3}"),
    # Clouds
    Rule("aws-access-key-id", rb"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}\b"),
    Rule("gcp-oauth-secret", rb"GOCSPX-[A-Za-z0-9_-]{28,}"),
    Rule("gcp-oauth-token", rb"ya29\.[A-Za-z0-9_.-]{20,}"),
    Rule("google-api-key", rb"AIza[A-Za-z0-9_-]{35,}"),
    Rule("azure-storage-key", rb"(?i:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{42,}={0,2})"),
    Rule(
        "azure-client-secret",
        rb"[A-Za-z0-9][A-Za-z0-9_~.-]{2}\dQ~[A-Za-z0-9_~.-]{31,}",
        hint=rb"\dQ~",
    ),
    Rule("azure-key", rb"[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{20,}", hint=rb"JQQJ99"),
    Rule("digitalocean-token", rb"do[opr]_v1_[a-f0-9]{64}\b"),
    Rule("heroku-key", rb"HRKU-[A-Za-z0-9_-]{36,}"),
    Rule(
        "heroku-key",
        rb"(?i:heroku[a-z_. -]{0,20}(?:key|token)[\"' ]{0,3}[:=][\"' ]{0,3})"
        rb"([a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12})\b",
    ),
    Rule("alibaba-access-key-id", rb"LTAI[A-Za-z0-9]{17,}"),
    Rule("cloudflare-key", rb"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}\b"),
    Rule("fly-token", rb"fo1_[A-Za-z0-9_-]{40,}|fm[12][ar]?_[A-Za-z0-9+/]{100,}={0,3}"),
    Rule("vault-token", rb"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    Rule(
        "terraform-token", rb"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}", hint=rb"\.atlasv1\."
    ),
    Rule("pulumi-token", rb"pul-[a-f0-9]{40}\b"),
    Rule("doppler-token", rb"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,}"),
    Rule("databricks-token", rb"dapi[a-f0-9]{32}(?:-\d)?\b"),
    Rule("planetscale-token", rb"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}"),
    Rule("supabase-key", rb"sbp_[a-f0-9]{40}\b|sb_secret_[A-Za-z0-9_-]{30,}"),
    Rule("tailscale-key", rb"tskey-[a-z]+-[A-Za-z0-9]+-[A-Za-z0-9]{20,}"),
    Rule("netlify-token", rb"nfp_[A-Za-z0-9]{36,}"),
    # Code, packages, builds
    Rule("github-token", rb"gh[opsur]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,}"),
    Rule(
        "gitlab-token",
        rb"gl(?:agent|cbt|dt|feed|ffct|ft|imt|oas|pat|ptt|rt|rtr|soat)-[A-Za-z0-9_.=-]{20,}",
    ),
    Rule("gitlab-token", rb"GR1348941[A-Za-z0-9_-]{20,}"),
    Rule("bitbucket-token", rb"ATBB[A-Za-z0-9]{32,}|ATCTT3xFfG[A-Za-z0-9_=-]{40,}"),
    Rule("atlassian-token", rb"ATATT3xFfG[A-Za-z0-9_=-]{40,}"),
    Rule("npm-token", rb"npm_[A-Za-z0-9]{36,}"),
    Rule("pypi-token", rb"pypi-AgE[A-Za-z0-9_-]{50,}"),
    Rule("rubygems-key", rb"rubygems_[a-f0-9]{48}\b"),
    Rule("crates-token", rb"cio[A-Za-z0-9]{32}\b"),
    Rule("nuget-key", rb"oy2[a-z0-9]{43}\b"),
    Rule("clojars-token", rb"CLOJARS_[a-z0-9]{60}\b"),
    Rule("docker-token", rb"dckr_[op]at_[A-Za-z0-9_-]{27,}"),
    Rule("sentry-token", rb"sntrys_eyJ[A-Za-z0-9+/=_-]{60,}|sntryu_[a-f0-9]{64}\b"),
    Rule("linear-key", rb"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    Rule("notion-token", rb"ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}\b"),
    Rule("figma-token", rb"fig[dou]_[A-Za-z0-9_-]{40,}"),
    Rule("postman-key", rb"PMAK-[a-f0-9]{24}-[a-f0-9]{34}\b"),
    Rule("airtable-token", rb"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b"),
    Rule("newrelic-key", rb"NR(?:AK|JS|II|RA)-[A-Za-z0-9_-]{19,}"),
    Rule("grafana-token", rb"glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}\b|glc_[A-Za-z0-9+/]{50,}={0,2}"),
    Rule("1password-token", rb"ops_eyJ[A-Za-z0-9+/_-]{100,}={0,2}"),
    # Models
    Rule("anthropic-key", rb"sk-ant-[A-Za-z0-9_-]{24,}"),
    Rule("openai-key", rb"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}"),
    Rule("openrouter-key", rb"sk-or-(?:v\d-)?[a-f0-9]{48,}\b"),
    Rule("langfuse-key", rb"sk-lf-[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}\b"),
    Rule("openai-key", rb"sk-[A-Za-z0-9]{32,}"),
    Rule("huggingface-token", rb"hf_[A-Za-z0-9]{34,}|api_org_[A-Za-z0-9]{34,}"),
    Rule("groq-key", rb"gsk_[A-Za-z0-9]{40,}"),
    Rule("xai-key", rb"xai-[A-Za-z0-9]{60,}"),
    Rule("perplexity-key", rb"pplx-[A-Za-z0-9]{40,}"),
    Rule("replicate-token", rb"r8_[A-Za-z0-9]{37,}"),
    Rule("langsmith-key", rb"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}\b"),
    # Messages, mail, money, shops
    Rule("slack-token", rb"xox[abceoprsd](?:\.xox[bp])?-[A-Za-z0-9-]{20,}"),
    Rule("slack-token", rb"xapp-\d-[A-Z0-9]+-\d+-[a-f0-9]{32,}\b"),
    Rule(
        "slack-webhook", rb"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9_/-]{30,})"
    ),
    Rule("discord-token", _DISCORD_ID + rb"[A-Za-z0-9]{0,3}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
    Rule(
        "discord-webhook",
        rb"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d{15,}/([A-Za-z0-9_-]{60,})",
    ),
    Rule(
        "teams-webhook",
        rb"\.webhook\.office\.com/webhookb2/([a-f0-9@-]{60,}/IncomingWebhook/[a-f0-9]{32}/[a-f0-9-]{36})",
    ),
    Rule("telegram-token", rb"\d{8,10}:AA[A-Za-z0-9_-]{32,}", hint=rb"\d:AA[A-Za-z0-9_-]{8}"),
    Rule("twilio-key", rb"SK[0-9a-f]{32}\b"),
    Rule(
        "twilio-token",
        rb"(?i:twilio[a-z_. -]{0,20}(?:token|secret|key)[\"' ]{0,3}[:=][\"' ]{0,3})([0-9a-f]{32})\b",
    ),
    Rule("sendgrid-key", rb"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{40,}"),
    Rule("mailgun-key", rb"(?:pub)?key-[0-9a-f]{32}\b"),
    Rule(
        "mailgun-key",
        rb"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b",
        hint=rb"-[0-9a-f]{8}-[0-9a-f]{8}\b",
    ),
    Rule("mailchimp-key", rb"[0-9a-f]{32}-us\d{1,2}\b", hint=rb"-us\d"),
    Rule("brevo-key", rb"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}\b"),
    Rule("resend-key", rb"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}\b", is_random),
    Rule("stripe-key", rb"(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{16,}"),
    Rule("webhook-secret", rb"whsec_[A-Za-z0-9+/]{24,}={0,2}"),
    Rule("square-token", rb"sq0(?:atp|csp)-[A-Za-z0-9_-]{22,}"),
    Rule("braintree-token", rb"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}\b"),
    Rule("shopify-token", rb"shp(?:at|ca|pa|ss|ua)_[a-fA-F0-9]{32}\b"),
    # Credentials in their usual places
    Rule(
        "authorization",
        rb"(?i:authorization\\*[\"']?\s{0,3}[:=,]\s{0,3}\\*[\"']?(?:bearer|token|apikey|key)\s+)([A-Za-z0-9._~+/:-]{12,}={0,3})",
        is_header_token,
    ),
    Rule("authorization", rb"(?i:\bbasic)\s+([A-Za-z0-9+/]{8,}={0,2})", is_basic_credential),
    Rule("authorization", rb"(?i:\bbearer)\s+([A-Za-z0-9._~+/-]{20,}={0,2})", is_random),
    Rule(
        "cookie",
        rb"(?i:\b(?:set-)?cookie\\*[\"']?\s{0,3}:\s{0,3}\\*[\"']?)([^\s=;,\"']+=[^\r\n\"'\\]{8,})",
        is_cookie_value,
    ),
    Rule(
        "cookie",
        rb"(?i:PHPSESSID|JSESSIONID|ASP\.NET_SessionId|connect\.sid|laravel_session|sessionid)=([A-Za-z0-9%._~+/-]{16,})",
    ),
)

PLACED: tuple[Rule, ...] = (
    Rule("private-key", _PRIVATE_KEY, is_always),
    Rule("npm-token", rb":_(?:authToken|auth|password) ?= ?[\"']?([A-Za-z0-9+/_.-]{16,}={0,2})"),
    Rule(
        "docker-auth",
        rb"\"auth\\*\"\s*:\s*\\*\"([A-Za-z0-9+/]{12,}={0,2})\\*\"",
        is_basic_credential,
    ),
    Rule("url-password", rb"://[^\s:/?#@\"'<>\\]*:([^\s/\"'<>\\]+)@[A-Za-z0-9\[]", is_url_password),
    Rule("azure-sas", rb"(?i:[?&;]sig=)([A-Za-z0-9%+/-]{40,}={0,2})"),
)

# The name of an assignment ends in one of these words, or in one of them and an ending.
_PASSWORD = rb"(?:passw(?:or)?d|passphrase|pwd)"
_KEY = (
    rb"(?:secret|token|credential"
    rb"|(?:api|app|auth|access|account|private|secret|encryption|signing|master|service|storage|shared)[_-]?key)"
)
_ENDING = rb"(?:[_-](?:key|base|value|prod|production|dev|staging|live|\d{1,2})){0,2}"
# From the name to the value: `=`, `:`, `=>`, `: str =`, `>` of an element, or a `value` key that follows.
_TO_VALUE = (
    rb"(?:\\*[\"'`]?\]?\s{0,3}(?::\s{0,3}[A-Za-z]{3,6}\s{0,3}=|=>|:=|={1,2}|:)\s{0,3}"
    rb"|\\*[\"']?,?(?:\s|\\n){0,40}\\*[\"']?value\\*[\"']?\s{0,3}:\s{0,3}|>)"
)
_QUOTED = rb"\\*[\"'`]([^\x00-\x20\"'`\\]{6,})\\*[\"'`]"
_BARE = rb"([^\x00-\x20\"'`,;:=&<>(){}\[\]\\]{6,}={0,2})(?:[\x00-\x20\"'`,;&<\\]|$)"
_AFTER_FLAG = rb"(?:=|\s+)\\*[\"']?"
_NAMED = (
    rb"(?i:"
    + _any(_PASSWORD, _KEY)
    + _ENDING
    + rb")"
    + _TO_VALUE
    + rb"\\*[\"'`]?[^\x00-\x20\"'`\\(\[]{6}"
)


def _assigned(kind: str, name: bytes, check: Check) -> tuple[Rule, ...]:
    named = rb"(?i:" + name + _ENDING + rb")" + _TO_VALUE
    return (
        Rule(kind, named + _QUOTED, check, _NAMED),
        Rule(kind, named + _BARE, check, _NAMED),
        Rule(kind, rb"--(?i:[a-z-]*" + name + rb")" + _AFTER_FLAG + _BARE, check),
    )


ASSIGNED: tuple[Rule, ...] = (
    Rule(
        "aws-secret-key",
        rb"(?i:(?:aws_?)?secret_?(?:access_?)?key\\*[\"']?\]?\s{0,3}[:=>]{1,2}\s{0,3}\\*[\"']?)([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)",
    ),
    *_assigned("password", _PASSWORD, is_assigned_password),
    *_assigned("secret", _KEY, is_assigned_key),
    Rule(
        "password",
        rb"machine\s+\S+\s+login\s+\S+\s+password\s+([^\x00-\x20\"\'\\]{4,})",
        is_assigned_password,
    ),
    Rule(
        "password",
        rb"(?:(?:mysql|mariadb)[a-z]*\s[^\r\n|;]*?\s-p|(?:sshpass|docker\s+login)\s[^\r\n|;]*?-p\s*)"
        rb"\\*[\"']?([^\x00-\x20\"'\\]{4,})",
        is_assigned_password,
    ),
    Rule(
        "password",
        rb"curl\s[^\r\n|;]*?(?:-u|--user)[ =]\\*[\"']?[^\s:\"']+:([^\x00-\x20\"'\\]{4,})",
        is_assigned_password,
    ),
)
