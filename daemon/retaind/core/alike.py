"""Words that mean much the same where software is talked about: a question seldom has the answer's own words.

A small thesaurus of general words, no more: what a word is, the index itself knows. The words are written as
people write them; they are compared as stems.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_GROUPS: Final = """
    slow slowness latency delay lag sluggish takes
    fast faster quick quickly speed performance speedup rapid
    error failure exception fault problem issue
    fail fails broken breaks broke wrong
    crash crashes crashed panic segfault abort killed dies died oom
    hang hangs freeze freezes stuck deadlock blocked
    login signin logged auth authentication authenticate
    logout signout
    password passphrase
    secret credential token key
    permission access grant authorization allowed right
    user account customer client person people
    admin administrator root operator
    delete remove erase purge drop deleted
    add create insert introduce
    change modify edit update alter
    rename move
    fix repair solve resolve mend workaround solution
    cause reason culprit because why
    config configuration setting option preference parameter
    database db postgres postgresql mysql sqlite sql
    table relation schema
    query select statement
    index key
    migration migrate upgrade
    cache cached caching memo
    queue backlog broker
    job task worker cron schedule scheduled
    server host machine node instance
    cluster kubernetes pod replica container
    deploy deployment release rollout ship shipped
    rollback revert undo
    version release tag
    branch fork
    commit push merge
    test tests spec suite
    flaky unstable intermittent sporadic sometimes
    build compile compilation compiler
    ci pipeline actions workflow runner
    dependency package library module
    api endpoint route interface
    request call invocation
    response answer reply
    timeout deadline
    retry again repeat
    limit maximum max cap quota most ceiling
    minimum min least
    size large big length bytes
    small tiny
    count number amount many total
    memory ram heap
    cpu processor core
    disk storage volume
    network connection socket
    proxy gateway
    port listen
    url link address
    file path document
    folder directory
    log logs logging trace
    metric metrics telemetry monitoring
    alert alarm warning notification notify
    email mail
    message text
    image picture photo thumbnail
    video film clip movie
    font typeface
    color colour
    button control
    screen page view display shown show
    mobile phone android ios iphone
    browser safari chrome firefox
    payment pay paid charge billing invoice bill
    price cost costs expensive money
    order purchase bought buy
    cart basket checkout
    discount coupon promo voucher
    refund return
    encrypt encryption decrypt cipher tls ssl
    certificate cert
    expire expires expired expiry ttl lifetime valid
    keep retain retention store stored preserve
    old older legacy deprecated outdated previous former
    new newer latest recent
    start begin startup launch boot init
    stop end shutdown terminate finish
    enable activate
    disable deactivate
    duplicate twice double repeated
    missing lost absent gap
    language locale translation
    timezone utc zone
    date day
    often frequency interval rate every
    schedule plan
    decide decision decided chose choose picked pick agreed
    prefer preference favourite favorite
    team colleague
    owner maintainer responsible
    docs documentation readme
    example sample
    function method procedure
    class type struct
    variable field attribute
    string text
    array list
    map dictionary dict
    thread concurrency parallel async
    lock mutex
    leak leaks leaking
    import load reading
    export dump
    backup snapshot
    restore recover recovery
    sync synchronise synchronize replication
    conflict collision clash
    convert transform conversion
    compress compression zip zstd gzip
    parse parser parsing
    format layout
    search find lookup
    sort order ranking ranked
    filter exclude
    validate validation check verify
    security vulnerability exploit
    attack abuse
    battery power energy
    location position gps
    install installation setup
    uninstall remove
    hardware device
    environment env
    staging preprod
    production prod live
    local localhost
"""


def _table() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for line in _GROUPS.split("\n"):
        words = line.split()
        for word in words:
            found.setdefault(word, {}).update(dict.fromkeys(one for one in words if one != word))
    return MappingProxyType({word: tuple(others) for word, others in found.items()})


_ALIKE: Final = _table()
_ENDINGS: Final = ("s", "es", "ed", "d", "ing", "ly")


def alike(word: str) -> tuple[str, ...]:
    """Return the words that stand for a word, given in lower case; () when none is known."""
    if word in _ALIKE:
        return _ALIKE[word]
    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word and stem in _ALIKE:
            return _ALIKE[stem]
    return ()
