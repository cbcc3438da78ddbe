"""What was said at a time, for questions that name nothing else: "what did we do yesterday?".

Such a question has no words to go by. Of each session the last turns tell best what came of it.
"""

import sqlite3
from collections import Counter
from itertools import chain
from typing import Final

from retaind.memory.local.hits import look_up
from retaind.memory.local.ranking import Asking, Ranked, Turn, TurnKey, factor, turn_key
from retaind.memory.port import Filters

_TURNS: Final = 400
"""So many turns are looked at, the newest, and of so many more those that the filters leave."""
_BEFORE: Final = 0.9
"""Each turn of a session is worth so much of the one after it."""
_SUBAGENT: Final = 0.5
"""What came of a sub-agent's work is told by the session that it worked for."""
_NEWEST: Final = (
    "SELECT max(p.id) FROM local_passage p JOIN local_document d ON d.id = p.document_id"
    " WHERE p.fact IS NULL AND ({times})"
    " GROUP BY d.id, p.turn"
    " ORDER BY max(p.time) DESC, max(p.id) DESC LIMIT ?"
)


def said_then(connection: sqlite3.Connection, asking: Asking, filters: Filters) -> Ranked:
    """Return the turns of the times that are asked for: of each session the last ones first."""
    times = " OR ".join("p.time >= ? AND p.time < ?" for _ in asking.times)
    bounds = chain.from_iterable((one.start * 1000, one.end * 1000) for one in asking.times)
    rows = connection.execute(_NEWEST.format(times=times), (*bounds, 10 * _TURNS))
    later: Counter[int] = Counter()
    turns: dict[TurnKey, Turn] = {}
    for hit in look_up(connection, [row[0] for row in rows], _TURNS, filters):
        key = turn_key(hit)
        if key not in turns:  # a turn may reach over the edge of a document
            worth = _SUBAGENT if hit.kind == "subagent" else 1.0
            score = worth * factor(hit, asking) * _BEFORE ** later[hit.source_id]
            turns[key] = Turn(key, score, hit)
            later[hit.source_id] += 1
    best = max((one.score for one in turns.values()), default=0.0)
    return Ranked((), tuple(turns.values()), best)
