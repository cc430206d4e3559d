"""Every number that two places must agree on, with the relations that must hold."""

from typing import Final

CHUNK_RECIPIENTS_MAX: Final = 25
"""Recipients in one message of kind=send, with their contents."""
CHUNK_DELIVERIES_MIN: Final = 5
CHUNK_DELIVERIES_MAX: Final = 100
"""Deliveries in one chunk of dispatch, which holds ids only: see docs/decisions/0003."""

SQS_MESSAGE_BYTES_MAX: Final = 256 * 1024
"""What we put into one message; SQS itself takes 1 MiB since August 2025."""
SQS_BATCH_ENTRIES_MAX: Final = 10
"""Entries in one SendMessageBatch or PublishBatch, and its total is one message's bytes."""
INBOUND_BYTES_MAX: Final = SQS_MESSAGE_BYTES_MAX - 1024
"""What subscribers are told of one reply, without its attributes."""
SQS_DELAY_SECONDS_MAX: Final = 900
SQS_RECEIVES_MAX: Final = 10
"""Receives before the dead-letter queue: throttles and deadlines count too, so generous."""
FIFO_RECEIVES_MAX: Final = 3
"""A poison message blocks its group, so few."""

SEND_TIMEOUT_SECONDS: Final = 60
SEND_BATCH_SECONDS: Final = 20
"""Work that one invocation takes: longer loses less rate at its end, shorter shares better."""
SEND_BATCH_WINDOW_SECONDS: Final = 1
SEND_SUB_BATCH_SECONDS: Final = 1.0
"""Work that one claim takes."""
LEND_SECONDS: Final = 1.2
"""How long a claim of bulk may use the share of a silent conversation lane: until the next one."""
LEND_MARGIN_SECONDS: Final = 0.3
"""Nobody uses that share for so long after it was lent: see ``domain.lanes.lends``."""
HOLD_SECONDS: Final = 10.0
"""How long a claim of the conversation lane keeps its share from being lent."""
SKEW_SECONDS_MAX: Final = 4.0
"""The clocks of two functions may differ by so much, which AWS keeps under a millisecond."""
INBOUND_SECONDS: Final = 10.0
"""People's own messages are measured over about so long."""
INBOUND_FRESH_SECONDS: Final = 60.0
"""An older message, brought late, did not take from the cap of now."""
HTTP_CONNECT_TIMEOUT_SECONDS: Final = 3.05
HTTP_READ_TIMEOUT_SECONDS: Final = 10.0
HTTP_IDLE_SECONDS_MAX: Final = 5.0
"""A session idle for longer is rebuilt: a dead connection would turn a send into an unknown."""
SEND_DEADLINE_MARGIN_SECONDS: Final = 5.0
"""What recording needs at the end of an invocation."""
SEND_RESERVE_SECONDS: Final = (
    HTTP_CONNECT_TIMEOUT_SECONDS + HTTP_READ_TIMEOUT_SECONDS + SEND_DEADLINE_MARGIN_SECONDS
)
"""Kept free at its end: nothing leaves any more, and what has left is answered and recorded."""
CLAIM_FRESH_SECONDS: Final = 2.0
"""What was claimed longer ago is asked for again before it leaves: orders are in force by then."""
CLAIM_SEND_BY_SECONDS: Final = 15.0
"""A claimed row that has not left by then is handed back, not sent."""
CLAIM_LEASE_SECONDS: Final = 60.0
"""A row still `sending` after this is unknown."""
QUEUED_LOST_SECONDS: Final = 900.0
"""A row still `queued` after this goes back to pending: its chunk is taken for lost."""
IDLE_SECONDS: Final = 15.0
"""A number whose senders ask for no work for so long, while it has some, has lost its chunks."""
IDLE_AGAIN_SECONDS: Final = 600.0
"""Its chunks are not published again more often while nobody claims anything."""
RATE_FACTOR_MIN: Final = 0.05
RATE_CLIMB: Final = 0.05
"""Of its full rate, what a throttled number gets back every RATE_CLIMB_SECONDS."""
RATE_CLIMB_SECONDS: Final = 10.0
THROTTLE_APART_SECONDS: Final = 5.0
"""Refusals closer together are one storm, and halve the rate once."""
SYSTEMIC_FAILURES_MAX: Final = 10
"""So many in a row, of a kind that every recipient would meet, pause the campaign."""
OUTAGE_ANSWERS_MAX: Final = 10
"""So many answers in a row which say that Meta is away, or nothing, pause the number."""
OUTAGE_SECONDS: Final = 30.0
"""For so long: the next one tells whether it is over."""
MEDIA_WAIT_SECONDS: Final = 60.0
"""How long rows rest whose media their number has not: another one may take them then."""
PAUSE_WAIT_SECONDS_MAX: Final = 10.0
"""A sender waits a pause out up to this; for a longer one rows go back to pending."""
THREADS_PER_SLOT_MIN: Final = 16
THREADS_PER_SLOT_MAX: Final = 256

DISPATCH_BACKLOG_SECONDS: Final = 120
"""Work that a number's queue is topped up to."""
DISPATCH_TICK_SECONDS: Final = 5.0
DISPATCH_RUN_SECONDS: Final = 50.0
"""How long one scheduled run keeps ticking while there is work."""
DISPATCH_TIMEOUT_SECONDS: Final = 60

CAMPAIGN_TIMEOUT_SECONDS: Final = 900
COMMAND_TIMEOUT_SECONDS: Final = 60
APPROVE_TIMEOUT_SECONDS: Final = 60
AUDIENCE_APART_BYTES: Final = 128 * 1024 * 1024
"""A file that is larger, a million people and more, gets partitions of its own."""
CAMPAIGNS_APART_MAX: Final = 50
"""So many at once: statements about all campaigns plan over every partition."""
LOAD_SEGMENT_ROWS: Final = 20_000
"""Audience rows loaded in one transaction."""
RECIPIENTS_INLINE_MAX: Final = 1_000
SUPPRESSION_REASON_CHARACTERS_MAX: Final = 200
EXPORT_PREFIX: Final = "suppressions"
"""Keys that an export may write begin so: it must not write over an audience."""
EXPORT_PART_BYTES: Final = 8 * 1024 * 1024
"""Of a file that is written in parts; S3 wants five MiB at least, and takes ten thousand."""
ATTEMPTS_MAX_DEFAULT: Final = 5
ATTEMPTS_MAX: Final = 20
UNKNOWN_WINDOW_SECONDS_DEFAULT: Final = 900
STAY_WITH_NUMBER_DAYS_DEFAULT: Final = 30
STAY_PATIENCE_SECONDS: Final = 600.0
"""Whoever talks with a number that cannot send for longer is sent to by another."""
WINDOW_MARGIN_SECONDS: Final = 600.0
"""A free-form message is refused only so long after its window closed: a webhook may be late."""
UNDELIVERABLE_STRIKES: Final = 3
UNDELIVERABLE_DAYS: Final = 30
"""So many campaigns in so many days that could not reach a person suppress the person."""
PAIR_SECONDS: Final = 6.0
"""Meta: from one number to one person, a message in so many seconds."""
PAIR_BURST_MESSAGES: Final = 5
"""So many at once before they are spaced. Meta lends up to 45, and every slot has its own count."""
PAIRS_MAX: Final = 10_000
"""People whom a sender remembers; a slot of 100 a second writes to 3,000 in the time of a burst."""
DAILY_LIMIT_SECONDS: Final = 86_400
"""Meta counts the people that a portfolio writes to over so long a time, moving."""
FREQUENCY_DAYS_MAX: Final = 30
"""Contacts are kept at most so long."""
RESEND_BATCH_ROWS: Final = 10_000
"""Positions of an audience that an order to send again looks at in one transaction."""
RECONCILE_TIMEOUT_SECONDS: Final = 60
RECONCILE_BATCH_ROWS: Final = 5_000
RECONCILE_SWEEPS_MAX: Final = 20
"""Pages of rows that one run looks through for messages that Meta dropped in silence."""
STATUS_TIMEOUT_SECONDS: Final = 30
SIGNAL_TIMEOUT_SECONDS: Final = 60
"""Ten messages, each of which may wait for the database some seconds."""
STATUS_BATCH_MESSAGES: Final = 200
"""Of a standard queue to one invocation; a FIFO queue gives ``SQS_BATCH_ENTRIES_MAX``."""
STATUS_GROUPS: Final = 64
"""Message groups of statuses.fifo: each passes 300 calls a second, so 64 fill Frankfurt's quota."""
WEBHOOK_TIMEOUT_SECONDS: Final = 5
WEBHOOK_BODY_BYTES_MAX: Final = 3 * 1024 * 1024
"""Meta's limit for one webhook."""

EXPORT_TIMEOUT_SECONDS: Final = 900
EXPORT_PART_ROWS_MIN: Final = 1_000
EXPORT_PART_ROWS_MAX: Final = 250_000
"""Rows read by one statement: as long as it runs, vacuum cleans nothing up."""
EXPORT_STATEMENT_SECONDS_MAX: Final = 120.0
EXPORT_PART_SECONDS_MAX: Final = 240.0
"""Less than this before its end, a run begins no other part."""
EXPORT_PART_BYTES_MAX: Final = 768 * 1024 * 1024
"""Of a part's CSV, which lies on the function's disk, and its Parquet beside it."""
EXPORT_DISK_MEGABYTES: Final = 2_048
EXPORT_ROW_BYTES_MAX: Final = 8 * 1024 * 1024
"""A line of an audience is at most 1 MiB; escaped twice it grows up to sixfold."""
EXPORT_ROW_GROUP_BYTES: Final = 32 * 1024 * 1024
EXPORT_PARQUET_MEMORY_MEGABYTES: Final = 512
SCHEDULE_TIMEOUT_SECONDS: Final = 60
SCHEDULE_EVENT_AGE_SECONDS_MAX: Final = 86_400
SCHEDULE_RETRIES_MAX: Final = 185
"""How long, and how often, EventBridge Scheduler tries to tell that it is time: the most it can."""
MISSED_START_TOLERANCE_SECONDS_DEFAULT: Final = 900
OCCURRENCE_UNSEEN_SECONDS: Final = 900.0
"""A campaign that was published and is not there after so long was refused."""
ERASE_TIMEOUT_SECONDS: Final = 900
ERASE_MARGIN_SECONDS: Final = 60.0
"""Less than this before its end, a run begins no other batch."""
ERASE_PAGE_ROWS: Final = 50_000
"""Recipients that are looked at in one transaction."""
ERASE_BATCH_ROWS: Final = 10_000
"""Positions, or rows, that are deleted in one transaction."""
ERASE_LEASE_MARGIN_SECONDS: Final = 15.0
"""A row whose lease is over for so long belongs to a sender that died."""
RETENTION_DAYS_DEFAULT: Final = 400
RETENTION_DAYS_MIN: Final = 31
"""Longer than anything that still counts: contacts, strikes, files in S3, dead letters."""
RESTORE_TIMEOUT_SECONDS: Final = 900
REPORT_TIMEOUT_SECONDS: Final = 60
REPORT_DETAILS_SECONDS: Final = 40
"""The most that reading all deliveries of a campaign may take."""
PROGRESS_KEPT_SECONDS: Final = 3 * 3600
"""How long samples of a campaign's progress are kept."""

PARKED_HIDDEN_SECONDS: Final = 180
"""How long an order hides parked messages that it does not want: over its next run, too."""
PARKED_LOOK_SECONDS: Final = 30
"""How long a report hides what it shows, unless it lets it appear again before."""

REDRIVES_MAX: Final = 5
REDRIVE_RATE_SHARE_MAX: Final = 0.05
"""Of the number's rate."""
REDRIVE_BACKOFF_SECONDS_BASE: Final = 15
REDRIVE_TIMEOUT_SECONDS: Final = 60

VISIBILITY_FACTOR: Final = 6
"""AWS asks for a visibility timeout of six times the function's timeout."""

CALLBACK_DATA_CHARACTERS_MAX: Final = 512
"""Meta's limit for biz_opaque_callback_data."""

assert SEND_BATCH_SECONDS + HTTP_READ_TIMEOUT_SECONDS + SEND_DEADLINE_MARGIN_SECONDS < (
    SEND_TIMEOUT_SECONDS
)
assert (
    CLAIM_SEND_BY_SECONDS + HTTP_CONNECT_TIMEOUT_SECONDS + HTTP_READ_TIMEOUT_SECONDS
    < CLAIM_LEASE_SECONDS
), "a lease outlives every request that was started under it"
assert LEND_SECONDS > SEND_SUB_BATCH_SECONDS, "the next claim comes before the grant is over"
assert HOLD_SECONDS - SKEW_SECONDS_MAX > LEND_SECONDS + LEND_MARGIN_SECONDS + (
    SEND_SUB_BATCH_SECONDS
), "who waits for its share still holds it"
assert QUEUED_LOST_SECONDS > DISPATCH_BACKLOG_SECONDS
assert QUEUED_LOST_SECONDS > SEND_TIMEOUT_SECONDS * VISIBILITY_FACTOR, (
    "a chunk handed back by a dying sender returns before its rows are taken for lost"
)
assert IDLE_SECONDS > PAUSE_WAIT_SECONDS_MAX, "a sender that waits a pause out is not idle"
assert PARKED_HIDDEN_SECONDS >= 2 * COMMAND_TIMEOUT_SECONDS
assert REPORT_DETAILS_SECONDS < REPORT_TIMEOUT_SECONDS
assert REPORT_DETAILS_SECONDS < COMMAND_TIMEOUT_SECONDS
assert DISPATCH_RUN_SECONDS + DISPATCH_TICK_SECONDS < DISPATCH_TIMEOUT_SECONDS
assert EXPORT_STATEMENT_SECONDS_MAX < EXPORT_PART_SECONDS_MAX < EXPORT_TIMEOUT_SECONDS
assert ERASE_MARGIN_SECONDS < ERASE_TIMEOUT_SECONDS
assert max(FREQUENCY_DAYS_MAX, UNDELIVERABLE_DAYS) < RETENTION_DAYS_MIN
assert 2 * EXPORT_PART_BYTES_MAX < EXPORT_DISK_MEGABYTES * 1024 * 1024
