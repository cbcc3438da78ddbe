"""What was said: ten sessions of a developer and an agent. Each fact is said once, between « and ».

An exchange is what the developer asks, what the agent says first, and what it finds in the end; then
questions that somebody may ask weeks later, in other words.
"""

from typing import Final, NamedTuple


class Exchange(NamedTuple):
    """One thing that was worked on."""

    ask: str
    first: str
    finding: str
    questions: tuple[str, ...]


TALKS: Final[dict[str, tuple[Exchange, ...]]] = {
    "storefront": (
        Exchange(
            "Checkout takes half a minute for large carts since Tuesday. Can you find out why?",
            "I'll profile the checkout request with a cart of 200 items.",
            "Confirmed: the tax service is called once per line item. «Batching the call brings a cart of 200"
            " items from 31 s to 0.4 s», and I have put that behind the flag `tax_batch`.",
            ("why was checkout slow", "what made the big cart faster and by how much"),
        ),
        Exchange(
            "The coupon SPRING gives a discount twice if people go back in the browser.",
            "Let me reproduce it with the cart page open in two tabs.",
            "The discount was applied on every render of the summary. «Coupons are now keyed by cart and code in"
            " a unique index», so that the second insert does nothing.",
            (
                "coupon applied two times",
                "how do we prevent a promo code from being redeemed repeatedly",
            ),
        ),
        Exchange(
            "Which currency rounding do we use for Swiss francs?",
            "I'll look at the money module.",
            "«Swiss amounts are rounded to five centimes, but only for cash; card payments keep the cent.» The rule"
            " is in money/rounding.ts.",
            ("rounding rule for CHF", "do card payments in Switzerland round to 0.05"),
        ),
        Exchange(
            "We get complaints that order mails arrive in English for French customers.",
            "Checking how the locale reaches the mail job.",
            "The job runs without a request, so the locale fell back to the default. «The locale is stored on the"
            " order at purchase and the mail job reads it from there.»",
            (
                "order confirmation in the wrong language",
                "where does the email worker take the language from",
            ),
        ),
        Exchange(
            "Please add a limit for how many wishlists someone can have.",
            "I'll add a validation to the model and a test.",
            "Done. «A customer may have 25 wishlists», the 26th answers 422 with code wishlist_limit.",
            (
                "maximum number of wishlists per user",
                "what error comes when somebody creates too many wish lists",
            ),
        ),
        Exchange(
            "The search page shows sold-out products first. That is bad.",
            "Looking at the ranking query of the product search.",
            "Availability was missing in the sort. «Sold-out products now get a penalty of 0.3 in the score», they are"
            " not hidden because marketing wants them to be found.",
            (
                "ranking of unavailable items",
                "why don't we just hide products that are out of stock",
            ),
        ),
        Exchange(
            "Stripe webhooks sometimes come before our own transaction is committed. What do we do?",
            "I'll read the handler and the order of events.",
            "«The handler answers 409 when it does not know the payment yet, and Stripe sends it again after a"
            " minute.» No queue is needed for that.",
            (
                "payment notification arrives too early",
                "what happens if a webhook refers to an unknown payment",
            ),
        ),
        Exchange(
            "What did we decide about guest accounts?",
            "Searching the decision records.",
            "There was none, so I wrote one with what you told me: «guests are turned into accounts when they come back"
            " within 90 days and confirm their address».",
            (
                "guest checkout conversion rule",
                "when does an anonymous buyer become a registered one",
            ),
        ),
    ),
    "telemetry": (
        Exchange(
            "The ingest pods get OOM-killed every night around two.",
            "Let me look at the memory graphs and the cron jobs near that time.",
            "The nightly compaction reads whole segments. «Compaction now streams in pieces of 8 MiB and the pods stay"
            " below 400 MiB.»",
            (
                "pods killed at night",
                "how much memory does segment compaction use after the change",
            ),
        ),
        Exchange(
            "Why do the p99 latencies jump whenever we deploy?",
            "I'll compare the deploy times with the latency histogram.",
            "The new pods get traffic before their caches are warm. «A readiness probe now waits until the dictionary is"
            " loaded, about 12 seconds.»",
            ("latency spikes on rollout", "why do new replicas not receive requests immediately"),
        ),
        Exchange(
            "We need to pick a format for the cold storage.",
            "I'll measure Parquet, ORC and our own with a day of data.",
            "Measured with one day, 41 GB raw. «We take Parquet with zstd level 9: 3.1 GB against 3.4 for ORC», and every"
            " tool can read it.",
            (
                "which file format for archived metrics",
                "how large is a day of data once it is compressed",
            ),
        ),
        Exchange(
            "Grafana shows gaps for hosts in Sydney.",
            "Checking the clock offsets of those hosts.",
            "«The Sydney hosts ran without chrony and were 94 seconds ahead», and samples from the future are dropped.",
            ("missing samples in Australia", "which machines had a wrong clock and how far off"),
        ),
        Exchange(
            "Can we drop the old protobuf endpoint?",
            "I'll count who still uses it.",
            "Not yet: «the only client left on the v1 endpoint is the billing exporter, 40 requests an hour». Its owner is"
            " the finance platform team.",
            (
                "who still calls the deprecated API",
                "what blocks the removal of the old ingestion interface",
            ),
        ),
        Exchange(
            "How long do we keep raw samples?",
            "Reading the retention configuration.",
            "«Raw samples stay 15 days, five-minute averages 13 months, hourly ones for ever.»",
            ("retention of unaggregated metrics", "how far back can I see hourly values"),
        ),
        Exchange(
            "The alert for disk usage fires all the time and nobody looks at it any more.",
            "I'll look at how often it fired and how it ended.",
            "It fired 212 times in a month and resolved by itself 209 times. «The alert now asks when the disk will be full:"
            " it fires if that is within four hours.»",
            ("noisy disk alarm", "when does the storage warning trigger now"),
        ),
    ),
    "mobile": (
        Exchange(
            "The Android app crashes on start for some people since 5.2.",
            "I'll group the crash reports by device and stack.",
            "All reports are from Android 9. «The splash screen library needs API level 29, so on Android 9 it is skipped"
            " now.»",
            (
                "startup crash on old phones",
                "which Android version cannot show the launch animation",
            ),
        ),
        Exchange(
            "Push notifications do not arrive on iPhones after reinstalling.",
            "Checking the token registration.",
            "The token is registered only if it changed, and the keychain survives a reinstall. «We register the device"
            " token at every start now, not only when it changes.»",
            (
                "no pushes after installing the app again",
                "when do we send the notification token to the server",
            ),
        ),
        Exchange(
            "How do we sign the release builds?",
            "Looking at the pipeline and the vault paths.",
            "«The upload key is in Vault under mobile/android/upload and only the release pipeline's role may read it.»",
            ("where is the keystore for publishing", "who has access to the Android upload key"),
        ),
        Exchange(
            "Offline mode loses edits when two devices change the same note.",
            "I'll write a test with two clients and a partition.",
            "The last writer won. «Conflicting notes are now kept both, the second one with the suffix (conflict) and the"
            " device's name.»",
            ("two devices edit the same thing without network", "how are sync collisions resolved"),
        ),
        Exchange(
            "The app bundle has grown to 94 MB. What is in it?",
            "Analysing the bundle by package.",
            "«The largest part is the emoji font with 31 MB»; we can load it from the system on both platforms.",
            ("what makes the download so big", "size of the font inside the application"),
        ),
        Exchange(
            "Battery usage is high when the map is open in the background.",
            "I'll trace location updates.",
            "Location was asked for every second with the best accuracy. «In the background we ask every 90 seconds with"
            " the accuracy of a city block.»",
            ("power drain with map hidden", "how often is the position polled when not visible"),
        ),
        Exchange(
            "Do we support landscape on tablets?",
            "Checking the manifest and the layouts.",
            "«Landscape is allowed from 600 dp width on, except in the camera.»",
            ("rotation of the screen on large devices", "which screen stays in portrait"),
        ),
    ),
    "compiler": (
        Exchange(
            "The parser hangs on this file with deeply nested parentheses.",
            "Let me time it with 10, 20 and 30 levels.",
            "It backtracks twice per level, so the time doubles. «With memoised lookahead 10,000 levels take 80 ms.»",
            ("exponential parse time", "how fast is parsing of nested brackets now"),
        ),
        Exchange(
            "Should integers overflow silently?",
            "I'll collect what the language document says.",
            "The document left it open; your decision is now in it: «overflow traps in debug builds and wraps in release"
            " builds, unless the function is marked checked».",
            ("arithmetic overflow semantics", "what does the checked attribute do"),
        ),
        Exchange(
            "Error messages point to the wrong column if there are tabs.",
            "Looking at how columns are counted.",
            "«A tab counts as one column in positions, and the caret line repeats the tab», so that terminals align it.",
            ("caret under the wrong character", "how are tabulators treated in diagnostics"),
        ),
        Exchange(
            "Can you find out why incremental builds recompile everything after a comment change?",
            "Checking what goes into the fingerprint.",
            "The fingerprint was of the source text. «Fingerprints are made from the token stream without comments now»,"
            " spans are stored apart.",
            (
                "editing a comment triggers a full rebuild",
                "what is hashed to decide about recompilation",
            ),
        ),
        Exchange(
            "Pick a name mangling scheme.",
            "Comparing the Itanium scheme with Rust's v0.",
            "«We use our own scheme with the prefix _Q and lengths in base 36», since demanglers can be generated from a"
            " grammar.",
            ("symbol naming in object files", "which prefix do exported functions get"),
        ),
        Exchange(
            "Closures that capture by reference outlive the frame in one test.",
            "I'll dump the IR of that test.",
            "Escape analysis ignored stores into fields. «A closure that is stored in a field is moved to the heap now», and"
            " the verifier checks it.",
            ("dangling capture", "when does a lambda get allocated on the heap"),
        ),
        Exchange(
            "What is our minimum LLVM?",
            "Reading the CMake file and the CI images.",
            "«LLVM 17 is the oldest that works, because we need opaque pointers and the new pass manager's hooks.»",
            ("required LLVM version", "why can't we build with an older backend"),
        ),
    ),
    "warehouse": (
        Exchange(
            "The daily revenue table is different from what finance sees.",
            "I'll compare both for the first week of May.",
            "The difference is refunds. «Finance books a refund on the day of the purchase, our table on the day of the"
            " refund.» I added a second column instead of changing the first.",
            ("numbers don't match accounting", "on which day are returned orders counted"),
        ),
        Exchange(
            "dbt runs take two hours. Which models are slow?",
            "Sorting the models by run time.",
            "«sessions_enriched takes 71 of the 118 minutes because it scans all history»; making it incremental with a"
            " three-day overlap brings it to six.",
            ("slow transformation job", "how long does the sessions model need when incremental"),
        ),
        Exchange(
            "Who may see the column with birthdays?",
            "Checking grants and masking policies.",
            "«Birthdays are masked to the year for everyone but the role PII_READER, which has two members.»",
            ("access to dates of birth", "how many people can read personal data unmasked"),
        ),
        Exchange(
            "The import from Salesforce misses records now and then.",
            "Comparing counts per hour.",
            "Records that are changed while a page is read move to another page. «We read by SystemModstamp with an overlap"
            " of ten minutes and deduplicate by id.»",
            ("CRM sync loses rows", "how do we avoid skipping records during pagination"),
        ),
        Exchange(
            "Snowflake costs doubled in June.",
            "Looking at credits per warehouse and user.",
            "«A dashboard with auto-refresh every minute kept the large warehouse awake, 40 percent of all credits.» It"
            " refreshes hourly now.",
            ("why did the bill go up", "which report burned most of the compute budget"),
        ),
        Exchange(
            "Time zones: what is the day of an event?",
            "Reading the model of events.",
            "«The day of an event is that of the store's time zone, not UTC», except for web orders, which use Berlin.",
            (
                "which timezone defines the date",
                "how are online purchases assigned to a calendar day",
            ),
        ),
        Exchange(
            "Please write down how to backfill a partition.",
            "I'll try it on staging first.",
            "Tried and written to docs/backfill.md. «Pause the stream, delete the partition, run backfill with --from and"
            " --to, then resume; the stream catches up in about 20 minutes.»",
            (
                "steps to reload historical data",
                "how long until streaming has caught up after a reload",
            ),
        ),
    ),
    "identity": (
        Exchange(
            "Users are logged out every hour although the refresh token lives for 30 days.",
            "I'll follow a session through the gateway.",
            "The gateway caches the key set for a day and keys rotate hourly in staging only by mistake. «Key rotation is"
            " every 30 days in all environments now; staging had 1h instead of 30d.»",
            ("people have to sign in again and again", "what was misconfigured about signing keys"),
        ),
        Exchange(
            "Which hash do we use for passwords?",
            "Looking at the auth library's configuration.",
            "«Argon2id with 64 MiB, three passes and one lane; older bcrypt hashes are upgraded at the next login.»",
            ("password storage parameters", "what becomes of accounts that still have bcrypt"),
        ),
        Exchange(
            "SAML logins from Contoso fail since this morning.",
            "Reading the assertion and the certificate in it.",
            "Their certificate was renewed. «Contoso's new certificate is valid until March 2028 and I added it beside the"
            " old one», so both work for a week.",
            (
                "customer cannot log in with single sign-on",
                "when does the partner's certificate expire",
            ),
        ),
        Exchange(
            "We need rate limits on the login endpoint.",
            "I'll put a token bucket into the edge.",
            "«Ten attempts per minute for an address and five per account, with a penalty box of 15 minutes.» Headers tell"
            " when to try again.",
            (
                "brute force protection numbers",
                "how long is someone blocked after too many login attempts",
            ),
        ),
        Exchange(
            "Is it true that admins can impersonate users?",
            "Searching for the feature and its audit trail.",
            "Yes. «Impersonation needs a ticket number, lasts 20 minutes and the user gets a mail afterwards.»",
            (
                "support staff acting as a customer",
                "is the person informed when an admin takes over the session",
            ),
        ),
        Exchange(
            "The consent screen is shown twice for the partner app.",
            "Tracing the authorisation requests.",
            "The partner asks for scopes in another order the second time. «Scopes are sorted before they are compared with"
            " what was consented to.»",
            ("duplicate permission dialog", "why did the order of scopes matter"),
        ),
        Exchange(
            "How are service accounts cleaned up?",
            "Looking at the janitor job.",
            "«Service accounts that were not used for 180 days are disabled and after another 60 deleted.»",
            ("unused robot users", "after how many days does a machine identity vanish"),
        ),
    ),
    "video": (
        Exchange(
            "Transcodes of portrait videos come out squashed.",
            "I'll run ffprobe on a sample.",
            "The rotation is in the side data and our filter ignores it. «Rotation is read from the display matrix before"
            " the scale filter is built.»",
            ("vertical clips are distorted", "where does the encoder get the orientation from"),
        ),
        Exchange(
            "Which presets do we use for the ladder?",
            "Reading the encoder configuration.",
            "«The ladder has five rungs: 240, 360, 540, 720 and 1080, and 1080 only if the source has 6 Mbit/s or more.»",
            ("list of output resolutions", "when do we create the full HD rendition"),
        ),
        Exchange(
            "Playback starts slowly on Safari.",
            "Comparing the first requests of Safari and Chrome.",
            "Safari waits for the whole first segment. «First segments are two seconds long now, all others six», which"
            " starts 1.8 s earlier.",
            (
                "delay before the film begins in Apple's browser",
                "segment duration at the beginning of a stream",
            ),
        ),
        Exchange(
            "Subtitles are out of sync after the advert.",
            "Looking at the timestamps around the splice.",
            "The advert resets the clock. «A discontinuity tag was missing after the advert; the packager writes it now.»",
            (
                "captions shifted after commercial break",
                "what did the packager forget in the playlist",
            ),
        ),
        Exchange(
            "Could we use the GPU nodes for thumbnails?",
            "Measuring both with a thousand files.",
            "It does not pay. «Thumbnails on the GPU cost 2.3 times as much per thousand as on spot CPUs», since decoding is"
            " a small part of it.",
            ("preview images on graphics cards", "cost comparison of GPU and spot instances"),
        ),
        Exchange(
            "DRM licences fail for users in Brazil.",
            "Checking the licence proxy's logs by region.",
            "«The proxy in São Paulo had an expired client certificate; renewal is automatic now with 30 days' notice.»",
            ("South American viewers cannot decrypt", "which certificate had run out"),
        ),
        Exchange(
            "What is the longest upload that we allow?",
            "Looking at the limits in gateway and storage.",
            "«Uploads may be 12 hours or 128 GB, whichever comes first; the limit is in the upload service, not the"
            " gateway.»",
            ("maximum file size", "which component enforces the upload limit"),
        ),
    ),
    "robotics": (
        Exchange(
            "The arm overshoots when it carries the heavy gripper.",
            "I'll plot the commanded and measured joint angles.",
            "The inertia of the gripper was that of the old one. «With the inertia of 0.084 kg m² for the new gripper the"
            " overshoot falls from 6 to 0.7 degrees.»",
            ("manipulator swings past its target", "what moment of inertia does the new tool have"),
        ),
        Exchange(
            "Lidar and camera do not line up.",
            "Running the calibration on the chessboard recording.",
            "«The camera is mounted 4.2 cm lower than in the drawing»; with that the reprojection error is 0.6 pixels.",
            ("sensor misalignment", "by how much was the mount different from the drawing"),
        ),
        Exchange(
            "The robot stops in the doorway of the lab for no reason.",
            "Replaying the bag with the costmap open.",
            "The threshold of the door shines and gives ghost points. «Points with an intensity above 240 within 3 cm of"
            " the floor are thrown away.»",
            ("navigation halts at the entrance", "filter for reflections near the ground"),
        ),
        Exchange(
            "How often does the controller run?",
            "Reading the real-time configuration.",
            "«The control loop runs at 500 Hz on core 3, which is isolated; missing two deadlines in a row stops the"
            " motors.»",
            ("control frequency", "what happens when the loop is late twice"),
        ),
        Exchange(
            "Battery estimates are off by an hour.",
            "Comparing voltage and current logs with the estimate.",
            "The estimate assumed a constant load. «The estimate uses the average current of the last ten minutes now» and"
            " is within six minutes in all three recordings.",
            ("remaining charge prediction wrong", "over which period is the power draw averaged"),
        ),
        Exchange(
            "Do we still need the ROS 1 bridge?",
            "Listing the nodes that use it.",
            "«Only the old teleoperation panel needs the bridge, and its replacement comes in November.»",
            (
                "legacy middleware dependency",
                "when can we drop support for the first version of ROS",
            ),
        ),
        Exchange(
            "The emergency stop took too long in the safety test.",
            "Measuring each stage with the oscilloscope log.",
            "«110 of the 180 ms were spent in the debounce of the button; it is 20 ms now, so the stop takes 90.»",
            ("red button reacts slowly", "which stage delayed the shutdown"),
        ),
    ),
    "frontend": (
        Exchange(
            "The table with 5,000 rows freezes when I type into the filter.",
            "Profiling a keystroke.",
            "Every keystroke renders every row. «Only the visible 40 rows are rendered now and the filter waits 120 ms», so"
            " typing is smooth.",
            ("grid hangs while typing", "debounce time of the filter field"),
        ),
        Exchange(
            "Dark mode flashes white on load.",
            "Looking at when the theme class is set.",
            "«The theme is set by an inline script in the head before the styles load»; its hash is in the CSP.",
            (
                "white flicker at page load",
                "how does the content security policy allow the theme snippet",
            ),
        ),
        Exchange(
            "Should we move from webpack to vite?",
            "I'll try it on a branch and measure.",
            "Tried it. «A cold start takes 1.9 s with vite instead of 38 with webpack, but the legacy admin page needs"
            " webpack's require.context», so both stay for now.",
            ("bundler migration result", "what keeps us on the old build tool"),
        ),
        Exchange(
            "Dates are shown in American order for British people.",
            "Searching for toLocaleDateString without a locale.",
            "«All dates go through formatDay now, which takes the locale from the account and not from the browser.»",
            ("day and month swapped", "which locale decides about date display"),
        ),
        Exchange(
            "The e2e tests are flaky on CI.",
            "Collecting the failures of the last 200 runs.",
            "Nearly all failures are one thing. «83 of 91 failures came from the cookie banner covering the button; tests"
            " set the consent cookie first now.»",
            ("unstable end-to-end suite", "what obscured the button in automated runs"),
        ),
        Exchange(
            "Screen readers announce the price twice.",
            "Checking the accessibility tree.",
            "«The strike-through price was read without a label; it has the hidden text 'before' now.»",
            ("accessibility of discounted prices", "what do blind users hear for the old amount"),
        ),
        Exchange(
            "Which browsers do we support?",
            "Reading browserslist and the analytics.",
            "«The last two versions of each, and Safari from 15.4 on, because of dialog elements; 0.4 percent of visitors"
            " are older.»",
            ("oldest supported Safari", "share of people with outdated browsers"),
        ),
    ),
    "platform": (
        Exchange(
            "Our Postgres has 900 connections and gets slow. Ideas?",
            "Looking at who holds them and what they do.",
            "Most are idle ones of the workers. «PgBouncer in transaction mode with 60 server connections serves all, and"
            " prepared statements are switched off in the workers.»",
            ("too many database sessions", "pooling mode and pool size"),
        ),
        Exchange(
            "The staging cluster ran out of addresses.",
            "Listing the subnets and what takes them.",
            "«Each node reserved 30 addresses for pods that it never starts; prefix delegation is on now and a node takes"
            " a /28 as needed.»",
            ("IP exhaustion", "how many addresses does a node hold in reserve"),
        ),
        Exchange(
            "What is the plan if Frankfurt goes down?",
            "Reading the runbook and the replication settings.",
            "«Dublin can take over within 25 minutes and at most 40 seconds of writes are lost; the switch is made by hand by"
            " the incident lead.»",
            ("regional outage procedure", "how much data would a failover cost"),
        ),
        Exchange(
            "Builds wait for runners in the afternoon.",
            "Looking at the queue times by hour.",
            "The limit was 12 runners. «Runners scale to 40 between one and six in the afternoon, and the median wait fell"
            " from 9 minutes to 20 seconds.»",
            ("CI queue too long", "how many build agents do we have after lunch"),
        ),
        Exchange(
            "Terraform wants to replace the load balancer. Is this safe?",
            "Reading the plan and the provider's changelog.",
            "No. «The provider renamed the attribute for idle timeouts in 5.31; pin it to 5.30 until the module is"
            " changed», then the plan is empty.",
            ("infrastructure plan would recreate the ingress", "which provider version is safe"),
        ),
        Exchange(
            "Where do the audit logs go?",
            "Following the log pipeline.",
            "«Audit logs go to the bucket acme-audit-eu with an object lock of seven years; nobody can delete them, not even"
            " root.»",
            ("storage location of audit trail", "how long are audit records immutable"),
        ),
        Exchange(
            "Secrets are in plain environment variables. Can we do better?",
            "I'll look at what the operator offers.",
            "«Secrets are mounted as files from the external secrets operator and rotate every 24 hours without a"
            " restart.»",
            (
                "handling of credentials in pods",
                "do services need restarting when a credential changes",
            ),
        ),
        Exchange(
            "The cron job for invoices ran twice on the day the clocks changed.",
            "Looking at the schedule and its time zone.",
            "It ran at 02:30 local time, which came twice. «Cron jobs are in UTC now, and invoices have a unique key of"
            " customer and month.»",
            ("double billing in October", "what protects against creating an invoice again"),
        ),
    ),
}
"""By project."""
