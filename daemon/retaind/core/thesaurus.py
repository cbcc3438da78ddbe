"""A small thesaurus of general words: each line has some that could stand for each other in an answer.

They are written as people write them; what stands in several lines goes with all of them.
"""

from typing import Final

SOFTWARE: Final = """
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


EVERYDAY: Final = """
    mother mom mum mama mommy parent parents
    father dad daddy papa parent parents
    grandmother grandma granny gran nana grandparents
    grandfather grandpa granddad grandparents
    sister sibling siblings
    brother sibling siblings
    son boy kid child
    daughter girl kid child
    child children kid kids toddler son daughter
    baby newborn infant
    wife husband spouse partner
    boyfriend girlfriend partner dating
    marry married marriage wedding
    engaged engagement proposed fiance
    divorce divorced separated split breakup
    pregnant pregnancy expecting
    birth born
    friend friends buddy pal mate
    neighbor neighbour neighbors neighbours
    pet pets dog cat puppy kitten
    dog puppy
    cat kitten
    doctor physician nurse
    hospital clinic
    surgery operation
    sick ill illness disease unwell
    injury injured hurt broken broke accident
    pain ache sore hurts
    medicine medication pills treatment
    allergy allergic
    therapy therapist counselling counseling counselor
    exercise workout gym fitness training
    tired exhausted worn
    stress stressed stressful overwhelmed
    worry worried anxious nervous anxiety
    happy glad delighted joy pleased
    sad upset unhappy cried crying
    angry mad furious
    afraid scared fear frightened
    proud pride
    excited thrilled looking forward
    surprised shocked astonished
    love loved adore
    hate hated dislike
    enjoy enjoyed fun love
    lonely alone
    grateful thankful gratitude
    relax relaxing calm unwind
    job work career position profession occupation
    boss supervisor manager
    coworker colleague colleagues
    company firm business employer
    hire hired employed recruited
    fired dismissed sacked laid
    quit resign resigned
    promotion promoted raise
    salary wage income earn
    retire retired retirement
    meeting appointment
    volunteer volunteering charity
    university college campus
    school class lessons
    study studying studied course
    teacher professor instructor tutor
    student pupil students
    exam exams test
    degree diploma graduate graduated graduation
    house home apartment flat
    move moved moving relocate relocated
    rent rented lease landlord
    buy bought purchased got
    sell sold selling
    garden gardening yard plants
    trip travel travelled traveled vacation holiday journey
    flight plane fly flew airport
    car vehicle truck
    bike bicycle cycling
    hotel hostel
    beach sea ocean coast shore
    mountain mountains hike hiking hiked trail
    camp camping tent
    visit visited visiting
    abroad overseas country
    city town village
    food meal dish eat
    dinner supper lunch
    cook cooking cooked recipe
    bake baked baking cake bread
    restaurant cafe
    drink coffee tea wine beer
    vegetarian vegan
    music song songs band
    concert gig show
    instrument guitar piano violin drums
    sing sang singing singer choir
    art artwork painting paint painted
    draw drawing drew sketch
    book novel reading
    write wrote writing written
    theater theatre play stage
    dance dancing danced dancer
    pottery ceramics clay
    museum gallery exhibition exhibit
    game games gaming
    race marathon running
    swim swimming swam pool
    football soccer
    win won winning prize award
    competition contest tournament
    party celebration celebrate celebrated
    birthday anniversary
    gift present presents
    funeral died death passed
    talk talked chat conversation spoke
    meet met
    help helped support supported
    advice suggestion suggested recommend recommended
    argue argument fight quarrel
    donate donated donation fundraiser
    save saved savings
    forest woods trees tree
    flower flowers
    river lake
    storm rain weather
    animal animals wildlife
    hobby hobbies pastime interest interests
    dream goal ambition
    religion church faith
    community club organization
    hometown origin grew roots
    motivate motivated inspire inspired inspiration
    challenge struggle difficult difficulty hard
    nickname name called
"""
