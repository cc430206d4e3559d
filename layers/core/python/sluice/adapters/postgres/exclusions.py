"""Whom a campaign leaves out at the end of its load: one set, whatever it is gathered from."""

from collections.abc import Sequence
from typing import Any

import psycopg

LISTS = """
SELECT place::int, list ->> 'saved', list ->> 'campaign', list ->> 'who'
FROM campaign
CROSS JOIN LATERAL jsonb_array_elements(request -> 'exclude')
           WITH ORDINALITY AS named (list, place)
WHERE campaign_id = %(campaign_id)s
"""
# None is dropped until we have committed.
LOCK = """
SELECT id, audience_id FROM saved_audience
WHERE id = ANY (%(ids)s) AND finished_at IS NOT NULL AND dropped_at IS NULL
ORDER BY id FOR SHARE
"""
CAMPAIGNS = """
SELECT campaign, campaign_id FROM campaign
WHERE campaign = ANY (%(ids)s) AND kind = 'campaign' AND state <> 'erased'
"""
CREATE = "CREATE TEMPORARY TABLE excluded (match_key text, why text) ON COMMIT DROP"
_MINE = """
INSERT INTO excluded (match_key, why)
SELECT match_key, (array_agg(why ORDER BY place))[1]
FROM ({listed}) AS listed
JOIN (
    SELECT DISTINCT match_key FROM recipient WHERE campaign_id = %(campaign_id)s
) AS mine USING (match_key)
GROUP BY match_key
"""
EXCLUDE = _MINE.format(
    listed="""
    SELECT person.match_key, list.place, list.why
    FROM unnest(%(audience_ids)s::int[], %(audience_places)s::int[], %(audience_whys)s::text[])
         AS list (audience_id, place, why)
    JOIN audience_person AS person USING (audience_id)
    WHERE person.audience_id = ANY (%(audience_ids)s)
    UNION ALL
    SELECT other.match_key, list.place, list.why
    FROM unnest(%(campaign_ids)s::int[], %(campaign_places)s::int[], %(campaign_whys)s::text[],
                %(everybody)s::boolean[]) AS list (campaign_id, place, why, everybody)
    JOIN recipient AS other USING (campaign_id)
    JOIN delivery AS d USING (campaign_id, seq)
    WHERE other.campaign_id = ANY (%(campaign_ids)s) AND d.campaign_id = ANY (%(campaign_ids)s)
      AND (list.everybody OR d.state IN ('sending', 'unknown', 'done'))
"""
)


def exclude(connection: psycopg.Connection[tuple[Any, ...]], campaign_id: int) -> Sequence[str]:
    """Fill ``excluded`` (match_key, why) with whom the campaign leaves out, in this transaction.

    Returns why that cannot be done, if anything that it names is gone.
    """
    connection.execute(CREATE)
    lists = connection.execute(LISTS, {"campaign_id": campaign_id}).fetchall()
    if not lists:
        return ()
    audiences = [(place, saved) for place, saved, _, _ in lists if saved is not None]
    campaigns = [(place, one, who) for place, _, one, who in lists if one is not None]
    kept = dict(connection.execute(LOCK, {"ids": [one for _, one in audiences]}).fetchall())
    known = dict(
        connection.execute(CAMPAIGNS, {"ids": [one for _, one, _ in campaigns]}).fetchall()
    )
    gone = [
        *(f"exclude: audience {one} is gone" for _, one in audiences if one not in kept),
        *(f"exclude: campaign {one} is gone" for _, one, _ in campaigns if one not in known),
    ]
    if gone:
        return gone
    parameters = {
        "campaign_id": campaign_id,
        "audience_ids": [kept[one] for _, one in audiences],
        "audience_places": [place for place, _ in audiences],
        "audience_whys": [f"excluded: saved audience {one}" for _, one in audiences],
        "campaign_ids": [known[one] for _, one, _ in campaigns],
        "campaign_places": [place for place, _, _ in campaigns],
        "campaign_whys": [f"excluded: campaign {one}" for _, one, _ in campaigns],
        "everybody": [who == "all" for _, _, who in campaigns],
    }
    connection.execute(EXCLUDE.encode(), parameters)
    connection.execute("ANALYZE excluded")
    # A campaign is erased before its rows are: of whom it is not now, none was missing.
    still = dict(connection.execute(CAMPAIGNS, {"ids": sorted(known)}).fetchall())
    return tuple(f"exclude: campaign {one} is gone" for one in sorted(known.keys() - still.keys()))
