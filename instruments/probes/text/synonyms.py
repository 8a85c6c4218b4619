"""Synonyms that the scorers of text accept, by what they mean; phrases are separated by `|`.

A phrase belongs here if an engineer or an editor would put it in place of the first phrase of its table without a
change of meaning in this incident, report or dispute. Words that need their context for that (`deal with`) are left
out, because a list of keywords would profit from them. Verbs of change, whose direction counts, are in
`change_direction.py`.
"""

from instruments.probes.text.tokens import split_words

POOL = (
    "pool|pools|pool max|pool size|pool sizes|pool limit|pool limits|max pool|connection pool|connection pools|"
    "connections pool|connections|connection limit|connection limits|connection count|connection cap|connection budget|"
    "connection allowance|connection capacity|connection ceiling|connection maximum|number of connections|"
    "database connections|db connections|database handles|database sessions|db sessions|pooled connections|"
    "maximum connections|max connections|pool capacity|pool ceiling|connection slots|pooling|pool maximum"
)
"""What became too small."""

THE_CHANGE = "4417|change 4417|config change 4417|configuration change 4417"
CONFIGURATION = (
    "configuration|config|configurations|configs|configuration change|config change|settings|setting|"
    "configuration push|config push|config rollout|configuration rollout|parameter change"
)
"""What made it smaller, by its number, or only by its kind."""

EXHAUSTING = (
    "exhausted|exhausts|exhaust|exhaustion|ran out of|runs out of|run out of|running out of|used up|starved|starvation|"
    "starving|saturated|saturates|saturation|depleted|ran dry|run dry|out of connections|fully used|all in use|"
    "not enough|bottleneck|too few"
)
"""What it came to: a consequence that does not say in which direction the pool was changed."""

HEDGES = "perhaps|possibly|maybe|might|might have|could be|could have been|may have|conceivably|i guess|or something"

HARMLESS = (
    "harmless|no effect|no impact|no consequence|without effect|without consequence|without consequences|"
    "does not matter|did not matter|unrelated|irrelevant|nothing to do|coincidence|made no difference|"
    "a good thing|an improvement|improved|helped|solved it|solved the problem|fixed it|fixed the problem|"
    "after the incident|after the checkouts|after checkouts|after the failures|after the errors|"
    "after the outage|to repair it|in response to|in reaction to|as a reaction to|which protected|protected the|"
    "saved the day|as a countermeasure|as a remedy|much later|long after|long afterwards|days later|weeks later"
)
"""Denies that a change was the cause."""

OTHER_CAUSES = (
    "ddos|attack|attacked|attackers|hackers|hacker|malware|sabotage|disk|disks|hard drive|memory leak|network card|"
    "network failure|power cut|power failure|dns|certificate|hardware failure|broken cable|"
    "router|lightning|ransomware|virus|botnet|meteorite|overheated|overheating"
)
"""Causes that the timeline does not have."""

FAILING = (
    "made the checkouts fail|made checkouts fail|made the shop fail|took the shop down|brought the shop down|"
    "broke the checkout|broke the shop|checkouts failed because|checkouts failed due|caused the errors|"
    "caused the failures|caused the outage|caused the incident|caused checkouts to fail|caused the checkouts to fail"
)
"""Says what made the checkouts fail."""

ITS_EFFECTS = split_words(
    "it this that which they these those change inventory host hosts request requests queue queues queued queueing "
    "wait waits waited waiting timeout timeouts shortage 504 504s"
)
"""Words of a sentence that may speak of the change or of what followed from it."""

STRAINED = split_words("overload overloaded overloads overloading overwhelmed overwhelms slow slowed")
"""What the database was not."""

ELSEWHERE = "on the checkout hosts|on checkout hosts|on the checkout servers|on the cache nodes|on the database hosts"
"""Places where the pool did not shrink."""

UNDECIDED = (
    "nothing can be rejected|nothing can be excluded|nothing can be ruled out|nothing is rejected|nothing rejected|"
    "none can be rejected|none can be excluded|none can be ruled out|no suspect can be|stay possible|stays possible|"
    "remain possible|remains possible|still possible|remain suspects|remain a suspect|remains a suspect|"
    "can not be rejected|can not be ruled out|can not be excluded"
)
"""Says of suspects that they are not rejected."""

BLAMING = (
    "caused|cause|the cause|root cause|culprit|to blame|responsible|triggered|is why|was why|the reason|brought down|"
    "took down|led to|broke|at fault|guilty|source of"
)

PRESCRIBING = (
    "should|must|need to|needs to|has to|have to|recommend|recommended|to fix|to fix it|the fix|fix|remedy|ought to|"
    "going forward|to repair|we will|next step|to resolve"
)

UNDOING = (
    "revert|reverts|reverting|reverted|roll back|rolling back|rolled back|rollback|rolling it back|"
    "roll it back|restore|restoring|restored|undo|undoing|undone|reset|resetting|put back|put it back|"
    "set back|back out|backing out|back to|return|returning|withdraw|withdrawing|reinstate|reinstating|set|"
    "setting|give back|give|bring back|raise|raising|increase|increasing|lift|lifting|retract|cancel|reverse|"
    "reversing|bump|roll|rolling|rolled|back up to|re-raise|enlarge|expand"
)
"""Verbs that undo the change, with the change or the pool as their object."""

KEEPING = (
    "reapply|re-apply|apply|applying|roll out|rolling out|deploy|deploying|extend|extending|keep|keeping|leave|leaving|"
    "finish|finishing|complete|completing|push|spread|retain|confirm|accept|make permanent|copy"
)
"""Proposals that keep or spread the change, with the change or the small pool as their object."""

SAFEGUARDS = (
    "validate|validates|validated|validation|review|reviews|reviewed|alert|alerts|alerting|alarm|alarms|"
    "monitor|monitors|monitored|monitoring|canary|staged|gradual|gradually|guard|guards|guardrail|guardrails|"
    "bounds|lower bound|minimum|check|checks|checked|test|tests|tested|testing|lint|policy|approval|"
    "approve|approved|staged rollout|staged rollouts|gradual rollout|phased rollout|canary rollout|"
    "dashboard|warn|warning|refuse|reject|gate|gates|sanity check|sign off|"
    "second pair of eyes|four eyes|peer|one host first|single host first|step by step|in stages|"
    "incrementally|page|paging|load test|verify|verified|verification|notify|watch|inspect"
)

CLOSED = (
    "closed|close|closes|closure|closing|shut|shuts|shutdown|out of use|out of service|off limits|barred|"
    "sealed|blocked|impassable|not open|unusable|no traffic|no vehicles"
)
CRACKS = "cracks|crack|cracked|cracking|fractures|fracture|fractured|fissures|fissure|fissured|split|splits"
HANGERS = "hangers|hanger|suspenders|suspension rods|hanger rods|vertical cables|suspension cables|hanger cables"
WELDS = "welds|weld|welding|welded|weldings|seams|welding work"
FAULTY = (
    "faulty|defective|bad|poor|poorly|flawed|botched|shoddy|deficient|substandard|badly|inferior|imperfect|defects|"
    "defect|flaws|fault|faults|sloppy|wrongly|improper|improperly|incorrectly|1987"
)
REPLACED = (
    "exchanged|exchange|exchanging|replaced|replace|replaces|replacing|replacement|swapped|swap|renewed|renew|renewal|"
    "substituted|changed out|new hangers|swapping|renewing|changed"
)
EVERY = "all|every|each|64|entire|whole set|complete set|full set|sixty four|without exception|the lot"
TWO_THIRDS = "two thirds|67|66|66.7|two of three|twice as much|thirds two|5.6"
ONE_THIRD = "one third|a third|the remaining third|the other third|remaining third|33|33.3|third|2.8"
THE_REST = "the rest|the remainder|remainder|what remains|the difference|the balance"
"""Of the costs: what another payer does not pay."""
ON_FOOT = (
    "cyclists|cyclist|bikes|bike|bicycles|cycling|cycles|pedestrians|pedestrian|walkers|people on foot|foot|"
    "riders|bicycle riders|walking|cycle|non motorised|foot traffic|bike traffic|bicycle traffic|"
    "pedestrian traffic|cycle traffic"
)
MOTOR = (
    "cars|car|vehicles|vehicle|lorries|lorry|motor|motorists|drivers|driver|traffic|trucks|truck|everyone|everybody|"
    "everything else|motorised|fully|full reopening|vehicular|automobiles|heavy goods|the rest"
)
DETOUR = "detour|tunnel|diversion|ferry|boat|rerouted|diverted|alternative route|reroute|bypass"
MONEY = "8.4 million|8.4m|8.4 m|8,4 million|8.4 mn|8400000"
BLAME_WORDS = "caused|because of|due to|blame|blamed|blames|fault of|result of|owing to|thanks to|down to|caused by|by"
LORRIES = "lorries|lorry|trucks|truck|overload|overloading|overloaded|heavy traffic|heavy goods|excess load"
OTHER_DAMAGE = (
    "saboteurs|saboteur|sabotage|sabotaged|vandals|vandalism|terrorists|bomb|explosion|earthquake|storm|flood|collision|"
    "rammed|lightning|corrosion|rust"
)
"""Causes of damage that the report does not have."""
SUSPECTED = (
    "suspected|suspect|suspecting|believed|thought|assumed|feared|rumour|rumoured|rumors|residents|locals|blamed by|"
    "supposed|wrongly|contrary|unfounded|guessed|expected"
)
"""Marks a belief that the report names and refutes."""

BEFORE_EVENT = (
    "before|beforehand|prior|advance|in advance|ahead of|forecast|forecasts|prediction|predicted|predicts|expectation|"
    "expected|announcement|announced|day earlier|preceding|preceded|preceding day|the eve|eve|anticipated|projection|"
    "could not know|had not happened|not yet happened|planned|earlier|guess at the future|previous day|predates"
)
PROMOTIONAL = (
    "promotional|promotion|promoting|publicity|pr|advertising|advertisement|self interest|interested party|marketing|"
    "interest in a high|hype|press office|vested|own interest|biased|bias|self serving"
)
COPYING = (
    "copy|copies|copied|copying|repeat|repeats|repeated|repeating|verbatim|word for word|duplicate|duplicates|"
    "duplicated|reprint|reprints|reprinted|echo|echoes|echoing|derived|derivative|quotes|quote|quoting|cites|citing|"
    "relays|relaying|parrots|parroting|same text|same wording|identical|reproduces|reproduced|reproduction|based on|"
    "relies on|taken from|lifted|traces back|trace back|goes back|go back|not independent|no independent|second hand|"
    "secondhand|no reporter|had nobody there|recycled|recycles|rehash|rehashes|restates|paraphrases|depends on|"
    "borrows|borrowed|passes on|stems from|comes from|come from|circular|pasted"
)
HEARSAY = (
    "hearsay|abroad|absent|friend|second hand|secondhand|not present|was not there|not there|away|"
    "out of the country|overseas|elsewhere|not a witness|no witness|third party|indirect|rumour|gossip|"
    "did not see|never saw|in another country|from someone else|told|foreign country|an acquaintance"
)
PARTISAN = (
    "opposed|opponent|opposes|opposition|biased|bias|prejudiced|prejudice|partisan|voted against|hostile|motive|"
    "interest|axe to grind|partial|against the library|not neutral|not impartial|against it|political"
)
PRAISE = (
    "best|reliable|trustworthy|independent|accurate|exact|precise|credible|measured|counted|proven|sound|"
    "strong|strongest|good|excellent|solid|first hand|firsthand|eyewitness|eye witness|neutral|impartial|"
    "unbiased|objective|official|correct|right|true|verified|confirmed|original|most convincing|"
    "authoritative|dependable|was there|present|saw it|own count|after the event|after the opening|"
    "own reporter|honest"
)
FLAWS = (
    "unreliable|untested|broken|faulty|guess|guessed|guesses|hearsay|biased|copy|copied|wrong|inaccurate|"
    "worthless|weak|dubious|doubtful|unproven|not tested|never tested|not reliable|untrustworthy|"
    "not trustworthy|forged|invented|useless|disagree|contradict each other|contradicts|imprecise|"
    "not independent|poor|false|defective|unsigned"
)
